//! `deskpass employee` and `deskpass role`: the first administrator is made here.

use clap::{Args, Subcommand};

use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, EmployeeSelector};

/// What shows how things stand.
const INSPECT_COMMAND: &str = "deskpass employee list";

/// Add, list, disable and enable employees.
#[derive(Debug, Subcommand)]
pub(super) enum EmployeeCommand {
    /// Add an employee, with roles to begin with.
    #[command(
        after_help = "Example: the first administrator\n  deskpass employee add zhangsan --name 张三 --department IT --role admin --role user"
    )]
    Add(AddEmployeeArgs),
    /// List employees and their roles.
    #[command(after_help = "Example:\n  deskpass employee list")]
    List(CommonArgs),
    /// Disable an employee and end their sessions for good.
    #[command(after_help = "Example:\n  deskpass employee disable zhangsan")]
    Disable(EmployeeArgs),
    /// Enable an employee again.
    #[command(after_help = "Example:\n  deskpass employee enable zhangsan")]
    Enable(EmployeeArgs),
}

/// Give roles to employees and take them away.
#[derive(Debug, Subcommand)]
pub(super) enum RoleCommand {
    /// Give an employee a role.
    #[command(after_help = "Example:\n  deskpass role grant zhangsan admin")]
    Grant(RoleArgs),
    /// Take a role from an employee; their sessions stop acting in it at once.
    #[command(after_help = "Example:\n  deskpass role revoke zhangsan admin")]
    Revoke(RoleArgs),
}

/// An employee.
#[derive(Args, Debug)]
pub(super) struct EmployeeArgs {
    /// The employee's identifier.
    #[arg(value_name = "EMPLOYEE")]
    employee: String,
    /// Their corporation; without it the configured main one.
    #[arg(long, value_name = "CORP")]
    corp: Option<String>,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// An employee to be added.
#[derive(Args, Debug)]
pub(super) struct AddEmployeeArgs {
    #[command(flatten)]
    target: EmployeeArgs,
    /// Display name; without it the identifier.
    #[arg(long)]
    name: Option<String>,
    /// Department's name.
    #[arg(long, default_value = "")]
    department: String,
    /// Department's id on the platform; without it, one of its own for each name, until the platform tells another.
    #[arg(long, value_name = "ID")]
    department_id: Option<String>,
    /// A role to begin with: admin, agent, user, supervisor or security. May be given several times.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
}

/// An employee and a role.
#[derive(Args, Debug)]
pub(super) struct RoleArgs {
    #[command(flatten)]
    pub(super) target: EmployeeArgs,
    /// admin, agent, user, supervisor or security.
    #[arg(value_name = "ROLE")]
    pub(super) role: String,
}

impl EmployeeCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::List(common) => common.run_or_forward(&AdminCommand::List, INSPECT_COMMAND),
            Self::Disable(target) => {
                target.common.run_or_forward(&AdminCommand::Disable(target.selector()), INSPECT_COMMAND)
            }
            Self::Enable(target) => {
                target.common.run_or_forward(&AdminCommand::Enable(target.selector()), INSPECT_COMMAND)
            }
            Self::Add(AddEmployeeArgs { target, name, department, department_id, roles }) => {
                let who = target.selector();
                target
                    .common
                    .run_or_forward(&AdminCommand::Add { who, name, department, department_id, roles }, INSPECT_COMMAND)
            }
        }
    }
}

impl RoleCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Grant(RoleArgs { target, role }) => {
                target.common.run_or_forward(&AdminCommand::Grant(target.selector(), role), INSPECT_COMMAND)
            }
            Self::Revoke(RoleArgs { target, role }) => {
                target.common.run_or_forward(&AdminCommand::Revoke(target.selector(), role), INSPECT_COMMAND)
            }
        }
    }
}

impl EmployeeArgs {
    pub(super) fn selector(&self) -> EmployeeSelector {
        EmployeeSelector { employee: self.employee.clone(), corp: self.corp.clone() }
    }
}
