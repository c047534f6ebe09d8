//! Service keys, with which other services authenticate.

use std::time::Duration;

use deskpass_core::{Secret, ServiceKey as ServiceKeyKind, ServiceKeyName, ServiceScopes};
use deskpass_store::{AuditEvent, ServiceKey};

use super::Administrator;
use crate::{Error, Refusal};

/// A new service key.
#[derive(Debug)]
pub struct NewServiceKey {
    /// The key itself, shown once.
    pub value: Secret<ServiceKeyKind>,
    /// The stored record.
    pub kept: ServiceKey,
}

impl Administrator<'_> {
    /// All service keys, newest first, including revoked and expired ones.
    pub async fn service_keys(&self) -> Result<Vec<ServiceKey>, Error> {
        self.require_home_admin().await?;
        Ok(self.auth.store.service_keys().await?)
    }

    /// Creates a service key.
    pub async fn create_service_key(
        &self,
        name: &ServiceKeyName,
        scopes: ServiceScopes,
        lifetime: Duration,
    ) -> Result<NewServiceKey, Error> {
        self.require_home_admin().await?;
        let detail = format!("{}: {scopes}", name.as_str());
        let entry = self.entry(AuditEvent::ServiceKeyCreated, &self.auth.deployment_key(), detail)?;
        let value = Secret::<ServiceKeyKind>::generate(&self.auth.entropy)?;
        let kept = ServiceKey {
            id: self.auth.record_id(entry.at)?,
            name: name.as_str().to_owned(),
            scopes,
            created_at: entry.at,
            created_by: self.who.clone(),
            expires_at: entry.at + lifetime,
            revoked_at: None,
        };
        self.commit(self.auth.store.add_service_key(self.author(), value.digest(), kept.clone(), entry)).await?;
        Ok(NewServiceKey { value, kept })
    }

    /// Revokes a service key; `false` if it was revoked already.
    pub async fn revoke_service_key(&self, id: String) -> Result<bool, Error> {
        self.require_home_admin().await?;
        let known = self.auth.store.service_key(id.clone()).await?.ok_or(Refusal::NoSuchKey)?;
        let entry =
            self.entry(AuditEvent::ServiceKeyRevoked, &self.auth.deployment_key(), format!("{}: {id}", known.name))?;
        let revoked = self.commit(self.auth.store.revoke_service_key(self.author(), id, entry.at, entry)).await?;
        Ok(revoked.ok_or(Refusal::NoSuchKey)?)
    }
}
