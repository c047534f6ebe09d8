//! The keys of the log: those of the settings, and those that were replaced since the oldest row was written.

use std::sync::Arc;

use deskpass_core::{EncryptionKeys, KeyBytes};

use super::chain::{ChainKey, LogKey};
use super::marker;
use super::retired_key::{self, RetiredKey, RetiredSecret};
use crate::database::{Sql, in_snapshot};
use crate::{Result, Store, StoreError};

/// The keys of the settings, for the log. Clones share them.
#[derive(Clone, Debug)]
pub struct ChainKeys {
    first: Arc<ChainKey>,
    others: Arc<[ChainKey]>,
}

impl ChainKeys {
    /// Derives the keys for this purpose.
    #[must_use]
    pub fn new(keys: &EncryptionKeys) -> Self {
        Self { first: Arc::new(ChainKey::new(keys.first())), others: keys.others().iter().map(ChainKey::new).collect() }
    }

    /// Whether the stored text by which the key is checked was sealed with one of these keys.
    #[must_use]
    pub fn matches_check(&self, check: &str) -> bool {
        self.iter().any(|key| key.matches_check(check))
    }

    /// The key that `deskpass key rotate` moves the data to.
    pub(crate) fn first(&self) -> &ChainKey {
        &self.first
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ChainKey> {
        std::iter::once(&*self.first).chain(&*self.others)
    }

    /// Whether one of the keys has this name.
    pub(super) fn has(&self, id: &str) -> bool {
        self.iter().any(|key| key.id == id)
    }

    /// The key that the log is written with now, as far as the data shows: the first one, if nothing was made with any of them.
    pub(super) fn current(&self, sql: &Sql<'_>) -> Result<&ChainKey> {
        if self.others.is_empty() {
            return Ok(&self.first);
        }
        if let Some(key) = self.identified(sql)? {
            return Ok(key);
        }
        // Better than the order of the list, though it can be changed without a key.
        let text = "SELECT key_id FROM log_chain WHERE key_id <> '' ORDER BY chain LIMIT 1";
        let named = sql.first(text, &[], |row| Ok(row.text(0).ok()))?.flatten();
        let key = named.and_then(|id| self.iter().find(|key| key.id == id));
        Ok(key.unwrap_or(&self.first))
    }

    /// The key that the log is written with now; `None` if neither the marker nor the key check was made with one of these.
    pub(super) fn identified(&self, sql: &Sql<'_>) -> Result<Option<&ChainKey>> {
        // The marker was made with the key; the name of a key at a chain can be changed without it.
        if let Some(marked) = marker::made_with(sql, self.iter())? {
            // An attacker who has a copy of a marker from before the key was replaced can put it back. What the newer key has sealed
            // since then shows that.
            for newer in self.iter().take_while(|key| key.id != marked.id) {
                if !retired_key::read(sql, newer)?.is_empty() {
                    return Ok(Some(newer));
                }
            }
            return Ok(Some(marked));
        }
        let check = marker::key_check(sql)?;
        Ok(check.and_then(|check| self.iter().find(|key| key.matches_check(&check))))
    }

    /// The key for the next row of a chain that names its key, or none if the key was never replaced. A row that is hashed with another
    /// key could not be verified.
    pub(super) fn appending(&self, sql: &Sql<'_>, id: &str) -> Result<&ChainKey> {
        if !id.is_empty() {
            return self.iter().find(|key| key.id == id).ok_or_else(|| missing_key(id));
        }
        if self.others.is_empty() {
            return Ok(&self.first);
        }
        // No key was replaced, so the marker alone decides. The chain is locked: one read, however many keys there are.
        if let Some(key) = marker::made_with(sql, self.iter())? {
            return Ok(key);
        }
        self.current(sql)
    }

    fn last(&self) -> &ChainKey {
        self.others.last().unwrap_or(&self.first)
    }
}

/// The error of a node that lacks the key of the data.
pub(super) fn missing_key(id: &str) -> StoreError {
    StoreError::unavailable(&format!(
        "the data is encrypted with the key {id}, which is not in this node's encryption_key: add that key to the \
         settings and restart"
    ))
}

/// The key of every row: the current key, and those that were replaced, each with the rows that it was used for.
#[derive(Debug)]
pub(super) struct LogKeys<'a> {
    pub(super) current: &'a ChainKey,
    /// Oldest first.
    retired: Vec<(LogKey, RetiredKey)>,
}

