//! The encryption keys: which data uses which, and moving it to the first one.

use std::collections::BTreeMap;

use deskpass_core::EmployeeKey;
use deskpass_store::{AuditEvent, KeyForgetting, KeyState, KeySwitch, StoredCredentials, StoredSigningKey};

use super::Administrator;
use crate::credential_vault::SigningKeyName;
use crate::{Auth, Error};

/// The number of employees whose credentials are read at once.
const BATCH_SIZE: i64 = 500;

/// How much of the data uses a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyUse {
    /// The number of devices that are sealed with it.
    pub devices: u64,
    /// The number of passwords that are hashed with it.
    pub passwords: u64,
    /// The number of signing keys that are sealed with it.
    pub signing_keys: u64,
}

/// Which keys the data uses.
#[derive(Clone, Debug)]
pub struct KeyStatus {
    /// The keys of the settings and of the log.
    pub state: KeyState,
    /// The keys that credentials use, by name; without a name, those that no key opens.
    pub credentials: BTreeMap<Option<String>, KeyUse>,
}

impl KeyStatus {
    /// The number of devices that are sealed with another key than the first.
    #[must_use]
    pub fn devices_left(&self) -> u64 {
        self.left(|key_use| key_use.devices)
    }

    /// The number of passwords that are hashed with another key than the first.
    #[must_use]
    pub fn passwords_left(&self) -> u64 {
        self.left(|key_use| key_use.passwords)
    }

    /// The number of signing keys that are sealed with another key than the first.
    #[must_use]
    pub fn signing_keys_left(&self) -> u64 {
        self.left(|key_use| key_use.signing_keys)
    }

    fn left(&self, count: impl Fn(&KeyUse) -> u64) -> u64 {
        let first = self.state.configured.first();
        let is_left = |key: &String| Some(key) != first && !self.state.forgotten.contains(key);
        let others = self.credentials.iter().filter(|(key, _)| key.as_ref().is_some_and(is_left));
        others.map(|(_, key_use)| count(key_use)).sum()
    }
}

/// A batch of devices that were moved to the first key.
#[derive(Clone, Debug, Default)]
pub struct ResealedBatch {
    /// The number of devices that were looked at.
    pub checked: u64,
    /// The number of devices that were moved.
    pub moved: u64,
    /// Where the next batch begins; `None` after the last one.
    pub next: Option<EmployeeKey>,
}

impl Auth {
    /// Counts which keys the data uses.
    pub async fn key_status(&self) -> Result<KeyStatus, Error> {
        let state = self.store.key_state(self.chain_keys.clone()).await?;
        let (mut credentials, mut after) = (BTreeMap::<_, KeyUse>::new(), None);
        for row in &self.store.access_rules().await?.oidc_keys {
            let key = self.credential_vault.key_of_signing_key(&row.sealed, signing_key_name(row));
            credentials.entry(key).or_default().signing_keys += 1;
        }
        loop {
            let page = self.store.stored_credentials(after, BATCH_SIZE).await?;
            let Some(last) = page.last() else { return Ok(KeyStatus { state, credentials }) };
            after = Some(last.employee.clone());
            for StoredCredentials { employee, password, device } in &page {
                let vault = &self.credential_vault;
                if let Some(hash) = password {
                    credentials.entry(vault.key_of_password(hash)).or_default().passwords += 1;
                }
                if let Some(sealed) = device {
                    credentials.entry(vault.key_of_seed(sealed, employee)).or_default().devices += 1;
                }
            }
        }
    }

    /// Moves a device that was just bound. The key is read after that: if it is replaced later, the device is moved with the others.
    pub(crate) async fn move_new_device(&self, employee: EmployeeKey, sealed: String) -> Result<bool, Error> {
        self.follow_keys().await?;
        self.move_device(employee, sealed).await
    }

    /// Moves a device to the key that the data uses, by a compare-and-set: a device that is replaced meanwhile stays as it is then.
    /// Returns whether it was moved.
    async fn move_device(&self, employee: EmployeeKey, sealed: String) -> Result<bool, Error> {
        let vault = &self.credential_vault;
        let Some(key) = vault.key_of_seed(&sealed, &employee) else {
            // Left as it is: a key that is added to the settings later may open it.
            tracing::warn!(%employee, "no key in encryption_key opens this device's secret");
            return Ok(false);
        };
        if vault.current_key() == Some(key) {
            return Ok(false);
        }
        let after = vault.reseal_seed(&sealed, &employee)?;
        Ok(self.store.reseal_device(employee, sealed, after).await?)
    }

    /// Moves a signing key to the key that the data uses, by a compare-and-set; returns whether it was moved.
    pub(crate) async fn move_signing_key(&self, row: &StoredSigningKey) -> Result<bool, Error> {
        let (vault, name) = (&self.credential_vault, signing_key_name(row));
        let Some(key) = vault.key_of_signing_key(&row.sealed, name) else {
            // Left as it is: a key that is added to the settings later may open it.
            tracing::warn!(kid = row.kid, "no key in encryption_key opens this signing key");
            return Ok(false);
        };
        if vault.current_key() == Some(key) {
            return Ok(false);
        }
        let after = vault.reseal_signing_key(&row.sealed, name)?;
        Ok(self.store.replace_sealed_key(row.kid.clone(), row.sealed.clone(), after).await?)
    }
}

fn signing_key_name(row: &StoredSigningKey) -> SigningKeyName<'_> {
    SigningKeyName { kid: &row.kid, algorithm: row.algorithm }
}

impl Administrator<'_> {
    /// Continues the audit log with the first key, in one transaction that a row of the log records.
    pub async fn switch_key(&self) -> Result<KeySwitch, Error> {
        let auth = self.auth;
        let state = auth.store.key_state(auth.chain_keys.clone()).await?;
        let first = state.configured.first().map_or("", String::as_str);
        let detail = format!("from key {} to key {first}", state.current);
        let entry = self.entry(AuditEvent::KeyRotated, &auth.deployment_key(), detail)?;
        let switched = auth.store.switch_key(entry).await?;
        auth.follow_keys().await?;
        Ok(switched)
    }

    /// Ends what a key that was replaced is still good for, except for verifying the log.
    pub async fn forget_key(&self, id: String) -> Result<KeyForgetting, Error> {
        let auth = self.auth;
        let entry = self.entry(AuditEvent::KeyForgotten, &auth.deployment_key(), format!("key {id}"))?;
        let forgotten = auth.store.forget_key(id, entry).await?;
        auth.follow_keys().await?;
        Ok(forgotten)
    }

    /// Moves the next devices to the key that the data uses.
    pub async fn reseal_devices(&self, after: Option<EmployeeKey>, limit: i64) -> Result<ResealedBatch, Error> {
        let (auth, mut batch) = (self.auth, ResealedBatch::default());
        auth.follow_keys().await?;
        let page = auth.store.stored_credentials(after, limit).await?;
        batch.next = page.last().map(|last| last.employee.clone());
        for StoredCredentials { employee, device, .. } in page {
            let Some(sealed) = device else { continue };
            batch.checked += 1;
            batch.moved += u64::from(auth.move_device(employee, sealed).await?);
        }
        Ok(batch)
    }

    /// Moves the signing keys to the key that the data uses, by a compare-and-set each; returns how many were moved.
    pub async fn reseal_signing_keys(&self) -> Result<u64, Error> {
        let (auth, mut moved) = (self.auth, 0);
        auth.follow_keys().await?;
        for row in &auth.store.access_rules().await?.oidc_keys {
            moved += u64::from(auth.move_signing_key(row).await?);
        }
        Ok(moved)
    }
}
