//! Keys that were replaced. Each is in the database, sealed with the current key: what was made with it stays valid, without
//! the key in the settings. A database that is stolen without the current key is as useless as before.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Digest, KeyBytes};
use serde::{Deserialize, Serialize};

use super::chain::{ChainKey, LogKey};
use crate::database::{Sql, Tx};
use crate::{Result, StoreError};

/// A key that was replaced, and what it was used for until then.
#[derive(Clone)]
pub(super) struct RetiredKey {
    /// The first key that was replaced has the number 1.
    pub(super) number: i64,
    /// When it was replaced.
    pub(super) at: i64,
    pub(super) secret: RetiredSecret,
    /// Where each chain ended: chain, position and hash. An attacker with this key can change no row up to there, and add none.
    pub(super) ends: Vec<(i64, i64, String)>,
    /// The code of the marker, which receipts from then contain.
    pub(super) marker: Option<String>,
}

debug_only!(RetiredKey, number);

/// What is kept of a key that was replaced.
#[derive(Clone, Copy)]
pub(super) enum RetiredSecret {
    /// The key: credentials that were made with it are valid.
    Whole(KeyBytes),
    /// What the log needs to verify its rows. Credentials that were made with the key are not valid any more.
    LogOnly(Digest),
}

impl RetiredSecret {
    /// The key that hashed the rows of the log.
    pub(super) fn log_key(&self, id: &str) -> LogKey {
        let secret = match self {
            Self::Whole(key) => LogKey::secret(key),
            Self::LogOnly(secret) => *secret,
        };
        LogKey::new(id.to_owned(), &secret)
    }
}

/// The sealed text of a [`RetiredKey`].
#[derive(Deserialize, Serialize)]
struct SealedText {
    number: i64,
    at: i64,
    /// The key, unless it was forgotten.
    key: Option<String>,
    /// What is left of a forgotten key.
    log: Option<Digest>,
    ends: Vec<(i64, i64, String)>,
    marker: Option<String>,
}

/// Separates the proof that a key was replaced from the sealed text. Neither can contain it.
const SEPARATOR: char = '.';

/// The proof that a key was replaced, which only that key makes: without it, an attacker could have a node believe that its key
/// was replaced, and take a changed log for one with another key.
fn proof(key: &LogKey) -> String {
    key.hash(&["replaced by a newer key", &key.id])
}

impl RetiredKey {
    /// Where a chain ended.
    pub(super) fn end(&self, chain: i64) -> Option<(i64, &str)> {
        let found = self.ends.iter().find(|(of, ..)| *of == chain);
        found.map(|(_, seq, hash)| (*seq, &**hash))
    }

    fn open(current: &ChainKey, id: &str, sealed: &str) -> Option<Self> {
        let (_, sealed) = sealed.split_once(SEPARATOR)?;
        let text = current.open_retired(id, sealed)?;
        let SealedText { number, at, key, log, ends, marker } = serde_json::from_slice(&text).ok()?;
        let secret = match key {
            Some(key) => RetiredSecret::Whole(URL_SAFE_NO_PAD.decode(key).ok()?.try_into().ok()?),
            None => RetiredSecret::LogOnly(log?),
        };
        Some(Self { number, at, secret, ends, marker })
    }

    /// The record, sealed with the key that is current from now on.
    fn sealed(&self, current: &ChainKey, id: &str) -> Result<String> {
        let Self { number, at, ends, marker, .. } = self.clone();
        let (key, log) = match self.secret {
            RetiredSecret::Whole(key) => (Some(URL_SAFE_NO_PAD.encode(key)), None),
            RetiredSecret::LogOnly(secret) => (None, Some(secret)),
        };
        let text = SealedText { number, at, key, log, ends, marker };
        let text = serde_json::to_vec(&text).map_err(|error| StoreError::unavailable(&error))?;
        let sealed = current.seal_retired(id, &text)?;
        Ok(format!("{}{SEPARATOR}{sealed}", proof(&self.secret.log_key(id))))
    }
}

/// The keys that were replaced, by name and oldest first, as far as the current key opens them.
pub(super) fn read(sql: &Sql<'_>, current: &ChainKey) -> Result<Vec<(String, RetiredKey)>> {
    let rows = sql.rows("SELECT id, sealed FROM retired_key", &[], |row| Ok((row.text(0).ok(), row.text(1).ok())))?;
    let open = |(id, sealed): (Option<String>, Option<String>)| {
        let (id, sealed) = (id?, sealed?);
        RetiredKey::open(current, &id, &sealed).map(|record| (id, record))
    };
    let mut found: Vec<_> = rows.into_iter().filter_map(open).collect();
    found.sort_by_key(|(_, record)| record.number);
    Ok(found)
}

/// Whether one of these keys was replaced.
pub(super) fn is_retired<'a>(sql: &Sql<'_>, keys: impl IntoIterator<Item = &'a LogKey>) -> Result<bool> {
    for key in keys {
        let text = "SELECT sealed FROM retired_key WHERE id = $1";
        let sealed = sql.first(text, &args![&*key.id], |row| Ok(row.text(0).ok()))?.flatten();
        let shown = sealed.as_deref().and_then(|sealed| sealed.split_once(SEPARATOR));
        if shown.is_some_and(|(shown, _)| shown == proof(key)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the record of a key, sealed with the current one.
pub(super) fn write(tx: &Tx<'_>, current: &ChainKey, id: &str, record: &RetiredKey) -> Result<()> {
    let sealed = record.sealed(current, id)?;
    let text = "INSERT INTO retired_key (id, sealed) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed";
    tx.execute(text, &args![id, &*sealed]).map(drop)
}

/// Forgets where the chains ended, which were restarted: what was made with these keys stays valid, except for the log. Keys that
/// do not open are removed: they are lost.
pub(super) fn forget_chains(tx: &Tx<'_>, current: &ChainKey) -> Result<()> {
    let known = read(tx, current)?;
    tx.execute("DELETE FROM retired_key", &[])?;
    for (id, record) in known {
        write(tx, current, &id, &RetiredKey { ends: Vec::new(), marker: None, ..record })?;
    }
    Ok(())
}
