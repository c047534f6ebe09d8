//! `deskpass agent`: who may sign in while the platform is down, and what to do when they cannot.

use clap::{Args, Subcommand};

use super::employee::{EmployeeArgs, RoleArgs};
use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, AgentAction, AgentAdminCommand};

/// What shows how things stand.
const INSPECT_COMMAND: &str = "deskpass agent list";

/// Look after agents, their passwords and their one-time-password devices.
#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// Make an employee an agent, who may sign in with a password and a device while the platform is down.
    #[command(after_help = "Examples:\n  deskpass agent add zhangsan\n  deskpass agent add lisi --role supervisor")]
    Add(AddAgentArgs),
    /// List agents: who is locked, and who has no password or no device yet.
    #[command(
        after_help = "STATE      enabled, disabled, shut until some time or locked after wrong guesses\nPASSWORD   set, not set, or until when a setup code counts\nDEVICE     since when one is bound, or until when a setup code counts; unproven: bound by password alone, so it leads to no admin and to nothing of high risk\nVERIFIED   when it was last used\n\nExample:\n  deskpass agent list"
    )]
    List(CommonArgs),
    /// Give an agent's record another role; sessions in which the former was lent end.
    #[command(after_help = "Example:\n  deskpass agent set-role zhangsan supervisor")]
    SetRole(RoleArgs),
    /// Have an agent's record not count, and end the sessions that stand on it.
    ///
    /// They cannot sign in with their password and are lent no role. As an employee they sign in through the platform as before;
    /// `deskpass employee disable` shuts them out.
    #[command(after_help = "Example:\n  deskpass agent disable zhangsan")]
    Disable(EmployeeArgs),
    /// Have an agent's record count again.
    #[command(after_help = "Example:\n  deskpass agent enable zhangsan")]
    Enable(EmployeeArgs),
    /// Forget wrong guesses at an agent's password and one-time passwords.
    #[command(after_help = "Example:\n  deskpass agent unlock zhangsan")]
    Unlock(EmployeeArgs),
    /// Unbind an agent's device, take its recovery codes away, and print a code with which they bind another.
    ///
    /// For a phone that was lost. A first device is bound within 5 minutes of a sign-in; the code lets an older session do it. It
    /// counts once, for 24 hours. Be sure of whom you give it to.
    #[command(after_help = "Example:\n  deskpass agent reset-otp zhangsan")]
    ResetOtp(EmployeeArgs),
    /// Take an agent's password away and print a code with which they set another.
    ///
    /// Sessions that began with the password end. The code counts once, for 24 hours. Be sure of whom you give it to.
    #[command(after_help = "Example:\n  deskpass agent reset-password zhangsan")]
    ResetPassword(EmployeeArgs),
}

/// An employee to be made an agent.
#[derive(Args, Debug)]
pub(super) struct AddAgentArgs {
    #[command(flatten)]
    target: EmployeeArgs,
    /// The role they act in unless roles are assigned to them: admin, agent, user, supervisor or security.
    #[arg(long, value_name = "ROLE", default_value = "agent")]
    role: String,
}

impl AgentCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::List(common) => common.run_or_forward(&AdminCommand::Agent(AgentAdminCommand::List), INSPECT_COMMAND),
            Self::Add(AddAgentArgs { target, role }) => run(&target, AgentAction::Add(role)),
            Self::SetRole(RoleArgs { target, role }) => run(&target, AgentAction::SetRole(role)),
            Self::Disable(target) => run(&target, AgentAction::Disable),
            Self::Enable(target) => run(&target, AgentAction::Enable),
            Self::Unlock(target) => run(&target, AgentAction::Unlock),
            Self::ResetOtp(target) => run(&target, AgentAction::ResetOtp),
            Self::ResetPassword(target) => run(&target, AgentAction::ResetPassword),
        }
    }
}

fn run(target: &EmployeeArgs, action: AgentAction) -> Result<(), CliError> {
    target
        .common
        .run_or_forward(&AdminCommand::Agent(AgentAdminCommand::To(target.selector(), action)), INSPECT_COMMAND)
}