impl<'a> LogKeys<'a> {
    /// Reads the keys that were replaced. Only the current key opens them.
    pub(super) fn read(sql: &Sql<'_>, keys: &'a ChainKeys) -> Result<Self> {
        Self::with(sql, keys.current(sql)?)
    }

    /// The keys, if this is the current one.
    pub(super) fn with(sql: &Sql<'_>, current: &'a ChainKey) -> Result<Self> {
        let retired = retired_key::read(sql, current)?;
        let retired = retired.into_iter().map(|(id, record)| (record.secret.log_key(&id), record));
        Ok(Self { current, retired: retired.collect() })
    }

    /// The key that the row at this position was hashed with.
    pub(super) fn of(&self, chain: i64, seq: i64) -> &LogKey {
        let used = self.retired.iter().find(|(_, record)| record.end(chain).is_some_and(|(last, _)| seq <= last));
        used.map_or(self.current.log(), |(key, _)| key)
    }

    /// All keys that rows were hashed with.
    pub(super) fn all(&self) -> impl Iterator<Item = &LogKey> {
        std::iter::once(self.current.log()).chain(self.retired.iter().map(|(key, _)| key))
    }

    /// Where a chain ended each time the key was replaced: position and hash.
    pub(super) fn ends(&self, chain: i64) -> Vec<(i64, String)> {
        let ends = self.retired.iter().filter_map(|(_, record)| record.end(chain));
        ends.map(|(seq, hash)| (seq, hash.to_owned())).collect()
    }

    /// Whether the end of a chain names the key as it should: the current one, or none if the key was not replaced since it began.
    pub(super) fn is_named(&self, chain: i64, id: &str) -> bool {
        id == self.current.id || (id.is_empty() && self.ends(chain).is_empty())
    }

    /// Whether this was the code of the marker before the key was replaced.
    pub(super) fn is_earlier_marker(&self, mac: &str) -> bool {
        self.retired.iter().any(|(_, record)| record.marker.as_deref() == Some(mac))
    }
}

/// The keys that the data was made with.
#[derive(Clone, PartialEq, Eq)]
pub struct KnownKeys {
    /// The key that the data uses now: what is new is encrypted with it, wherever it is in the settings.
    pub current: KeyBytes,
    /// Keys that were replaced and not forgotten, newest first.
    pub retired: Vec<KeyBytes>,
    /// The names of keys that were replaced and forgotten.
    pub forgotten: Vec<String>,
    /// The name of the key of records that name none: the one before the first was replaced.
    pub unnamed: String,
    /// Whether the key was ever replaced. Until then records name none.
    pub is_named: bool,
}

debug_only!(KnownKeys);

impl Store {
    /// The keys that the data was made with.
    pub async fn known_keys(&self, keys: ChainKeys) -> Result<KnownKeys> {
        let known = move |sql: &Sql<'_>| in_snapshot(sql, |sql| known_keys(sql, &keys));
        self.database.read(known).await
    }
}

fn known_keys(sql: &Sql<'_>, keys: &ChainKeys) -> Result<KnownKeys> {
    let current = keys.current(sql)?;
    let is_named = sql.exists("SELECT 1 FROM log_chain WHERE key_id <> '' LIMIT 1", &[])?;
    let oldest_first = retired_key::read(sql, current)?;
    let unnamed = match oldest_first.first() {
        Some((id, _)) => id.clone(),
        // The log was restarted with another key, and what was known about the earlier ones is lost.
        None if is_named => keys.last().id.clone(),
        None => current.id.clone(),
    };
    let (mut retired, mut forgotten) = (Vec::new(), Vec::new());
    for (id, record) in oldest_first.into_iter().rev() {
        match record.secret {
            RetiredSecret::Whole(key) => retired.push(key),
            RetiredSecret::LogOnly(_) => forgotten.push(id),
        }
    }
    Ok(KnownKeys { current: current.bytes, retired, forgotten, unnamed, is_named })
}
