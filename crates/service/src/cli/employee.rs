//! `deskpass employee` and `deskpass role`: manage employees and their roles, including the first administrator.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::moment::lifetime;
use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, EmployeeSelector};

const INSPECT_COMMAND: &str = "deskpass employee list";

#[derive(Debug, Subcommand)]
pub(super) enum EmployeeCommand {
    /// Add an employee with initial roles.
    #[command(
        after_help = "Example: the first administrator\n  deskpass employee add zhangsan --name 张三 --department IT --role admin --role user"
    )]
    Add {
        #[command(flatten)]
        target: EmployeeArgs,
        /// Display name [default: the identifier].
        #[arg(long)]
        name: Option<String>,
        /// Name of the department.
        #[arg(long, default_value = "")]
        department: String,
        /// The department's id on the platform [default: an id generated from the name, until the platform reports the real one].
        #[arg(long, value_name = "ID")]
        department_id: Option<String>,
        /// Initial role: admin, agent, user, supervisor or security. Can be repeated.
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<String>,
    },
    /// List employees and their roles.
    #[command(after_help = "Example:\n  deskpass employee list")]
    List(CommonArgs),
    /// Disable an employee and end their sessions permanently.
    #[command(after_help = "Example:\n  deskpass employee disable zhangsan")]
    Disable {
        #[command(flatten)]
        target: EmployeeArgs,
        /// Do it even if no administrator is left: only this command line can then appoint one.
        #[arg(long)]
        yes: bool,
    },
    /// Enable an employee again.
    #[command(after_help = "Example:\n  deskpass employee enable zhangsan")]
    Enable(EmployeeArgs),
    /// Admit an employee who is locked out because the platform says that they left.
    ///
    /// For when the platform is wrong, or cannot say that they are back, such as about people of a connected corporation. If the
    /// platform says again that they left, they are locked out again. It does not enable an employee who is disabled here.
    #[command(after_help = "Example:\n  deskpass employee return zhangsan")]
    Return(EmployeeArgs),
    /// Set the e-mail address that OpenID Connect clients are told. It replaces the one that the platform knows.
    ///
    /// Clients find accounts by it, so enter only an address that is the employee's own. No two employees have the same.
    #[command(
        after_help = "Examples:\n  deskpass employee email zhangsan zhangsan@example.com\n  deskpass employee email zhangsan --remove"
    )]
    Email {
        #[command(flatten)]
        target: EmployeeArgs,
        /// The address.
        #[arg(value_name = "ADDRESS", required_unless_present = "remove", conflicts_with = "remove")]
        address: Option<String>,
        /// Remove the address that was entered here.
        #[arg(long)]
        remove: bool,
    },
    /// Confirm that the person who has this identifier now may have everything that is recorded for it.
    ///
    /// For an identifier of which the platform says that another person has it: until then its roles do not count, and where the
    /// platform knows people by an id, nobody signs in with it. Ask in person first. If it is another person, revoke what they may
    /// not have, and run new-person, before you confirm.
    #[command(after_help = "Example:\n  deskpass employee confirm zhangsan")]
    Confirm(EmployeeArgs),
    /// Tell OpenID Connect clients that another person has this identifier now.
    ///
    /// For an identifier of the platform that was freed and given to another person. Their sessions end, the e-mail address is
    /// removed, and clients are told a new subject, so that nobody gets the account of the person who left. Roles, password and
    /// authenticator stay.
    #[command(after_help = "Example:\n  deskpass employee new-person zhangsan")]
    NewPerson(EmployeeArgs),
}

