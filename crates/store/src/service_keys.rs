//! What other services identify themselves with.

use std::collections::HashMap;

use deskpass_core::{Digest, EmployeeKey, ServiceScope, ServiceScopes, Timestamp};

use crate::cache::CacheChange;
use crate::database::{Row, Sql};
use crate::{ChangeAuthor, ChangeError, LogEntry, Store, StoreError};

/// What is known of a service key; the key itself is nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceKey {
    /// Names it, and opens nothing.
    pub id: String,
    /// What somebody called it.
    pub name: String,
    /// What it opens.
    pub scopes: ServiceScopes,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it, where it was not an operator.
    pub created_by: Option<EmployeeKey>,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl ServiceKey {
    /// Whether it opens anything at `now`.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && now < self.expires_at
    }

    /// How it stands at `now`, in a word.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> &'static str {
        match self.revoked_at {
            Some(_) => "revoked",
            None if self.is_active(now) => "active",
            None => "expired",
        }
    }
}

const COLUMNS: &str =
    "SELECT id, name, scopes, created_at, created_by_corp, created_by_key, expires_at, revoked_at, digest
    FROM service_key";

/// How many a list shows.
const MAX_LISTED_KEYS: i64 = 1_000;

impl Store {
    /// Keeps a key that was made, and logs it.
    ///
    /// # Errors
    /// When the store fails, or there is one with the same name or value.
    pub async fn add_service_key(
        &self,
        by: ChangeAuthor,
        digest: Digest,
        key: ServiceKey,
        entry: LogEntry,
    ) -> Result<(), ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let (maker, scopes) = (key.created_by.as_ref(), key.scopes.to_string());
                let values = args![
                    &*key.id,
                    digest,
                    &*key.name,
                    &*scopes,
                    key.created_at,
                    maker.map(EmployeeKey::corp),
                    maker.map(EmployeeKey::id),
                    key.expires_at,
                    key.revoked_at
                ];
                tx.execute(
                    "INSERT INTO service_key (id, digest, name, scopes, created_at, created_by_corp, created_by_key,
                     expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                    &values,
                )?;
                tx.record_change(CacheChange::Rules);
                entry.write(tx)
            })
            .await
    }

    /// All keys, those that count no more included, the newest first; at most a thousand.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn service_keys(&self) -> Result<Vec<ServiceKey>, StoreError> {
        let text = format!("{COLUMNS} ORDER BY created_at DESC, id LIMIT $1");
        self.database.read(move |sql| sql.rows(&text, &args![MAX_LISTED_KEYS], service_key)).await
    }

    /// The key with this name, whether or not it counts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn service_key(&self, id: String) -> Result<Option<ServiceKey>, StoreError> {
        let text = format!("{COLUMNS} WHERE id = $1");
        self.database.read(move |sql| sql.first(&text, &args![&*id], service_key)).await
    }

    /// The key that hashes to this, whether or not it counts.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn service_key_of(&self, digest: Digest) -> Result<Option<ServiceKey>, StoreError> {
        let text = format!("{COLUMNS} WHERE digest = $1");
        self.database.read(move |sql| sql.first(&text, &args![digest], service_key)).await
    }

    /// Revokes a key and logs it; `false`, and nothing happened, when it was revoked already, `None` when there is none.
    ///
    /// # Errors
    /// When the store fails; then the key may not be taken for revoked.
    pub async fn revoke_service_key(
        &self,
        by: ChangeAuthor,
        id: String,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<bool>, ChangeError> {
        self.authorized(by)
            .write(move |tx| {
                let text = "UPDATE service_key SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL";
                if tx.execute(text, &args![&*id, at])? == 0 {
                    let text = "SELECT 1 FROM service_key WHERE id = $1";
                    return Ok(tx.first(text, &args![&*id], |row| row.int(0))?.map(|_| false));
                }
                tx.record_change(CacheChange::Rules);
                entry.write(tx)?;
                Ok(Some(true))
            })
            .await
    }
}

/// Every key that is not revoked, by what it hashes to.
pub(crate) fn read_unrevoked(sql: &Sql<'_>) -> Result<HashMap<Digest, ServiceKey>, StoreError> {
    let text = format!("{COLUMNS} WHERE revoked_at IS NULL");
    // One that cannot be read opens nothing, and must not keep everybody else out.
    let keys = sql.rows(&text, &[], |row| Ok(Digest::from_text(&row.text(8)?).zip(Some(service_key(row)?))))?;
    Ok(keys.into_iter().flatten().collect())
}

fn service_key(row: &Row<'_>) -> Result<ServiceKey, StoreError> {
    let maker = row.maybe_text(4)?.zip(row.maybe_text(5)?);
    Ok(ServiceKey {
        id: row.text(0)?,
        name: row.text(1)?,
        // A node of a later version may know more of them; here such a key opens less, and nothing else stops.
        scopes: row.text(2)?.split(' ').filter_map(ServiceScope::from_name).collect(),
        created_at: row.timestamp(3)?,
        created_by: maker.map(|(corp, id)| EmployeeKey::from_parts(&corp, &id)),
        expires_at: row.timestamp(6)?,
        revoked_at: row.maybe_int(7)?.map(Timestamp::from_millis),
    })
}
