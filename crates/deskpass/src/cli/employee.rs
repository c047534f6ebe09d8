//! `deskpass employee` and `deskpass role`: the first administrator is made here.

use clap::{Args, Subcommand};
use deskpass_store::OpenError;

use super::{Common, Failed, runtime};
use crate::errand::{Errand, Who};
use crate::{Desk, StartError};

/// Enter, list and shut out employees.
#[derive(Debug, Subcommand)]
pub(super) enum EmployeeCommand {
    /// Enter an employee, with roles to begin with.
    #[command(
        after_help = "Example: the first administrator\n  deskpass employee add zhangsan --name 张三 --department IT --role admin --role user"
    )]
    Add(Add),
    /// List employees and their roles.
    #[command(after_help = "Example:\n  deskpass employee list")]
    List(Common),
    /// Shut an employee out and end their sessions for good.
    #[command(after_help = "Example:\n  deskpass employee disable zhangsan")]
    Disable(Named),
    /// Let an employee in again.
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
    common: Common,
}

/// An employee to be entered.
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
    /// A role to begin with: admin, agent, user, supervisor or security. May be given several times.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
}

/// An employee and a role.
#[derive(Args, Debug)]
pub(super) struct Assignment {
    #[command(flatten)]
    named: Named,
    /// admin, agent, user, supervisor or security.
    #[arg(value_name = "ROLE")]
    role: String,
}

impl EmployeeCommand {
    pub(super) fn run(self) -> Result<(), Failed> {
        match self {
            Self::List(common) => send(&common, &Errand::List),
            Self::Disable(named) => send(&named.common, &Errand::Disable(named.who())),
            Self::Enable(named) => send(&named.common, &Errand::Enable(named.who())),
            Self::Add(Add { named, name, department, roles }) => {
                send(&named.common, &Errand::Add { who: named.who(), name, department, roles })
            }
        }
    }
}

impl RoleCommand {
    pub(super) fn run(self) -> Result<(), Failed> {
        match self {
            Self::Grant(Assignment { named, role }) => send(&named.common, &Errand::Grant(named.who(), role)),
            Self::Revoke(Assignment { named, role }) => send(&named.common, &Errand::Revoke(named.who(), role)),
        }
    }
}

impl Named {
    fn who(&self) -> Who {
        Who { employee: self.employee.clone(), corp: self.corp.clone() }
    }
}

/// Does an errand here, or has it done by the service that runs on the same data.
fn send(common: &Common, errand: &Errand) -> Result<(), Failed> {
    let runtime = runtime()?;
    let told = match runtime.block_on(Desk::open(common.settings()?)) {
        Ok(desk) => runtime.block_on(errand.run(&desk.auth)),
        Err(StartError::Open(OpenError::InUse(data))) => errand
            .hand_over(&data)
            .map_err(|error| format!("{} (and it takes no errands: {error})", OpenError::InUse(data)))?,
        Err(error) => return Err(error.into()),
    };
    println!("{}", told.map_err(Failed)?);
    Ok(())
}