#[derive(Debug, Subcommand)]
pub(super) enum RoleCommand {
    /// Grant a role to an employee, permanently or temporarily.
    ///
    /// A temporary role ends by itself; granting it again replaces the end. --for and --reason go together.
    #[command(
        after_help = "Examples:\n  deskpass role grant zhangsan admin\n  deskpass role grant lisi admin --for 2h --reason 'mail migration'"
    )]
    Grant {
        #[command(flatten)]
        role: RoleArgs,
        /// How long the role is held, from 5m to 30d, such as 2h; needs --reason [default: until it is revoked].
        #[arg(long = "for", value_name = "DURATION", value_parser = lifetime, requires = "reason")]
        lifetime: Option<Duration>,
        /// Why the role is temporary; needs --for. It is written to the audit log.
        #[arg(long, value_name = "TEXT", requires = "lifetime")]
        reason: Option<String>,
    },
    /// Revoke a role from an employee; their sessions lose it immediately.
    #[command(after_help = "Example:\n  deskpass role revoke zhangsan admin")]
    Revoke {
        #[command(flatten)]
        role: RoleArgs,
        /// Do it even if no administrator is left: only this command line can then appoint one.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(super) struct EmployeeArgs {
    /// The employee's identifier.
    #[arg(value_name = "EMPLOYEE")]
    employee: String,
    /// The employee's corporation [default: the configured main one].
    #[arg(long, value_name = "CORP")]
    corp: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct RoleArgs {
    #[command(flatten)]
    pub(super) target: EmployeeArgs,
    /// Role: admin, agent, user, supervisor or security.
    #[arg(value_name = "ROLE")]
    pub(super) role: String,
}

impl EmployeeCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::List(common) => common.run_or_forward(&AdminCommand::List, INSPECT_COMMAND),
            Self::Disable { target, yes: false } => target.run_or_forward(AdminCommand::Disable, INSPECT_COMMAND),
            Self::Disable { target, yes: true } => {
                target.run_or_forward(AdminCommand::DisableEvenLastAdmin, INSPECT_COMMAND)
            }
            Self::Enable(target) => target.run_or_forward(AdminCommand::Enable, INSPECT_COMMAND),
            Self::Return(target) => target.run_or_forward(AdminCommand::Readmit, INSPECT_COMMAND),
            Self::Email { target, address, .. } => {
                target.run_or_forward(|who| AdminCommand::SetEmail(who, address), INSPECT_COMMAND)
            }
            Self::Confirm(target) => target.run_or_forward(AdminCommand::ConfirmHolder, INSPECT_COMMAND),
            Self::NewPerson(target) => target.run_or_forward(AdminCommand::NewPerson, INSPECT_COMMAND),
            Self::Add { target, name, department, department_id, roles } => {
                let add = |who| AdminCommand::Add { who, name, department, department_id, roles };
                target.run_or_forward(add, INSPECT_COMMAND)
            }
        }
    }
}

impl RoleCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Grant { role: RoleArgs { target, role }, lifetime, reason } => {
                let grant = |who| match lifetime.map(|lifetime| lifetime.as_secs()) {
                    None => AdminCommand::Grant(who, role),
                    Some(seconds) => AdminCommand::GrantFor { who, role, seconds, reason: reason.unwrap_or_default() },
                };
                target.run_or_forward(grant, INSPECT_COMMAND)
            }
            Self::Revoke { role: RoleArgs { target, role }, yes: false } => {
                target.run_or_forward(|who| AdminCommand::Revoke(who, role), INSPECT_COMMAND)
            }
            Self::Revoke { role: RoleArgs { target, role }, yes: true } => {
                target.run_or_forward(|who| AdminCommand::RevokeEvenLastAdmin(who, role), INSPECT_COMMAND)
            }
        }
    }
}

impl EmployeeArgs {
    /// As [`CommonArgs::run_or_forward`], with a command about the employee.
    pub(super) fn run_or_forward(
        self,
        command: impl FnOnce(EmployeeSelector) -> AdminCommand,
        inspect: &str,
    ) -> Result<(), CliError> {
        let (who, common) = self.split();
        common.run_or_forward(&command(who), inspect)
    }

    /// The employee, and the other options.
    pub(super) fn split(self) -> (EmployeeSelector, CommonArgs) {
        let Self { employee, corp, common } = self;
        (EmployeeSelector { employee, corp }, common)
    }
}
