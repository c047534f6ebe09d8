//! Appends entries to their chains, as the last step of a transaction.
//!
//! A chain is locked until the transaction ends. However many entries there are, PostgreSQL is asked three times: to lock their chains,
//! where the chains end, and to write.

use std::sync::LazyLock;

use super::LogEntry;
use super::chain::{CHAIN_COUNT, ChainKey, chain_of};
use super::chain_ends::{ChainEnds, ChainPlace};
use super::entry::EntryTexts;
use crate::database::{Row, RowList, Sql, SqlValue, Tx, names};
use crate::{Result, StoreError};

/// Locks a chain until the transaction ends. A statement for each chain: one for several would not see a chain that was created while it
/// waited for another, and would leave it unlocked.
const LOCK: &str = "UPDATE log_chain SET seq = seq WHERE chain = $1";

const CREATE: &str = "INSERT INTO log_chain (chain, seq, hash, pruned_seq, pruned_hash, pruned_mac)
    VALUES ($1, 0, '', 0, '', '') ON CONFLICT DO NOTHING";

const READ_ENDS: &str = "SELECT chain, seq, hash, key_id FROM log_chain WHERE chain >= 0 AND chain < $1";

/// How many rows a statement of PostgreSQL writes: a group of sign-ins has some 20 to 60.
const LIST_SIZE: usize = 16;

const MOVE_END: &str = "UPDATE log_chain SET seq = $2, hash = $3 WHERE chain = $1";

/// The same for several chains on PostgreSQL.
static MOVE_ENDS: LazyLock<RowList<3>> = LazyLock::new(|| {
    RowList::new(LIST_SIZE, [("chain", "bigint"), ("seq", "bigint"), ("hash", "text")], |new| {
        format!("UPDATE log_chain SET seq = new.seq, hash = new.hash FROM {new} WHERE log_chain.chain = new.chain")
    })
});

const INSERT: &str = "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source,
    ip_address, peer_address, user_agent, actor_corp_id, actor_key, reason, detail, chain, seq, hash,
    decided_address, seen_seq, seen_hash, reference)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)";

/// The same for several rows on PostgreSQL.
static INSERT_LIST: LazyLock<RowList<22>> = LazyLock::new(|| {
    RowList::new(LIST_SIZE, COLUMNS, |new| {
        let columns = names(&COLUMNS);
        format!("INSERT INTO login_log ({columns}) SELECT {columns} FROM {new} WHERE id IS NOT NULL")
    })
});

/// The columns of [`INSERT_LIST`].
const COLUMNS: [(&str, &str); 22] = [
    ("id", "text"),
    ("at", "bigint"),
    ("event", "text"),
    ("corp_id", "text"),
    ("employee_key", "text"),
    ("role_id", "bigint"),
    ("login_method", "text"),
    ("login_source", "text"),
    ("ip_address", "text"),
    ("peer_address", "text"),
    ("user_agent", "text"),
    ("actor_corp_id", "text"),
    ("actor_key", "text"),
    ("reason", "text"),
    ("detail", "text"),
    ("chain", "bigint"),
    ("seq", "bigint"),
    ("hash", "text"),
    ("decided_address", "text"),
    ("seen_seq", "bigint"),
    ("seen_hash", "text"),
    ("reference", "text"),
];

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
        args![*chain, seq, hash]
    });
    let mut statements = each_or_in_lists(tx, MOVE_END, &MOVE_ENDS, moved.collect());
    let inserted = rows.iter().map(|(entry, texts, place)| values(entry, texts, place));
    statements.extend(each_or_in_lists(tx, INSERT, &INSERT_LIST, inserted.collect()));
    tx.execute_all(&statements).map(drop)
}

/// The statements for these rows: on PostgreSQL, one for each list of them.
fn each_or_in_lists<'v, const WIDTH: usize>(
    tx: &Tx<'_>,
    one: &'static str,
    several: &'static RowList<WIDTH>,
    rows: Vec<[SqlValue<'v>; WIDTH]>,
) -> Vec<(&'static str, Vec<SqlValue<'v>>)> {
    match **tx {
        Sql::Postgres(_) if rows.len() > 1 => {
            several.values(rows).into_iter().map(|values| (&*several.text, values)).collect()
        }
        Sql::Sqlite(_) | Sql::Postgres(_) => rows.into_iter().map(|values| (one, values.to_vec())).collect(),
    }
}

/// Locks chains until the transaction ends, and reads where all of them end.
fn lock_and_read(tx: &Tx<'_>, chains: &[i64]) -> Result<Vec<StoredEnd>> {
    let is_missing = |ends: &[StoredEnd], chain: i64| ends.iter().all(|end| end.chain != chain);
    lock(tx, chains)?;
    let ends = read_ends(tx)?;
    let missing: Vec<_> = chains.iter().copied().filter(|chain| is_missing(&ends, *chain)).collect();
    if missing.is_empty() {
        return Ok(ends);
    }
    for chain in missing {
        tx.execute(CREATE, &args![chain])?;
    }
    // Another transaction may have created them, and appended to them.
    lock(tx, chains)?;
    let ends = read_ends(tx)?;
    if chains.iter().any(|chain| is_missing(&ends, *chain)) {
        return Err(StoreError::damaged("missing end of a log chain"));
    }
    Ok(ends)
}

/// Locks chains, in this order. SQLite has one writing transaction.
fn lock(tx: &Tx<'_>, chains: &[i64]) -> Result<()> {
    let Sql::Postgres(_) = **tx else { return Ok(()) };
    let locks: Vec<_> = chains.iter().map(|chain| (LOCK, args![*chain].to_vec())).collect();
    tx.execute_all(&locks).map(drop)
}

fn read_ends(tx: &Tx<'_>) -> Result<Vec<StoredEnd>> {
    let read = |row: &Row<'_>| {
        Ok(StoredEnd { chain: row.int(0)?, seq: row.int(1)?, hash: row.text(2)?, key_id: row.text(3)? })
    };
    tx.rows(READ_ENDS, &args![CHAIN_COUNT], read)
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
