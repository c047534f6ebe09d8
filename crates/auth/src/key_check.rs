//! The key check: whether `encryption_key` is the key that this database was written with.

use crate::{Auth, Error};

impl Auth {
    /// Whether the key is the one that sealed the agents' secrets and chained the log. If neither exists, this key is recorded.
    pub async fn verify_encryption_key(&self) -> Result<bool, Error> {
        let before = self.store.key_check().await?;
        if before.as_deref().is_some_and(|check| self.credential_vault.matches_key_check(check)) {
            return Ok(true);
        }
        match (self.store.is_key_of_log(self.chain_key.clone()).await?, &before) {
            (Some(false), _) => return Ok(false),
            (None, Some(_)) if self.store.has_sealed_secrets().await? => return Ok(false),
            // The log cannot be forged without the key; the key check can be changed by anyone with write access to the database.
            (Some(true), Some(_)) => tracing::error!(
                "encryption_key is the key that the audit log was written with, but the key check in the database was \
                 changed: it is written again"
            ),
            (Some(true) | None, _) => {}
        }
        self.store.store_key_check(self.credential_vault.new_key_check()?, before).await?;
        Ok(self.store.key_check().await?.is_some_and(|check| self.credential_vault.matches_key_check(&check)))
    }
}
