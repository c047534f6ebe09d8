//! What an administrator does to people and their roles.

mod agents;

use deskpass_core::{EmployeeKey, Person, Role};
use deskpass_store::{Link, Listed, NewEmployee};

use crate::{Auth, Error, Refusal};

pub use agents::PasswordReset;

impl Auth {
    /// Enters an employee.
    ///
    /// # Errors
    /// When they are there already, or the store fails.
    pub async fn add_employee(&self, person: Person) -> Result<(), Error> {
        let added = self.store.add_employee(NewEmployee { person, at: self.clock.now() }).await?;
        if added { Ok(()) } else { Err(Refusal::Exists.into()) }
    }

    /// A page of employees, starting after one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn employees(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<Listed>, Error> {
        Ok(self.store.employees(after, limit).await?)
    }

    /// Shuts an employee out and ends their sessions; returns how many ended.
    ///
    /// # Errors
    /// When there is no such employee, or the store fails.
    pub async fn disable(&self, employee: EmployeeKey) -> Result<usize, Error> {
        let now = self.clock.now();
        let ended = self.store.disable(employee, now, self.deny_until(now)).await?;
        Ok(ended.ok_or(Refusal::UnknownEmployee)?)
    }

    /// Lets an employee in again. Sessions that ended stay ended.
    ///
    /// # Errors
    /// When there is no such employee, or the store fails.
    pub async fn enable(&self, employee: EmployeeKey) -> Result<(), Error> {
        if self.store.enable(employee).await? { Ok(()) } else { Err(Refusal::UnknownEmployee.into()) }
    }

    /// Gives an employee a role; `false` when they held it.
    ///
    /// # Errors
    /// When there is no such employee or role, or the store fails.
    pub async fn grant(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        let role = self.assignable(&employee, role).await?;
        Ok(self.store.grant(employee, role).await?)
    }

    /// Takes a role from an employee; `false` when they did not hold it. Their sessions stop acting in it at once.
    ///
    /// # Errors
    /// When there is no such employee or role, or the store fails.
    pub async fn revoke(&self, employee: EmployeeKey, role: &str) -> Result<bool, Error> {
        let role = self.assignable(&employee, role).await?;
        Ok(self.store.revoke(employee, role).await?)
    }

    /// Approves that somebody of a connected corporation may act as an employee.
    ///
    /// # Errors
    /// When there is no such employee, or the store fails.
    pub async fn approve_link(&self, identity: EmployeeKey, target: EmployeeKey) -> Result<(), Error> {
        let approved = self.store.approve_link(identity, target, self.clock.now()).await?;
        if approved { Ok(()) } else { Err(Refusal::UnknownEmployee.into()) }
    }

    /// Takes that permission back; `false` when there was none. Sessions that stand on it go on to their end.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn remove_link(&self, identity: EmployeeKey) -> Result<bool, Error> {
        Ok(self.store.remove_link(identity).await?)
    }

    /// Who of connected corporations may act as whom.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn links(&self) -> Result<Vec<Link>, Error> {
        Ok(self.store.links().await?)
    }

    async fn assignable(&self, employee: &EmployeeKey, role: &str) -> Result<Role, Error> {
        let role = Role::from_name(role).ok_or_else(|| Refusal::NoSuchRole(role.to_owned()))?;
        self.store.person(employee).await?.ok_or(Refusal::UnknownEmployee)?;
        Ok(role)
    }
}
