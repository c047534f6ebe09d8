//! The marker: since when every row of the log is in a chain. It is made with the key of the chains, once, in the
//! transaction that creates its table. So an unchained row, a chain without an end and a missing marker are all faults,
//! and the marker also shows whether the key is the right one.

use super::chain::ChainKey;
use crate::Result;
use crate::database::{Row, Sql};

/// Since when the log is chained, and what it contained by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// When the marker was made.
    pub(super) since: i64,
    /// The number of earlier rows that were adopted into a chain.
    pub(super) adopted: i64,
    /// The hash of the last adopted row.
    pub(super) hash: String,
    /// Authentication code, made with the key.
    pub(super) mac: String,
}

#[derive(Clone, Debug)]
pub(super) enum MarkerState {
    /// As it was made with this key.
    Genuine(Marker),
    /// Changed, or made with another key.
    Forged,
    /// Removed.
    Missing,
}

impl Marker {
    pub(super) fn new(key: &ChainKey, since: i64, adopted: i64, hash: &str) -> Self {
        let mac = key.hash(&["chained since", &since.to_string(), &adopted.to_string(), hash]);
        Self { since, adopted, hash: hash.to_owned(), mac }
    }

    /// The same marker, made with another key.
    pub(super) fn renewed(&self, key: &ChainKey) -> Self {
        Self::new(key, self.since, self.adopted, &self.hash)
    }

    fn is_genuine(&self, key: &ChainKey) -> bool {
        *self == self.renewed(key)
    }
}

/// The marker, and whether it was made with this key.
pub(super) fn read(sql: &Sql<'_>, key: &ChainKey) -> Result<MarkerState> {
    let (marker, is_missing) = stored(sql)?;
    Ok(match marker {
        Some(marker) if marker.is_genuine(key) => MarkerState::Genuine(marker),
        None if is_missing => MarkerState::Missing,
        _ => MarkerState::Forged,
    })
}

/// The key that the marker was made with, if it is one of these.
pub(super) fn made_with<'a>(
    sql: &Sql<'_>,
    mut keys: impl Iterator<Item = &'a ChainKey>,
) -> Result<Option<&'a ChainKey>> {
    let (marker, _) = stored(sql)?;
    Ok(marker.and_then(|marker| keys.find(|key| marker.is_genuine(key))))
}

/// The marker, if there is exactly one that can be read, and whether there is none at all.
fn stored(sql: &Sql<'_>) -> Result<(Option<Marker>, bool)> {
    let read = |row: &Row<'_>| -> Result<Option<Marker>> {
        let marker = Marker { since: row.int(1)?, adopted: row.int(2)?, hash: row.text(3)?, mac: row.text(4)? };
        Ok(Some(marker).filter(|_| row.int(0).is_ok_and(|id| id == 1)))
    };
    // A value of a wrong type makes only the marker unreadable, and says nothing about the rest of the database.
    let text = "SELECT id, since, adopted, hash, mac FROM log_marker";
    let mut found = sql.rows(text, &[], |row| Ok(read(row).ok().flatten()))?;
    Ok(match (found.pop(), found.is_empty()) {
        (None, _) => (None, true),
        (Some(marker), true) => (marker, false),
        (Some(_), false) => (None, false),
    })
}

/// The text by which the key is checked, if there is one that can be read.
pub(super) fn key_check(sql: &Sql<'_>) -> Result<Option<String>> {
    Ok(sql.first("SELECT key_check FROM desk", &[], |row| Ok(row.maybe_text(0).ok().flatten()))?.flatten())
}
