//! Signing keys, sealed under a key that is not in the database.

use deskpass_core::Timestamp;
use deskpass_core::oidc::KeyTimes;

use super::key_record::StoredSigningKey;
use super::record::{placeholders, texts};
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::locks::lock_administration;
use crate::{LogEntry, Result, Store};

/// When a new key is stored. Of several nodes that make one at the same time, one succeeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCondition {
    /// If there is no key of its algorithm that is not withdrawn.
    NoneOfAlgorithm,
    /// If no key of its algorithm was made after this time.
    NoNewerThan(Timestamp),
    /// Always; the other keys of its algorithm are withdrawn at this time.
    WithdrawOthers(Timestamp),
}

impl Store {
    /// Stores a signing key and logs it, if the condition holds; `false`, with no change, if it does not.
    pub async fn add_signing_key(
        &self,
        key: StoredSigningKey,
        condition: KeyCondition,
        entry: LogEntry,
    ) -> Result<bool> {
        self.database
            .write(move |tx| {
                // Of two nodes that add a key, the second must see the key of the first.
                lock_administration(tx)?;
                if !holds(tx, &key, condition)? || !insert(tx, &key)? {
                    return Ok(false);
                }
                if let KeyCondition::WithdrawOthers(at) = condition {
                    let text = "UPDATE oidc_key SET withdrawn_at = $3
                        WHERE algorithm = $1 AND kid <> $2 AND withdrawn_at IS NULL";
                    tx.execute(text, &args![key.algorithm.name(), &*key.kid, at])?;
                }
                tx.record_change(CacheChange::Rules);
                entry.write(tx)?;
                Ok(true)
            })
            .await
    }

    /// Deletes signing keys that are not published any more; returns their number.
    pub async fn remove_signing_keys(&self, kids: Vec<String>) -> Result<usize> {
        if kids.is_empty() {
            return Ok(0);
        }
        self.database
            .write(move |tx| {
                let text = format!("DELETE FROM oidc_key WHERE kid IN ({})", placeholders(kids.len()));
                let removed = tx.execute(&text, &texts(kids.iter().map(String::as_str)))?;
                if removed > 0 {
                    tx.record_change(CacheChange::Rules);
                }
                Ok(removed)
            })
            .await
    }

    /// Replaces the sealed private key of a signing key; `false`, with no change, if it is not `old_sealed` any more.
    pub async fn replace_sealed_key(&self, kid: String, old_sealed: String, new_sealed: String) -> Result<bool> {
        self.database
            .write(move |tx| {
                let text = "UPDATE oidc_key SET sealed = $3 WHERE kid = $1 AND sealed = $2";
                let replaced = tx.execute(text, &args![&*kid, &*old_sealed, &*new_sealed])? == 1;
                if replaced {
                    tx.record_change(CacheChange::Rules);
                }
                Ok(replaced)
            })
            .await
    }
}

fn holds(tx: &Tx<'_>, key: &StoredSigningKey, condition: KeyCondition) -> Result<bool> {
    let algorithm = key.algorithm.name();
    match condition {
        KeyCondition::NoneOfAlgorithm => {
            let text = "SELECT 1 FROM oidc_key WHERE algorithm = $1 AND withdrawn_at IS NULL LIMIT 1";
            Ok(!tx.exists(text, &args![algorithm])?)
        }
        KeyCondition::NoNewerThan(time) => {
            let text = "SELECT 1 FROM oidc_key WHERE algorithm = $1 AND created_at > $2 LIMIT 1";
            Ok(!tx.exists(text, &args![algorithm, time])?)
        }
        KeyCondition::WithdrawOthers(_) => Ok(true),
    }
}

fn insert(tx: &Tx<'_>, key: &StoredSigningKey) -> Result<bool> {
    let StoredSigningKey { kid, algorithm, public_jwk, sealed, times } = key;
    let KeyTimes { created_at, active_from, withdrawn_at } = *times;
    let text = "INSERT INTO oidc_key (kid, algorithm, public_jwk, sealed, created_at, active_from, withdrawn_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kid) DO NOTHING";
    let values = args![&**kid, algorithm.name(), &**public_jwk, &**sealed, created_at, active_from, withdrawn_at];
    Ok(tx.execute(text, &values)? == 1)
}
