//! `deskpass employee` and `deskpass role`: the first administrator is made here.

use std::io;
use std::path::Path;

use clap::{Args, Subcommand};
use deskpass_store::OpenError;

use super::{Common, Failed, runtime};
use crate::errand::{Errand, Who};
use crate::{Desk, StartError};

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
    common: Common,
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
    let (runtime, settings) = (runtime()?, common.settings()?);
    if !errand.may_be_first() && !settings.data.join("deskpass.db").exists() {
        let data = settings.data.display();
        return Err(Failed(format!("there is no deskpass data in {data}; check --data and the settings")));
    }
    let development = settings.development;
    let told = match runtime.block_on(Desk::open(settings)) {
        Ok(desk) => runtime.block_on(errand.run(&desk.auth)),
        Err(StartError::Open(OpenError::InUse(data))) => {
            errand.hand_over(&data, development).map_err(|error| unanswered(&data, &error))?
        }
        Err(error) => return Err(error.into()),
    };
    println!("{}", told.map_err(Failed)?);
    Ok(())
}

fn unanswered(data: &Path, error: &io::Error) -> Failed {
    let data = data.display();
    Failed(format!(
        "the service that runs on {data} did not answer ({error}); it may have done this all the same: look with \
         `deskpass employee list`, see its log, or stop it and try again"
    ))
}
