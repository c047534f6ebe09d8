//! Starts the chains: with the tables of the log, or anew with another key.

use deskpass_core::Timestamp;

use super::chain::{ADOPTED_CHAIN, CHAIN_COUNT, ChainKey};
use super::chain_walk::{self, StoredRow};
use super::key_evidence::{is_own_key, key_of_rows};
use super::keys::ChainKeys;
use super::marker::Marker;
use super::retired_key;
use crate::Result;
use crate::database::Tx;

const ADOPTION_BATCH: i64 = 5_000;

/// Starts the chains: adopts the rows from before there were chains, gives every chain an end, and writes the marker.
/// Runs only in the transaction that creates the marker's table: otherwise, after removing the marker, an attacker could
/// pass a changed log off as a new one.
pub(crate) fn begin_chains(tx: &Tx<'_>, keys: &ChainKeys, now: Timestamp) -> Result<()> {
    begin_with(tx, key_of_rows(tx, keys)?, "", now)
}

/// Starts the chains with this key; they name it as `name`.
fn begin_with(tx: &Tx<'_>, key: &ChainKey, name: &str, now: Timestamp) -> Result<()> {
    let (adopted, hash) = adopt(tx, key)?;
    let text = "INSERT INTO log_chain (chain, seq, hash, pruned_seq, pruned_hash, pruned_mac, key_id)
        VALUES ($1, $2, $3, 0, '', '', $4) ON CONFLICT DO NOTHING";
    for chain in 0..CHAIN_COUNT {
        tx.execute(text, &args![chain, 0_i64, "", name])?;
    }
    tx.execute(text, &args![ADOPTED_CHAIN, adopted, &*hash, name])?;
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

/// Starts the chains anew, with all rows in one of them: with the key of the data, or with the first key if that one is lost.
pub(crate) fn restart_chains(tx: &Tx<'_>, keys: &ChainKeys, now: Timestamp) -> Result<()> {
    let is_own = is_own_key(tx, keys)?;
    let key = if is_own { keys.current(tx)? } else { keys.first() };
    // Named, so that a running node that has only the former key does not write with it.
    let was_named = tx.exists("SELECT 1 FROM log_chain WHERE key_id <> '' LIMIT 1", &[])?;
    let name = if is_own && !was_named { "" } else { &*key.id };
    for text in [
        "UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL",
        "DELETE FROM log_chain",
        "DELETE FROM log_marker",
        "UPDATE desk SET key_check = NULL",
    ] {
        tx.execute(text, &[])?;
    }
    retired_key::forget_chains(tx, key)?;
    begin_with(tx, key, name, now)
}
