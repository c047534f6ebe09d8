//! Appends entries to their chains, as the last step of a transaction.
//!
//! A chain is locked until the transaction ends. However many entries there are, PostgreSQL is asked twice: where the chains end, once
//! theirs are locked, and to write.

use super::LogEntry;
use super::chain::{CHAIN_COUNT, ChainKey, chain_of};
use super::chain_ends::{ChainEnds, ChainPlace};
use super::entry::EntryTexts;
use crate::database::{Row, Sql, SqlValue, Tx};
use crate::{Result, StoreError};

/// Locks a chain until the transaction ends. A statement for each chain: one for several would not see a chain that was created while it
/// waited for another, and would leave it unlocked.
const LOCK: &str = "UPDATE log_chain SET seq = seq WHERE chain = $1";

const CREATE: &str = "INSERT INTO log_chain (chain, seq, hash, pruned_seq, pruned_hash, pruned_mac)
    VALUES ($1, 0, '', 0, '', '') ON CONFLICT DO NOTHING";

const READ_ENDS: &str = "SELECT chain, seq, hash, key_id FROM log_chain WHERE chain >= 0 AND chain < $1";

const MOVE_END: &str = "UPDATE log_chain SET seq = $2, hash = $3 WHERE chain = $1";

const INSERT: &str = "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source,
    ip_address, peer_address, user_agent, actor_corp_id, actor_key, reason, detail, chain, seq, hash,
    decided_address, seen_seq, seen_hash, reference)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)";

/// The end of a chain as it is stored.
struct StoredEnd {
    chain: i64,
    seq: i64,
    hash: String,
    /// The name of the key of the chain, if it has one.
    key_id: String,
}

impl LogEntry {
    /// Appends several rows, and locks their chains until the transaction ends: so this is its last step.
    pub(crate) fn write_all(tx: &Tx<'_>, entries: &[&Self]) -> Result<()> {
        append(tx, entries)
    }

    /// Appends the row to its chain, and locks the chain until the transaction ends: so this is its last step.
    pub(crate) fn write(&self, tx: &Tx<'_>) -> Result<()> {
        append(tx, &[self])
    }
}

/// Appends entries to their chains.
fn append(tx: &Tx<'_>, entries: &[&LogEntry]) -> Result<()> {
    let mut chains: Vec<_> = entries.iter().map(|entry| chain_of(&entry.id)).collect();
    // In one order in all transactions, so that two of them do not block each other.
    chains.sort_unstable();
    chains.dedup();
    if chains.is_empty() {
        return Ok(());
    }
    let stored = lock_and_read(tx, &chains)?;
    let mut ends = ChainEnds::empty();
    let mut rows = Vec::with_capacity(entries.len());
    for end in &stored {
        ends.set(end.chain, end.seq, end.hash.clone());
    }
    // Found once for entries of one node, which have the same keys: where there are several keys, it takes a read.
    let mut found: Option<(&str, &ChainKey)> = None;
    for entry in entries {
        let id = stored.iter().find(|end| end.chain == chain_of(&entry.id)).map_or("", |end| &*end.key_id);
        let key = match found {
            Some((of, key)) if of == id => key,
            _ => entry.key.appending(tx, id)?,
        };
        found = Some((id, key));
        let texts = entry.texts();
        let place = ends.append(key, entry, &texts);
        rows.push((*entry, texts, place));
    }
    let moved = chains.iter().map(|chain| {
        let (seq, hash) = ends.of(*chain);
        (MOVE_END, args![*chain, seq, hash].to_vec())
    });
    let inserted = rows.iter().map(|(entry, texts, place)| (INSERT, values(entry, texts, place).to_vec()));
    tx.execute_all(&moved.chain(inserted).collect::<Vec<_>>()).map(drop)
}

/// Locks chains until the transaction ends, in this order, and reads where all of them end. SQLite has one writing transaction.
fn lock_and_read(tx: &Tx<'_>, chains: &[i64]) -> Result<Vec<StoredEnd>> {
    let is_missing = |ends: &[StoredEnd], chain: i64| ends.iter().all(|end| end.chain != chain);
    let locks: Vec<_> = match **tx {
        Sql::Sqlite(_) => Vec::new(),
        Sql::Postgres(_) => chains.iter().map(|chain| (LOCK, args![*chain].to_vec())).collect(),
    };
    let read = || Ok::<_, StoreError>(tx.execute_and_read(&locks, READ_ENDS, &args![CHAIN_COUNT], stored_end)?.1);
    let ends = read()?;
    let missing: Vec<_> = chains.iter().copied().filter(|chain| is_missing(&ends, *chain)).collect();
    if missing.is_empty() {
        return Ok(ends);
    }
    for chain in missing {
        tx.execute(CREATE, &args![chain])?;
    }
    // Another transaction may have created them, and appended to them.
    let ends = read()?;
    if chains.iter().any(|chain| is_missing(&ends, *chain)) {
        return Err(StoreError::damaged("missing end of a log chain"));
    }
    Ok(ends)
}

fn stored_end(row: &Row<'_>) -> Result<StoredEnd> {
    Ok(StoredEnd { chain: row.int(0)?, seq: row.int(1)?, hash: row.text(2)?, key_id: row.text(3)? })
}

/// The values of a row at its place in a chain.
fn values<'a>(entry: &'a LogEntry, texts: &'a EntryTexts, place: &'a ChainPlace) -> [SqlValue<'a>; 22] {
    let added = texts.added(place.seen_seq, &place.seen_hash);
    let row = entry.content(texts, added);
    let (actor_corp, actor) = row.actor.unzip();
    args![
        row.id,
        row.at,
        row.event,
        row.corp,
        row.employee,
        row.role,
        row.method,
        row.source,
        row.address,
        row.peer,
        row.user_agent,
        actor_corp,
        actor,
        row.reason,
        row.detail,
        place.chain,
        place.seq,
        &*place.hash,
        added.decided,
        added.seen_seq,
        added.seen_hash,
        added.reference
    ]
}
