//! `deskpass agent`: manages the agents who may sign in during an outage of the platform.

use clap::Subcommand;

use super::employee::{EmployeeArgs, RoleArgs};
use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, AgentAction, AgentAdminCommand};

const INSPECT_COMMAND: &str = "deskpass agent list";

#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// Make an employee an agent, who can sign in with a password and an authenticator while the platform is down.
    #[command(after_help = "Examples:\n  deskpass agent add zhangsan\n  deskpass agent add lisi --role supervisor")]
    Add {
        #[command(flatten)]
        target: EmployeeArgs,
        /// The agent's role unless roles are assigned to them: admin, agent, user, supervisor or security.
        #[arg(long, value_name = "ROLE", default_value = "agent")]
        role: String,
    },
    /// List agents: which are locked, and which have no password or no authenticator yet. Also lists other employees who have an
    /// authenticator.
    #[command(
        after_help = "ROLE           the agent's role unless roles are assigned; - for an employee who is not an agent and \
                      has an authenticator, such as an administrator\nSTATE          enabled, disabled, no agent, or \
                      after failed attempts: paused until a time, or locked until an administrator unlocks \
                      it\nPASSWORD       set, not set, or the expiry of a setup code\nAUTHENTICATOR  when it was bound, or \
                      the expiry of a setup code; unproven: bound with a password only, so it gives no access to the \
                      admin role or to high-risk operations\nVERIFIED       when it was last used\n\nExample:\n  deskpass \
                      agent list"
    )]
    List(CommonArgs),
    /// Change the role of an agent's record; sessions that use the previous role as their default role end.
    #[command(after_help = "Example:\n  deskpass agent set-role zhangsan supervisor")]
    SetRole(RoleArgs),
    /// Disable an agent's record and end the sessions that depend on it.
    ///
    /// The agent cannot sign in with a password and gets no default role from the record. They can still sign in
    /// through the platform as an employee; to block that as well, run `deskpass employee disable`.
    #[command(after_help = "Example:\n  deskpass agent disable zhangsan")]
    Disable(EmployeeArgs),
    /// Enable an agent's record again.
    #[command(after_help = "Example:\n  deskpass agent enable zhangsan")]
    Enable(EmployeeArgs),
    /// Clear the failed attempts at a password and one-time passwords.
    #[command(after_help = "Example:\n  deskpass agent unlock zhangsan")]
    Unlock(EmployeeArgs),
    /// Unbind the authenticator of an agent or an administrator, revoke its recovery codes, and print a setup code for a new one.
    ///
    /// Use this when a phone is lost. A first authenticator must be bound within 5 minutes of a sign-in; the code lifts that
    /// limit for an older session. It is valid once, for 24 hours. Verify the identity of the person you give it to.
    #[command(after_help = "Example:\n  deskpass agent reset-otp zhangsan")]
    ResetOtp(EmployeeArgs),
    /// Remove an agent's password and print a setup code for a new one.
    ///
    /// Sessions that began with the password end. The code is valid once, for 24 hours. Verify the identity of the
    /// person you give it to.
    #[command(after_help = "Example:\n  deskpass agent reset-password zhangsan")]
    ResetPassword(EmployeeArgs),
}

impl AgentCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (target, action) = match self {
            Self::List(common) => {
                return common.run_or_forward(&AdminCommand::Agent(AgentAdminCommand::List), INSPECT_COMMAND);
            }
            Self::Add { target, role } => (target, AgentAction::Add(role)),
            Self::SetRole(RoleArgs { target, role }) => (target, AgentAction::SetRole(role)),
            Self::Disable(target) => (target, AgentAction::Disable),
            Self::Enable(target) => (target, AgentAction::Enable),
            Self::Unlock(target) => (target, AgentAction::Unlock),
            Self::ResetOtp(target) => (target, AgentAction::ResetOtp),
            Self::ResetPassword(target) => (target, AgentAction::ResetPassword),
        };
        target.run_or_forward(|who| AdminCommand::Agent(AgentAdminCommand::To(who, action)), INSPECT_COMMAND)
    }
}
