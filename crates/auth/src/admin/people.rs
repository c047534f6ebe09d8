//! What an administrator does to people.

use deskpass_core::{EmployeeKey, Person, Role, Roles};
use deskpass_store::{
    At, BadCursor, Changed, Event, InDepartment, Listed, NewEmployee, Order, PeopleFilter, PeoplePage, ShutOut, Sought,
};

use super::Administrator;
use crate::{Auth, Error, Reach, Refusal};

impl Administrator<'_> {
    /// Makes sure that somebody is an employee whom they reach.
    ///
    /// # Errors
    /// When they are not, or the store fails.
    pub async fn expect_employee(&self, employee: &EmployeeKey) -> Result<(), Error> {
        self.reach(employee)?;
        let person = self.auth.store.person(employee).await?;
        if person.is_some() { Ok(()) } else { Err(Refusal::NoSuchEmployee.into()) }
    }

    /// Enters an employee.
    ///
    /// # Errors
    /// When they are there already, or the store fails.
    pub async fn add_employee(&self, person: Person) -> Result<(), Error> {
        self.reach(&person.key)?;
        let roles: Vec<_> = person.roles.iter().map(Role::name).collect();
        let entry = self.entry(Event::EmployeeAdded, &person.key, roles.join(", "))?;
        let new = NewEmployee { person, at: entry.at, entry: Some(entry) };
        if self.changed(self.auth.store.add_employee(self.by(), new).await).await? {
            Ok(())
        } else {
            Err(Refusal::Exists.into())
        }
    }

    /// Shuts an employee out and ends their sessions; returns how many ended.
    ///
    /// # Errors
    /// When there is no such employee, they are the last administrator, or the store fails.
    pub async fn disable(&self, employee: EmployeeKey) -> Result<usize, Error> {
        self.reach(&employee)?;
        let entry = self.entry(Event::EmployeeDisabled, &employee, "")?;
        let deny_until = self.auth.deny_until(entry.at);
        match self
            .changed(
                self.auth.store.disable(self.by(), employee.clone(), self.is_above(&employee), deny_until, entry).await,
            )
            .await?
        {
            ShutOut::Done(ended) => Ok(ended),
            ShutOut::Unknown => Err(Refusal::NoSuchEmployee.into()),
            ShutOut::LastAdmin => self.refuse(Refusal::LastAdmin).await,
        }
    }

    /// Lets an employee in again. Sessions that ended stay ended.
    ///
    /// # Errors
    /// When there is no such employee, or the store fails.
    pub async fn enable(&self, employee: EmployeeKey) -> Result<(), Error> {
        self.reach(&employee)?;
        let entry = self.entry(Event::EmployeeEnabled, &employee, "")?;
        if self.changed(self.auth.store.enable(self.by(), employee, entry).await).await? {
            Ok(())
        } else {
            Err(Refusal::NoSuchEmployee.into())
        }
    }

    /// Gives an employee exactly these roles; returns what is on record then.
    ///
    /// # Errors
    /// When there is no such employee, they are the last administrator and would not be one any more, or the store fails.
    pub async fn set_roles(&self, employee: EmployeeKey, roles: Roles) -> Result<Listed, Error> {
        self.reach(&employee)?;
        let entry = self.entry(Event::RolesChanged, &employee, "")?;
        let (even_last, deny_until) = (self.is_above(&employee), self.auth.deny_until(entry.at));
        match self
            .changed(self.auth.store.set_roles(self.by(), employee.clone(), roles, even_last, deny_until, entry).await)
            .await?
        {
            Changed::Yes(_) | Changed::No => {}
            Changed::Unknown => return Err(Refusal::NoSuchEmployee.into()),
            Changed::LastAdmin => return self.refuse(Refusal::LastAdmin).await,
        }
        Ok(self.auth.store.listed(employee).await?.ok_or(Refusal::NoSuchEmployee)?)
    }

    /// Gives an employee a role; `false` when they held it.
    ///
    /// # Errors
    /// When there is no such employee or role, or the store fails.
    pub async fn grant(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        self.reach(&employee)?;
        let role = self.auth.assignable(&employee, role).await?;
        let entry = self.entry(Event::RolesChanged, &employee, format!("+{role}"))?;
        self.changed(self.auth.store.grant(self.by(), employee, role, entry).await).await
    }

    /// Takes a role from an employee; `false` when they did not hold it. Their sessions stop acting in it at once.
    ///
    /// # Errors
    /// When there is no such employee or role, or the store fails.
    pub async fn revoke(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        self.reach(&employee)?;
        let role = self.auth.assignable(&employee, role).await?;
        let entry = self.entry(Event::RolesChanged, &employee, format!("-{role}"))?;
        self.changed(self.auth.store.revoke(self.by(), employee, role, entry).await).await
    }
}

/// Which people of those within reach.
#[derive(Clone, Debug)]
pub struct PeopleAsked {
    /// What their department is called.
    pub department: Option<String>,
    /// How their identifier or name begins, or a word of it.
    pub q: Option<String>,
    /// What they may act as.
    pub role: Option<Role>,
    /// In which order, where neither is asked for.
    pub order: Order,
}

/// Some of them.
#[derive(Debug)]
pub struct PeopleFound {
    /// The people.
    pub people: Vec<Listed>,
    /// Where to go on, when there are more.
    pub next: Option<String>,
    /// How many there are in all.
    pub total: i64,
    /// Whether that is exact, or there are more.
    pub exact: bool,
}

/// How far people are counted: further would mean to walk through all of them for every page.
const COUNTED: i64 = 10_000;

impl Auth {
    /// Some of the people within reach, from `after` on, a place that another page named, or else after the first `offset`.
    ///
    /// # Errors
    /// When no page named that place, or the store fails.
    pub async fn people(
        &self,
        Reach { corp, department_id }: Reach,
        asked: PeopleAsked,
        after: Option<&str>,
        offset: i64,
        limit: i64,
    ) -> Result<Result<PeopleFound, BadCursor>, Error> {
        let name = asked.department.clone().map(InDepartment::Name);
        let department = department_id.map(InDepartment::Id).or(name);
        let sought = match asked {
            PeopleAsked { q: Some(q), role, .. } => Sought::Term { q, role },
            PeopleAsked { role: Some(role), .. } => Sought::Role(role),
            PeopleAsked { order, .. } => Sought::Everyone(order),
        };
        let filter = PeopleFilter { corp, department, sought };
        let at = match after.map(|after| filter.cursor(after)) {
            None => At::Page(offset),
            Some(Ok(cursor)) => At::After(cursor),
            Some(Err(bad)) => return Ok(Err(bad)),
        };
        let PeoplePage { people, next } = self.store.people(filter.clone(), at, limit).await?;
        let counted = self.store.count_people(filter, COUNTED).await?;
        Ok(Ok(PeopleFound { people, next, total: counted.min(COUNTED), exact: counted <= COUNTED }))
    }

    /// The corporations whose people are known here.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn corporations(&self) -> Result<Vec<String>, Error> {
        Ok(self.store.corporations().await?)
    }

    /// A page of employees, starting after one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn employees(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<Listed>, Error> {
        Ok(self.store.employees(after, limit).await?)
    }

    pub(super) async fn assignable(&self, employee: &EmployeeKey, role: &str) -> Result<Role, Error> {
        let role = Role::from_name(role).ok_or_else(|| Refusal::NoSuchRole(role.to_owned()))?;
        self.store.person(employee).await?.ok_or(Refusal::NoSuchEmployee)?;
        Ok(role)
    }
}
