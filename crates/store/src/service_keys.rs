//! Service keys, with which other services authenticate.

use deskpass_core::{Digest, Timestamp};

use crate::access_rules::{SERVICE_KEY_COLUMNS, service_key};
use crate::cache::CacheChange;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, ServiceKey, Store};

const MAX_LISTED_KEYS: i64 = 1_000;

impl Store {
    /// Stores a new key, and logs it. Fails when there is a key with the same name or value.
    pub async fn add_service_key(
        &self,
        by: ChangeAuthor,
        digest: Digest,
        key: ServiceKey,
        entry: LogEntry,
    ) -> Result<(), ChangeError> {
        self.write_as(by, move |tx| {
            let ServiceKey { id, name, scopes, created_at, created_by, expires_at, revoked_at } = &key;
            let (corp, maker) = created_by.as_ref().map(|maker| (maker.corp(), maker.id())).unzip();
            let scopes = scopes.to_string();
            let text = "INSERT INTO service_key (id, digest, name, scopes, created_at, created_by_corp, created_by_key,
                expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
            let values = args![&**id, digest, &**name, &*scopes, *created_at, corp, maker, *expires_at, *revoked_at];
            tx.execute(text, &values)?;
            tx.record_change(CacheChange::Rules);
            entry.write(tx)
        })
        .await
    }

    /// All keys, including revoked and expired ones, the newest first; at most a thousand.
    pub async fn service_keys(&self) -> Result<Vec<ServiceKey>> {
        let text = format!("{SERVICE_KEY_COLUMNS} ORDER BY created_at DESC, id LIMIT $1");
        self.database.read(move |sql| sql.rows(&text, &args![MAX_LISTED_KEYS], service_key)).await
    }

    /// The key with this identifier, valid or not.
    pub async fn service_key(&self, id: String) -> Result<Option<ServiceKey>> {
        let text = format!("{SERVICE_KEY_COLUMNS} WHERE id = $1");
        self.database.read(move |sql| sql.first(&text, &args![&*id], service_key)).await
    }

    /// The key with this digest, valid or not.
    pub async fn service_key_of(&self, digest: Digest) -> Result<Option<ServiceKey>> {
        let text = format!("{SERVICE_KEY_COLUMNS} WHERE digest = $1");
        self.database.read(move |sql| sql.first(&text, &args![digest], service_key)).await
    }

    /// Revokes a key and logs it; `false`, with no change, when it was revoked already, `None` when there is no such key.
    /// If the store fails, the key must not be treated as revoked.
    pub async fn revoke_service_key(
        &self,
        by: ChangeAuthor,
        id: String,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<bool>, ChangeError> {
        self.write_as(by, move |tx| {
            let text = "UPDATE service_key SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
            if tx.execute(text, &args![&*id, at])? == 0 {
                let text = "SELECT 1 FROM service_key WHERE id = $1";
                return Ok(tx.exists(text, &args![&*id])?.then_some(false));
            }
            tx.record_change(CacheChange::Rules);
            entry.write(tx)?;
            Ok(Some(true))
        })
        .await
    }
}
