//! `deskpass employee` and `deskpass role`: the first administrator is made here.

use clap::{Args, Subcommand};

use super::{Common, Failed};
use crate::errand::{Errand, Who};

/// What shows how things stand.
const LOOK: &str = "deskpass employee list";

/// Add, list, disable and enable employees.
#[derive(Debug, Subcommand)]
pub(super) enum EmployeeCommand {
    /// Add an employee, with roles to begin with.
    #[command(
        after_help = "Example: the first administrator\n  deskpass employee add zhangsan --name 张三 --department IT --role admin --role user"
    )]
    Add(Add),
    /// List employees and their roles.
    #[command(after_help = "Example:\n  deskpass employee list")]
    List(Common),
    /// Disable an employee and end their sessions for good.
    #[command(after_help = "Example:\n  deskpass employee disable zhangsan")]
    Disable(Named),
    /// Enable an employee again.
    #[command(after_help = "Example:\n  deskpass employee enable zhangsan")]
    Enable(Named),
}

/// Give roles to employees and take them away.
#[derive(Debug, Subcommand)]
pub(super) enum RoleCommand {
    /// Give an employee a role.
    #[command(after_help = "Example:\n  deskpass role grant zhangsan admin")]
    Grant(Assignment),
    /// Take a role from an employee; their sessions stop acting in it at once.
    #[command(after_help = "Example:\n  deskpass role revoke zhangsan admin")]
    Revoke(Assignment),
}

/// An employee.
#[derive(Args, Debug)]
pub(super) struct Named {
    /// The employee's identifier.
    #[arg(value_name = "EMPLOYEE")]
    employee: String,
    /// Their corporation; without it the configured main one.
    #[arg(long, value_name = "CORP")]
    corp: Option<String>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// An employee to be added.
#[derive(Args, Debug)]
pub(super) struct Add {
    #[command(flatten)]
    named: Named,
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
pub(super) struct Assignment {
    #[command(flatten)]
    pub(super) named: Named,
    /// admin, agent, user, supervisor or security.
    #[arg(value_name = "ROLE")]
    pub(super) role: String,
}

impl EmployeeCommand {
    pub(super) fn run(self) -> Result<(), Failed> {
        match self {
            Self::List(common) => common.send(&Errand::List, LOOK),
            Self::Disable(named) => named.common.send(&Errand::Disable(named.who()), LOOK),
            Self::Enable(named) => named.common.send(&Errand::Enable(named.who()), LOOK),
            Self::Add(Add { named, name, department, department_id, roles }) => {
                let who = named.who();
                named.common.send(&Errand::Add { who, name, department, department_id, roles }, LOOK)
            }
        }
    }
}

impl RoleCommand {
    pub(super) fn run(self) -> Result<(), Failed> {
        match self {
            Self::Grant(Assignment { named, role }) => named.common.send(&Errand::Grant(named.who(), role), LOOK),
            Self::Revoke(Assignment { named, role }) => named.common.send(&Errand::Revoke(named.who(), role), LOOK),
        }
    }
}

impl Named {
    pub(super) fn who(&self) -> Who {
        Who { employee: self.employee.clone(), corp: self.corp.clone() }
    }
}
