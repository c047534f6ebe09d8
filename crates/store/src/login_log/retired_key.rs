//! Keys that were replaced. Each is in the database, sealed with the current key: what was made with it stays valid, without
//! the key in the settings. A database that is stolen without the current key is as useless as before.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::KeyBytes;
use serde::{Deserialize, Serialize};

use super::chain::ChainKey;
use crate::database::{Sql, Tx};
use crate::{Result, StoreError};

/// A key that was replaced, and what it was used for until then.
#[derive(Clone)]
pub(super) struct RetiredKey {
    /// The first key that was replaced has the number 1.
    pub(super) number: i64,
    /// When it was replaced.
    pub(super) at: i64,
    pub(super) key: KeyBytes,
    /// Where each chain ended: chain, position and hash. An attacker with this key can change no row up to there, and add none.
    pub(super) ends: Vec<(i64, i64, String)>,
    /// The code of the marker, which receipts from then contain.
    pub(super) marker: Option<String>,
}

debug_only!(RetiredKey, number);

/// The sealed text of a [`RetiredKey`].
#[derive(Deserialize, Serialize)]
struct SealedText {
    number: i64,
    at: i64,
    key: String,
    ends: Vec<(i64, i64, String)>,
    marker: Option<String>,
}

impl RetiredKey {
    /// Where a chain ended.
    pub(super) fn end(&self, chain: i64) -> Option<(i64, &str)> {
        let found = self.ends.iter().find(|(of, ..)| *of == chain);
        found.map(|(_, seq, hash)| (*seq, &**hash))
    }

    fn open(current: &ChainKey, id: &str, sealed: &str) -> Option<Self> {
        let text = current.open_retired(id, sealed)?;
        let SealedText { number, at, key, ends, marker } = serde_json::from_slice(&text).ok()?;
        let key = URL_SAFE_NO_PAD.decode(key).ok()?.try_into().ok()?;
        Some(Self { number, at, key, ends, marker })
    }

    /// The record, sealed with the key that is current from now on.
    fn sealed(&self, current: &ChainKey, id: &str) -> Result<String> {
        let Self { number, at, ends, marker, .. } = self.clone();
        let text = SealedText { number, at, key: URL_SAFE_NO_PAD.encode(self.key), ends, marker };
        let text = serde_json::to_vec(&text).map_err(|error| StoreError::unavailable(&error))?;
        current.seal_retired(id, &text)
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

/// Whether a key with one of these names was replaced.
pub(super) fn is_retired<'a>(sql: &Sql<'_>, ids: impl IntoIterator<Item = &'a str>) -> Result<bool> {
    for id in ids {
        if sql.exists("SELECT 1 FROM retired_key WHERE id = $1", &args![id])? {
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
