//! What an administrator does to people.

use deskpass_core::{EmployeeKey, Person, Role, Roles};
use deskpass_store::{
    AuditEvent, DepartmentFilter, DisableOutcome, InvalidCursor, ListedPerson, NewEmployee, PageStart, PeopleFilter,
    PeopleOrder, PeoplePage, PeopleSelection, SetRolesOutcome,
};

use super::Administrator;
use crate::{AccessScope, Auth, Error, Refusal};

impl Administrator<'_> {
    /// Makes sure that somebody is an employee whom they reach.
    ///
    /// # Errors
    /// When they are not, or the store fails.
    pub async fn require_employee(&self, employee: &EmployeeKey) -> Result<(), Error> {
        self.require_in_scope(employee)?;
        let person = self.auth.store.person(employee).await?;
        if person.is_some() { Ok(()) } else { Err(Refusal::NoSuchEmployee.into()) }
    }

    /// Enters an employee.
    ///
    /// # Errors
    /// When they are there already, or the store fails.
    pub async fn add_employee(&self, person: Person) -> Result<(), Error> {
        self.require_in_scope(&person.key)?;
        let roles: Vec<_> = person.roles.iter().map(Role::name).collect();
        let entry = self.entry(AuditEvent::EmployeeAdded, &person.key, roles.join(", "))?;
        let new = NewEmployee { person, at: entry.at, entry: Some(entry) };
        if self.audit_if_revoked(self.auth.store.add_employee(self.author(), new).await).await? {
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
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::EmployeeDisabled, &employee, "")?;
        let deny_until = self.auth.deny_until(entry.at);
        match self
            .audit_if_revoked(
                self.auth
                    .store
                    .disable(self.author(), employee.clone(), self.may_remove_last_admin(&employee), deny_until, entry)
                    .await,
            )
            .await?
        {
            DisableOutcome::Done(ended) => Ok(ended),
            DisableOutcome::Unknown => Err(Refusal::NoSuchEmployee.into()),
            DisableOutcome::LastAdmin => self.refuse(Refusal::LastAdmin).await,
        }
    }

    /// Lets an employee in again. Sessions that ended stay ended.
    ///
    /// # Errors
    /// When there is no such employee, or the store fails.
    pub async fn enable(&self, employee: EmployeeKey) -> Result<(), Error> {
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::EmployeeEnabled, &employee, "")?;
        if self.audit_if_revoked(self.auth.store.enable(self.author(), employee, entry).await).await? {
            Ok(())
        } else {
            Err(Refusal::NoSuchEmployee.into())
        }
    }

    /// Gives an employee exactly these roles; returns what is on record then.
    ///
    /// # Errors
    /// When there is no such employee, they are the last administrator and would not be one any more, or the store fails.
    pub async fn set_roles(&self, employee: EmployeeKey, roles: Roles) -> Result<ListedPerson, Error> {
        self.require_in_scope(&employee)?;
        let entry = self.entry(AuditEvent::RolesChanged, &employee, "")?;
        let (even_last, deny_until) = (self.may_remove_last_admin(&employee), self.auth.deny_until(entry.at));
        match self
            .audit_if_revoked(
                self.auth.store.set_roles(self.author(), employee.clone(), roles, even_last, deny_until, entry).await,
            )
            .await?
        {
            SetRolesOutcome::Changed(_) | SetRolesOutcome::Unchanged => {}
            SetRolesOutcome::Unknown => return Err(Refusal::NoSuchEmployee.into()),
            SetRolesOutcome::LastAdmin => return self.refuse(Refusal::LastAdmin).await,
        }
        Ok(self.auth.store.listed_person(employee).await?.ok_or(Refusal::NoSuchEmployee)?)
    }

    /// Gives an employee a role; `false` when they held it.
    ///
    /// # Errors
    /// When there is no such employee or role, or the store fails.
    pub async fn grant(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        self.require_in_scope(&employee)?;
        let role = self.auth.parse_assignable_role(&employee, role).await?;
        let entry = self.entry(AuditEvent::RolesChanged, &employee, format!("+{role}"))?;
        self.audit_if_revoked(self.auth.store.grant(self.author(), employee, role, entry).await).await
    }

    /// Takes a role from an employee; `false` when they did not hold it. Their sessions stop acting in it at once.
    ///
    /// # Errors
    /// When there is no such employee or role, or the store fails.
    pub async fn revoke(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        self.require_in_scope(&employee)?;
        let role = self.auth.parse_assignable_role(&employee, role).await?;
        let entry = self.entry(AuditEvent::RolesChanged, &employee, format!("-{role}"))?;
        self.audit_if_revoked(self.auth.store.revoke(self.author(), employee, role, entry).await).await
    }
}

/// Which people of those within reach.
#[derive(Clone, Debug)]
pub struct PeopleQuery {
    /// What their department is called.
    pub department: Option<String>,
    /// How their identifier or name begins, or a word of it.
    pub q: Option<String>,
    /// What they may act as.
    pub role: Option<Role>,
    /// In which order, where neither is asked for.
    pub order: PeopleOrder,
}

/// Some of them.
#[derive(Debug)]
pub struct PeopleResult {
    /// The people.
    pub people: Vec<ListedPerson>,
    /// Where to go on, when there are more.
    pub next: Option<String>,
    /// How many there are in all.
    pub total: i64,
    /// Whether that is exact, or there are more.
    pub exact: bool,
}

/// How far people are counted: further would mean to walk through all of them for every page.
const MAX_COUNTED_PEOPLE: i64 = 10_000;

impl Auth {
    /// Some of the people within reach, from `after` on, a place that another page named, or else after the first `offset`.
    ///
    /// # Errors
    /// When no page named that place, or the store fails.
    pub async fn people(
        &self,
        AccessScope { corp, department_id }: AccessScope,
        asked: PeopleQuery,
        after: Option<&str>,
        offset: i64,
        limit: i64,
    ) -> Result<Result<PeopleResult, InvalidCursor>, Error> {
        let name = asked.department.clone().map(DepartmentFilter::Name);
        let department = department_id.map(DepartmentFilter::Id).or(name);
        let selection = match asked {
            PeopleQuery { q: Some(q), role, .. } => PeopleSelection::Term { q, role },
            PeopleQuery { role: Some(role), .. } => PeopleSelection::Role(role),
            PeopleQuery { order, .. } => PeopleSelection::Everyone(order),
        };
        let filter = PeopleFilter { corp, department, selection };
        let at = match after.map(|after| filter.cursor(after)) {
            None => PageStart::Offset(offset),
            Some(Ok(cursor)) => PageStart::After(cursor),
            Some(Err(bad)) => return Ok(Err(bad)),
        };
        let PeoplePage { people, next } = self.store.people(filter.clone(), at, limit).await?;
        let counted = self.store.count_people(filter, MAX_COUNTED_PEOPLE).await?;
        Ok(Ok(PeopleResult {
            people,
            next,
            total: counted.min(MAX_COUNTED_PEOPLE),
            exact: counted <= MAX_COUNTED_PEOPLE,
        }))
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
    pub async fn employees(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<ListedPerson>, Error> {
        Ok(self.store.employees(after, limit).await?)
    }

    pub(super) async fn parse_assignable_role(&self, employee: &EmployeeKey, role: &str) -> Result<Role, Error> {
        let role = Role::from_name(role).ok_or_else(|| Refusal::NoSuchRole(role.to_owned()))?;
        self.store.person(employee).await?.ok_or(Refusal::NoSuchEmployee)?;
        Ok(role)
    }
}
