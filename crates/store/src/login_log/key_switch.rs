//! Replaces the key of the log. One transaction: until it commits, every node writes with the old key, and then with the new one.

use deskpass_core::Timestamp;

use super::chain::{ChainKey, LogKey};
use super::chain_walk::PruneMark;
use super::key_evidence::proven_by_rows;
use super::keys::{ChainKeys, missing_key};
use super::marker::{self, MarkerState};
use super::retired_key::{self, RetiredKey, RetiredSecret};
use crate::database::{Row, Sql, Tx, in_snapshot, read_directly, require_known_version};
use crate::locks::lock_administration;
use crate::{DirectReadError, Location, LogEntry, Mode, Result, Store, StoreError};

/// The result of replacing the key of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySwitch {
    /// The log continues with the first key.
    Switched,
    /// The first key is the key of the log already.
    Already,
    /// The first key was replaced before, and nothing was changed.
    Replaced,
}

/// The result of forgetting a key that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForgetting {
    /// Nothing that was made with the key is valid any more, except for the log.
    Forgotten,
    /// It was forgotten before.
    Already,
    /// No such key was replaced, and nothing was changed.
    NotReplaced,
    /// The key is in the settings, and nothing was changed.
    Configured,
}

/// What the database says about the keys.
#[derive(Clone, Debug)]
pub struct KeyState {
    /// The name of the key that the log is written with.
    pub current: String,
    /// The names of the keys in the settings, in their order.
    pub configured: Vec<String>,
    /// The keys that were replaced, oldest first, and when.
    pub retired: Vec<(String, Timestamp)>,
    /// The names of those that were forgotten.
    pub forgotten: Vec<String>,
}

impl KeyState {
    /// Whether the first key of the settings was replaced by another one before.
    #[must_use]
    pub fn lists_old_key_first(&self) -> bool {
        self.configured.first().is_some_and(|first| self.retired.iter().any(|(id, _)| id == first))
    }

    /// Whether the log is still written with another key than the first.
    #[must_use]
    pub fn needs_rotation(&self) -> bool {
        self.configured.first() != Some(&self.current) && !self.lists_old_key_first()
    }
}

/// The end of a chain, locked until the transaction ends.
struct LockedChain {
    chain: i64,
    seq: i64,
    hash: String,
    pruned: PruneMark,
    key_id: String,
}

impl Store {
    /// Continues the log with the first key of `entry`, whose row records that; the data so far stays valid.
    pub async fn switch_key(&self, entry: LogEntry) -> Result<KeySwitch> {
        self.database.write(move |tx| switch(tx, &entry)).await
    }

    /// Forgets a key that was replaced, except for what the log needs to verify its rows; a row records that.
    pub async fn forget_key(&self, id: String, entry: LogEntry) -> Result<KeyForgetting> {
        self.database.write(move |tx| forget(tx, &id, &entry)).await
    }

    /// Which keys the data uses.
    pub async fn key_state(&self, keys: ChainKeys) -> Result<KeyState> {
        self.database.read(move |sql| in_snapshot(sql, |sql| key_state(sql, &keys))).await
    }

    /// Whether one of these keys was replaced: the data is encrypted with a newer one.
    pub async fn is_retired_key(&self, keys: ChainKeys) -> Result<bool> {
        self.database.read(move |sql| retired_key::is_retired(sql, keys.iter().map(ChainKey::log))).await
    }

    /// Checks that these keys contain the one that the log is written with: otherwise nothing that is logged can be done.
    pub async fn require_log_key(&self, keys: ChainKeys) -> Result<()> {
        let text = "SELECT key_id FROM log_chain WHERE key_id <> '' ORDER BY chain LIMIT 1";
        self.database
            .read(move |sql| {
                let key_id = sql.first(text, &[], |row| row.text(0))?;
                key_id.map_or(Ok(()), |id| keys.appending(sql, &id).map(drop))
            })
            .await
    }
}

/// Which keys the data uses, read next to the running service.
///
/// # Errors
/// When the data cannot be read.
pub async fn read_key_state(location: &Location, mode: Mode, keys: ChainKeys) -> Result<KeyState, DirectReadError> {
    read_directly(location, mode, move |sql| in_snapshot(sql, |sql| key_state(sql, &keys))).await
}

fn key_state(sql: &Sql<'_>, keys: &ChainKeys) -> Result<KeyState> {
    let current = keys.current(sql)?;
    let records = retired_key::read(sql, current)?;
    let is_forgotten = |record: &RetiredKey| matches!(record.secret, RetiredSecret::LogOnly(_));
    let forgotten = records.iter().filter(|(_, record)| is_forgotten(record)).map(|(id, _)| id.clone()).collect();
    let retired = records.into_iter().map(|(id, record)| (id, Timestamp::from_millis(record.at))).collect();
    let configured = keys.iter().map(|key| key.id.clone()).collect();
    Ok(KeyState { current: current.id.clone(), configured, retired, forgotten })
}

