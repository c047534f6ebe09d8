//! Links: identities of connected corporations that may act as an employee.

use deskpass_core::EmployeeKey;
use deskpass_store::{AuditEvent, IdentityLink};

use super::Administrator;
use crate::{Error, Refusal};

impl Administrator<'_> {
    /// All links.
    pub async fn links(&self) -> Result<Vec<IdentityLink>, Error> {
        self.require_home_admin().await?;
        Ok(self.auth.store.links().await?)
    }

    /// Approves that an identity of a connected corporation may act as an employee.
    pub async fn approve_link(&self, identity: EmployeeKey, target: EmployeeKey) -> Result<(), Error> {
        self.require_home_admin().await?;
        let entry = self.entry(AuditEvent::LinkApproved, &target, format!("for {identity:?}"))?;
        let approved = self.commit(self.auth.store.approve_link(self.author(), identity, target, entry)).await?;
        if approved { Ok(()) } else { Err(Refusal::NoSuchEmployee.into()) }
    }

    /// Requires that the identity has a link.
    pub async fn require_link(&self, identity: &EmployeeKey) -> Result<(), Error> {
        self.require_home_admin().await?;
        let link = self.auth.store.link(identity.clone()).await?;
        if link.is_some() { Ok(()) } else { Err(Refusal::NoSuchLink.into()) }
    }

    /// Removes a link; `false` if there was none. Sessions that began through the link continue until they expire.
    pub async fn remove_link(&self, identity: EmployeeKey) -> Result<bool, Error> {
        self.require_home_admin().await?;
        let Some(link) = self.auth.store.link(identity.clone()).await? else { return Ok(false) };
        let entry = self.entry(AuditEvent::LinkRemoved, &link.target, format!("for {identity:?}"))?;
        self.commit(self.auth.store.remove_link(self.author(), identity, entry)).await
    }
}
