//! Who may have a one-time-password device: agents, and employees who hold a role other than `user`.
//!
//! Every administrator needs a device to change anything, so it must not depend on an agent record. A disabled agent record still
//! disables the device: it was disabled on purpose.

use deskpass_core::{EmployeeKey, Role, Roles};
use deskpass_store::Agent;

use crate::{Auth, Error, Refusal};

impl Auth {
    /// The record with the device of an employee who holds these roles, if there is one yet.
    ///
    /// # Errors
    /// When the employee may not have a device, or the store fails.
    pub(crate) async fn device_record(&self, employee: &EmployeeKey, held: Roles) -> Result<Option<Agent>, Error> {
        self.require_confirmed(employee).await?;
        let record = self.store.agent(employee.clone()).await?;
        let allowed = match &record {
            Some(agent) if !agent.device_only => !agent.disabled,
            Some(_) | None => may_have_device(held),
        };
        if allowed { Ok(record) } else { Err(Refusal::DeviceNotAllowed.into()) }
    }

    /// Requires that the employee may still have a device, after a change to it had no effect. Reads the roles past the cache, since
    /// another node may have revoked the one that allowed it.
    ///
    /// # Errors
    /// When the employee may not have a device, or the store fails.
    pub(crate) async fn require_may_still_have_device(&self, employee: &EmployeeKey) -> Result<(), Error> {
        let listed = self.store.listed_person(employee.clone()).await?;
        let held = listed.map_or(Roles::NONE, |listed| listed.person.roles_at(self.clock.now()));
        self.device_record(employee, held).await.map(drop)
    }

    /// Requires an employee whose device an administrator may reset: an agent, enabled or disabled, or an employee who has a device
    /// or may have one.
    ///
    /// # Errors
    /// When there is no such employee, or the store fails.
    pub async fn require_device_owner(&self, employee: &EmployeeKey) -> Result<(), Error> {
        let has_record = self.store.agent(employee.clone()).await?.is_some();
        let person = self.store.person(employee).await?;
        let found = has_record || person.is_some_and(|person| may_have_device(person.roles_at(self.clock.now())));
        if found { Ok(()) } else { Err(Refusal::NoSuchAgent.into()) }
    }
}

/// Whether these roles allow a device without an agent record.
fn may_have_device(held: Roles) -> bool {
    !held.without(Role::User).is_empty()
}