fn switch(tx: &Tx<'_>, entry: &LogEntry) -> Result<KeySwitch> {
    // A later version may keep more with the key than this program would move to the new one.
    require_known_version(tx)?;
    // Two rotations at once would wait for each other's chains.
    lock_administration(tx)?;
    let chains = lock_chains(tx)?;
    let (current, first) = (current_key(tx, &entry.key, &chains)?, entry.key.first());
    if current.id == first.id {
        return Ok(KeySwitch::Already);
    }
    let earlier = retired_key::read(tx, current)?;
    if earlier.iter().any(|(id, _)| *id == first.id) || retired_key::is_retired(tx, [first.log()])? {
        return Ok(KeySwitch::Replaced);
    }
    let number = earlier.iter().map(|(_, record)| record.number).max().unwrap_or(0).saturating_add(1);
    for (id, record) in &earlier {
        retired_key::write(tx, first, id, record)?;
    }
    let marker = renew_marker(tx, current, first)?;
    let ends = chains.iter().map(|end| (end.chain, end.seq, end.hash.clone())).collect();
    let secret = RetiredSecret::Whole(current.bytes);
    let record = RetiredKey { number, at: entry.at.millis(), secret, ends, marker };
    retired_key::write(tx, first, &current.id, &record)?;
    for end in &chains {
        renew_prune_mark(tx, end, current, first)?;
    }
    tx.execute("UPDATE log_chain SET key_id = $1", &args![&*first.id])?;
    tx.execute("UPDATE desk SET key_check = $1", &args![&*first.new_check()?])?;
    entry.write(tx)?;
    Ok(KeySwitch::Switched)
}

fn forget(tx: &Tx<'_>, id: &str, entry: &LogEntry) -> Result<KeyForgetting> {
    require_known_version(tx)?;
    lock_administration(tx)?;
    if entry.key.has(id) {
        return Ok(KeyForgetting::Configured);
    }
    let current = current_key(tx, &entry.key, &lock_chains(tx)?)?;
    let Some((_, record)) = retired_key::read(tx, current)?.into_iter().find(|(known, _)| known == id) else {
        return Ok(KeyForgetting::NotReplaced);
    };
    let RetiredSecret::Whole(key) = record.secret else { return Ok(KeyForgetting::Already) };
    let secret = RetiredSecret::LogOnly(LogKey::secret(&key));
    retired_key::write(tx, current, id, &RetiredKey { secret, ..record })?;
    entry.write(tx)?;
    Ok(KeyForgetting::Forgotten)
}

/// The key that the log is written with. Unlike reading, a change must not be based on a guess.
fn current_key<'a>(tx: &Tx<'_>, keys: &'a ChainKeys, chains: &[LockedChain]) -> Result<&'a ChainKey> {
    let missing = chains.iter().find(|end| !end.key_id.is_empty() && !keys.has(&end.key_id));
    if let Some(LockedChain { key_id, .. }) = missing {
        return Err(missing_key(key_id));
    }
    if let Some(key) = keys.identified(tx)? {
        return Ok(key);
    }
    match proven_by_rows(tx, keys)? {
        Some(key) => Ok(key),
        None if tx.exists("SELECT 1 FROM login_log LIMIT 1", &[])? => Err(StoreError::unavailable(
            &"nothing in the audit log was made with a key of encryption_key: add the key of the data to the settings",
        )),
        None => Ok(keys.first()),
    }
}

/// Locks the ends of all chains until the transaction ends, so that no node writes meanwhile.
fn lock_chains(tx: &Tx<'_>) -> Result<Vec<LockedChain>> {
    let text = "UPDATE log_chain SET seq = seq RETURNING chain, seq, hash, pruned_seq, pruned_hash, pruned_mac, key_id";
    let read = |row: &Row<'_>| {
        let pruned = PruneMark { seq: row.int(3)?, hash: row.text(4)?, mac: row.text(5)? };
        Ok(LockedChain { chain: row.int(0)?, seq: row.int(1)?, hash: row.text(2)?, pruned, key_id: row.text(6)? })
    };
    tx.rows(text, &[], read)
}

/// Makes the code of the marker with the new key, and returns the former one. A marker that was changed stays as it is.
fn renew_marker(tx: &Tx<'_>, current: &ChainKey, first: &ChainKey) -> Result<Option<String>> {
    let MarkerState::Genuine(marker) = marker::read(tx, current)? else { return Ok(None) };
    tx.execute("UPDATE log_marker SET mac = $1", &args![&*marker.renewed(first).mac])?;
    Ok(Some(marker.mac))
}

/// Makes the code of the pruned rows with the new key. A mark that was changed stays as it is.
fn renew_prune_mark(tx: &Tx<'_>, end: &LockedChain, current: &ChainKey, first: &ChainKey) -> Result<()> {
    let LockedChain { chain, pruned, .. } = end;
    if *pruned == PruneMark::default() || !pruned.is_genuine(current, *chain) {
        return Ok(());
    }
    let mark = PruneMark::marked(first, *chain, pruned.seq, &pruned.hash);
    tx.execute("UPDATE log_chain SET pruned_mac = $2 WHERE chain = $1", &args![*chain, &*mark.mac]).map(drop)
}
