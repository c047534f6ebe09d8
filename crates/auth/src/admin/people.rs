//! What an administrator does to people.

use deskpass_core::{EmployeeKey, Person, Role};
use deskpass_store::{Event, Listed, NewEmployee, ShutOut};

use super::Administrator;
use crate::{Auth, Error, Refusal};

impl Administrator<'_> {
    /// Enters an employee.
    ///
    /// # Errors
    /// When they are there already, or the store fails.
    pub async fn add_employee(&self, person: Person) -> Result<(), Error> {
        let roles: Vec<_> = person.roles.iter().map(Role::name).collect();
        let entry = self.entry(Event::EmployeeAdded, &person.key, roles.join(", "))?;
        let new = NewEmployee { person, at: entry.at, entry: Some(entry) };
        if self.auth.store.add_employee(new).await? { Ok(()) } else { Err(Refusal::Exists.into()) }
    }

    /// Shuts an employee out and ends their sessions; returns how many ended.
    ///
    /// # Errors
    /// When there is no such employee, they are the last administrator, or the store fails.
    pub async fn disable(&self, employee: EmployeeKey) -> Result<usize, Error> {
        self.reach(&employee)?;
        let entry = self.entry(Event::EmployeeDisabled, &employee, "")?;
        let deny_until = self.auth.deny_until(entry.at);
        match self.auth.store.disable(employee, self.is_operator(), deny_until, entry).await? {
            ShutOut::Done(ended) => Ok(ended),
            ShutOut::Unknown => Err(Refusal::NoSuchEmployee.into()),
            ShutOut::LastAdmin => Err(Refusal::LastAdmin.into()),
        }
    }

    /// Lets an employee in again. Sessions that ended stay ended.
    ///
    /// # Errors
    /// When there is no such employee, or the store fails.
    pub async fn enable(&self, employee: EmployeeKey) -> Result<(), Error> {
        self.reach(&employee)?;
        let entry = self.entry(Event::EmployeeEnabled, &employee, "")?;
        if self.auth.store.enable(employee, entry).await? { Ok(()) } else { Err(Refusal::NoSuchEmployee.into()) }
    }

    /// Gives an employee a role; `false` when they held it.
    ///
    /// # Errors
    /// When there is no such employee or role, or the store fails.
    pub async fn grant(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        let role = self.auth.assignable(&employee, role).await?;
        let entry = self.entry(Event::RolesChanged, &employee, format!("+{role}"))?;
        Ok(self.auth.store.grant(employee, role, entry).await?)
    }

    /// Takes a role from an employee; `false` when they did not hold it. Their sessions stop acting in it at once.
    ///
    /// # Errors
    /// When there is no such employee or role, or the store fails.
    pub async fn revoke(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        let role = self.auth.assignable(&employee, role).await?;
        let entry = self.entry(Event::RolesChanged, &employee, format!("-{role}"))?;
        Ok(self.auth.store.revoke(employee, role, entry).await?)
    }
}

impl Auth {
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
