//! The key check: whether `encryption_key` has the key that this database was written with.

use crate::{Auth, Error};

/// What is known about the keys of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyVerdict {
    /// One of them is the key of the data.
    Known,
    /// One of them was the key of the data, and was replaced by a key that is not among them.
    Replaced,
    /// The data was written with none of them.
    Unknown,
}

impl Auth {
    /// Whether one of the keys sealed the agents' secrets and chained the log. If neither exists, the first key is recorded.
    pub async fn verify_encryption_key(&self) -> Result<KeyVerdict, Error> {
        let before = self.store.key_check().await?;
        if before.as_deref().is_some_and(|check| self.chain_keys.matches_check(check)) {
            return Ok(KeyVerdict::Known);
        }
        match (self.store.is_key_of_log(self.chain_keys.clone()).await?, &before) {
            (Some(false), _) => return self.unknown_key().await,
            (None, Some(_)) if self.store.has_sealed_secrets().await? => return self.unknown_key().await,
            // The log cannot be forged without the key; the key check can be changed by anyone with write access to the database.
            (Some(true), Some(_)) => tracing::error!(
                "encryption_key is the key that the audit log was written with, but the key check in the database was \
                 changed: it is written again"
            ),
            (Some(true) | None, _) => {}
        }
        let check = self.store.new_key_check(self.chain_keys.clone()).await?;
        self.store.store_key_check(check, before).await?;
        let now = self.store.key_check().await?;
        if now.is_some_and(|check| self.chain_keys.matches_check(&check)) {
            return Ok(KeyVerdict::Known);
        }
        self.unknown_key().await
    }

    /// Takes over which key the data uses now: another node may have replaced it. What is new is encrypted with that key, and with no
    /// other, wherever it is in the settings.
    pub async fn follow_keys(&self) -> Result<(), Error> {
        self.store.require_log_key(self.chain_keys.clone()).await?;
        self.credential_vault.follow(self.store.known_keys(self.chain_keys.clone()).await?);
        Ok(())
    }

    async fn unknown_key(&self) -> Result<KeyVerdict, Error> {
        let replaced = self.store.is_retired_key(self.chain_keys.clone()).await?;
        Ok(if replaced { KeyVerdict::Replaced } else { KeyVerdict::Unknown })
    }
}
