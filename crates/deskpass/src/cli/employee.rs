//! `deskpass employee` and `deskpass role`: the first administrator is made here.

use clap::{Args, Subcommand};
use deskpass_auth::{Auth, Error, Refusal};
use deskpass_core::{CorpId, EmployeeId, EmployeeKey, Person, Role, Roles};
use deskpass_store::Listed;

use super::{Common, Failed, at_the_desk};

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
            Self::Add(add) => add.run(),
            Self::List(common) => at_the_desk(&common, async |desk| list(&desk.auth).await),
            Self::Disable(named) => at_the_desk(&named.common, async |desk| {
                let ended = desk.auth.disable(named.key(&desk.auth)?).await.map_err(named.explain())?;
                println!("{} is disabled; {ended} session(s) ended", named.employee);
                Ok(())
            }),
            Self::Enable(named) => at_the_desk(&named.common, async |desk| {
                desk.auth.enable(named.key(&desk.auth)?).await.map_err(named.explain())?;
                println!("{} is enabled", named.employee);
                Ok(())
            }),
        }
    }
}

impl RoleCommand {
    pub(super) fn run(self) -> Result<(), Failed> {
        let (Self::Grant(assignment) | Self::Revoke(assignment)) = &self;
        let Assignment { named, role } = assignment;
        at_the_desk(&named.common, async |desk| {
            let key = named.key(&desk.auth)?;
            let (changed, holds) = match &self {
                Self::Grant(_) => (desk.auth.grant(key, role).await, "holds"),
                Self::Revoke(_) => (desk.auth.revoke(key, role).await, "does not hold"),
            };
            let when = if changed.map_err(named.explain())? { "now" } else { "already" };
            println!("{} {when} {holds} the role {role}", named.employee);
            Ok(())
        })
    }
}

impl Named {
    fn key(&self, auth: &Auth) -> Result<EmployeeKey, Failed> {
        let id = EmployeeId::parse(&self.employee).map_err(|rule| Failed(format!("EMPLOYEE {rule}")))?;
        let corp = self.corp.as_deref().map(CorpId::parse).transpose();
        let corp = corp.map_err(|rule| Failed(format!("--corp {rule}")))?;
        Ok(auth.key(corp.as_ref(), &id))
    }

    /// Turns what the desk says into what to do about it.
    fn explain(&self) -> impl Fn(Error) -> Failed + '_ {
        move |error| {
            let name = &self.employee;
            Failed(match error {
                Error::Refused(Refusal::UnknownEmployee) => {
                    format!("there is no employee {name}; `deskpass employee add {name}` enters them")
                }
                Error::Refused(Refusal::Exists) => {
                    format!("{name} is entered already; `deskpass role grant {name} ROLE` gives them a role")
                }
                Error::Refused(Refusal::NoSuchRole(role)) => no_such_role(&role),
                other => other.to_string(),
            })
        }
    }
}

impl Add {
    fn run(self) -> Result<(), Failed> {
        let parse = |name: &String| Role::from_name(name).ok_or_else(|| Failed(no_such_role(name)));
        let roles = self.roles.iter().map(parse).collect::<Result<Roles, _>>()?;
        let named = &self.named;
        at_the_desk(&named.common, async |desk| {
            let person = Person {
                key: named.key(&desk.auth)?,
                employee_id: named.employee.clone(),
                name: self.name.clone().unwrap_or_else(|| named.employee.clone()),
                department: self.department.clone(),
                avatar: String::new(),
                roles,
                disabled: false,
            };
            desk.auth.add_employee(person).await.map_err(named.explain())?;
            println!("{} is entered with {}", named.employee, names(roles));
            Ok(())
        })
    }
}

fn no_such_role(name: &str) -> String {
    format!("there is no role {name}; the roles are admin, agent, user, supervisor, security")
}

fn names(roles: Roles) -> String {
    let names: Vec<_> = roles.iter().map(Role::name).collect();
    if names.is_empty() { "no role".to_owned() } else { names.join(", ") }
}

async fn list(auth: &Auth) -> Result<(), Failed> {
    println!("{:<20} {:<20} {:<20} {:<10} ROLES", "CORPORATION", "EMPLOYEE", "NAME", "STATE");
    let mut after = None;
    loop {
        let page = auth.employees(after, 500).await?;
        for Listed { person, .. } in &page {
            let state = if person.disabled { "disabled" } else { "enabled" };
            let (corp, roles) = (person.key.corp(), names(person.roles));
            println!("{corp:<20} {:<20} {:<20} {state:<10} {roles}", person.employee_id, person.name);
        }
        match page.last() {
            Some(last) => after = Some(last.person.key.clone()),
            None => return Ok(()),
        }
    }
}
