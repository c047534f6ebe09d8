//! The marker: since when every row of the log is in a chain. It is made with the key of the chains, once, in the
//! transaction that creates its table. So an unchained row, a chain without an end and a missing marker are all faults,
//! and the marker also shows whether the key is the right one.

use deskpass_core::Timestamp;

use super::chain::{ADOPTED_CHAIN, CHAIN_COUNT, ChainKey};
use super::chain_walk::{self, ChainWalk, PruneMark, RowFit, StoredRow};
use crate::Result;
use crate::database::{Row, Sql, Tx};

const ADOPTION_BATCH: i64 = 5_000;

/// The number of rows at the start of each chain that are used to check the key.
const KEY_SAMPLE_ROWS: i64 = 50;

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
    fn new(key: &ChainKey, since: i64, adopted: i64, hash: &str) -> Self {
        let mac = key.hash(&["chained since", &since.to_string(), &adopted.to_string(), hash]);
        Self { since, adopted, hash: hash.to_owned(), mac }
    }

    fn is_genuine(&self, key: &ChainKey) -> bool {
        *self == Self::new(key, self.since, self.adopted, &self.hash)
    }
}

pub(super) fn read(sql: &Sql<'_>, key: &ChainKey) -> Result<MarkerState> {
    let read = |row: &Row<'_>| -> Result<Option<Marker>> {
        let marker = Marker { since: row.int(1)?, adopted: row.int(2)?, hash: row.text(3)?, mac: row.text(4)? };
        Ok(Some(marker).filter(|_| row.int(0).is_ok_and(|id| id == 1)))
    };
    // A value of a wrong type makes only the marker unreadable, and says nothing about the rest of the database.
    let text = "SELECT id, since, adopted, hash, mac FROM log_marker";
    let mut found = sql.rows(text, &[], |row| Ok(read(row).ok().flatten()))?;
    Ok(match (found.pop(), found.is_empty()) {
        (None, _) => MarkerState::Missing,
        (Some(Some(marker)), true) if marker.is_genuine(key) => MarkerState::Genuine(marker),
        _ => MarkerState::Forged,
    })
}

/// Starts the chains: adopts the rows from before there were chains, gives every chain an end, and writes the marker.
/// Runs only in the transaction that creates the marker's table: otherwise, after removing the marker, an attacker could
/// pass a changed log off as a new one.
pub(crate) fn begin_chains(tx: &Tx<'_>, key: &ChainKey, now: Timestamp) -> Result<()> {
    let (adopted, hash) = adopt(tx, key)?;
    let text = "INSERT INTO log_chain (chain, seq, hash, pruned_seq, pruned_hash, pruned_mac)
        VALUES ($1, $2, $3, 0, '', '') ON CONFLICT DO NOTHING";
    for chain in 0..CHAIN_COUNT {
        tx.execute(text, &args![chain, 0_i64, ""])?;
    }
    tx.execute(text, &args![ADOPTED_CHAIN, adopted, &*hash])?;
    let Marker { since, adopted, hash, mac } = Marker::new(key, now.millis(), adopted, &hash);
    let text = "INSERT INTO log_marker (id, since, adopted, hash, mac) VALUES (1, $1, $2, $3, $4)";
    tx.execute(text, &args![since, adopted, &*hash, &*mac]).map(drop)
}

/// Adopts rows that are in no chain. If there are chains already, only rows from before them: a newer row was not written
/// by a version that chains its rows.
fn adopt(tx: &Tx<'_>, key: &ChainKey) -> Result<(i64, String)> {
    let oldest = "SELECT COALESCE((SELECT MIN(id) FROM login_log WHERE chain IS NOT NULL),
        CASE WHEN EXISTS (SELECT 1 FROM log_chain WHERE seq > 0) THEN '' ELSE 'g' END)";
    let oldest = tx.first(oldest, &[], |row| row.text(0))?.unwrap_or_default();
    let text = format!(
        "SELECT {} FROM login_log l WHERE chain IS NULL AND seq IS NULL AND hash IS NULL AND id > $1 AND id < $2
         ORDER BY id LIMIT {ADOPTION_BATCH}",
        chain_walk::columns("COALESCE(detail, '')")
    );
    let place = "UPDATE login_log SET chain = $2, seq = $3, hash = $4, detail = COALESCE(detail, '') WHERE id = $1";
    let (mut seq, mut hash, mut after) = (0, String::new(), String::new());
    loop {
        let rows = tx.rows(&text, &args![&*after, &*oldest], StoredRow::read)?;
        for written in &rows {
            seq += 1;
            hash = written.content().hash(key, ADOPTED_CHAIN, seq, &hash);
            tx.execute(place, &args![&*written.id, ADOPTED_CHAIN, seq, &*hash])?;
        }
        let Some(last) = rows.into_iter().next_back() else { return Ok((seq, hash)) };
        after = last.id;
    }
}

/// Whether this is the key that the log was written with, as far as the log shows: `None` when nothing in it was made
/// with a key, or the evidence is inconclusive.
pub(super) fn is_key_of(sql: &Sql<'_>, key: &ChainKey) -> Result<Option<bool>> {
    let marked = read(sql, key)?;
    if matches!(marked, MarkerState::Genuine(_)) {
        return Ok(Some(true));
    }
    let by_rows = is_key_of_rows(sql, key)?;
    Ok(by_rows.or(matches!(marked, MarkerState::Forged).then_some(false)))
}

/// Whether this is the key of the data: the log or the stored key check was made with it.
pub(crate) fn is_own_key(sql: &Sql<'_>, key: &ChainKey) -> Result<bool> {
    Ok(is_key_of(sql, key)? == Some(true) || key_check(sql)?.is_some_and(|check| key.matches_check(&check)))
}

/// The text by which the key is checked, if there is one that can be read.
pub(super) fn key_check(sql: &Sql<'_>) -> Result<Option<String>> {
    Ok(sql.first("SELECT key_check FROM desk", &[], |row| Ok(row.maybe_text(0).ok().flatten()))?.flatten())
}

/// Checks the key with the first rows of each chain alone.
fn is_key_of_rows(sql: &Sql<'_>, key: &ChainKey) -> Result<Option<bool>> {
    let (mut rows, mut fitting) = (0, 0);
    for chain in 0..=ADOPTED_CHAIN {
        let pruned = chain_walk::end(sql, chain)?.map_or_else(PruneMark::default, |end| end.pruned);
        ChainWalk::after(key, chain, &pruned).next(sql, KEY_SAMPLE_ROWS, |found| {
            rows += 1;
            fitting += i32::from(found.fit == RowFit::Intact);
        })?;
    }
    Ok((rows > 0).then_some(fitting > 0))
}

/// Whether the existing rows were made with another key. Checked before the marker is made, since a marker made with a
/// wrong key could not be corrected.
pub(crate) fn is_other_key(sql: &Sql<'_>, key: &ChainKey) -> Result<bool> {
    Ok(match (is_key_of_rows(sql, key)?, key_check(sql)?) {
        (Some(true), _) | (None, None) => false,
        (Some(false) | None, Some(check)) => !key.matches_check(&check),
        (Some(false), None) => true,
    })
}
