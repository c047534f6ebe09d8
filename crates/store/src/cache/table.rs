//! A bounded table of cached values: few bytes for each, and few places in memory that a lookup reads.
//!
//! The entries lie in slabs, without pointers between them. An index of three bytes for each finds them, and a byte
//! counts their recent uses, for CLOCK to choose what is evicted. A million entries of 64 bytes take 69 MB, and 72 MB
//! once some are evicted. A lookup reads the index, which mostly stays in the caches of the processor, and one entry.
//!
//! A reader that fills a gap holds a placeholder. Removing the key, or inserting another value, discards the
//! placeholder, and the late value with it.

mod entry;
mod shard;
mod slab;

use std::hash::RandomState;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::oneshot;

use entry::TableKey;
pub(crate) use entry::{Entry, Keyed};
use shard::Shard;

/// The most entries of a shard: as many as the index has room for in 2^14 buckets, of which it fills seven eighths.
/// Evictions leave used buckets behind; the index then doubles once, and cleans itself up from then on.
const MAX_SHARD_ENTRIES: usize = 14_336;

/// A bounded table. What does not fit evicts something that was not used lately.
pub(crate) struct Table<E: Entry> {
    first: RwLock<Shard<E>>,
    others: Box<[RwLock<Shard<E>>]>,
    state: RandomState,
}

/// How a request may read the value of a key.
pub(crate) enum FillStart<'a, E: Entry> {
    /// Another request has cached it a moment ago.
    Found(E::Value),
    /// It is the one to read it.
    First(Placeholder<'a, E>),
    /// Another request reads it, until this ends.
    Other(oneshot::Receiver<()>),
}

impl<E: Entry> Table<E> {
    /// Creates a table for about so many entries: the shards fill a little unevenly.
    pub(crate) fn new(entries: usize) -> Self {
        let shards = entries.div_ceil(MAX_SHARD_ENTRIES).max(1);
        let limit = entries.div_ceil(shards);
        let others = (1..shards).map(|_| RwLock::new(Shard::new(limit))).collect();
        Self { first: RwLock::new(Shard::new(limit)), others, state: RandomState::new() }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.shards().map(|shard| shard.read().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }

    pub(crate) fn get(&self, key: &E::Key) -> Option<E::Value> {
        let hash = self.hash(key);
        self.read(hash).get(hash, key).map(E::value)
    }

    /// Changes an entry, if it is there.
    pub(crate) fn update<T>(&self, key: &E::Key, change: impl FnOnce(&mut E) -> T) -> Option<T> {
        let hash = self.hash(key);
        self.write(hash).get_mut(hash, key).map(change)
    }

    /// Adds or replaces an entry.
    pub(crate) fn insert(&self, entry: E) {
        let hash = self.hash(entry.key());
        // Dropped when the lock is free again, and so are the ones below.
        let replaced = self.write(hash).insert(hash, entry, &self.state);
        drop(replaced);
    }

    /// The value of the entry that has this key already, or else that of `entry`, which is added if `may_enter` returns
    /// true. It is called under the lock under which the key would be removed.
    pub(crate) fn get_or_insert_if(&self, entry: E, may_enter: impl FnOnce() -> bool) -> E::Value {
        let hash = self.hash(entry.key());
        let mut shard = self.write(hash);
        if let Some(found) = shard.get(hash, entry.key()) {
            return found.value();
        }
        let value = entry.value();
        if may_enter() {
            let replaced = shard.insert(hash, entry, &self.state);
            drop(shard);
            drop(replaced);
        }
        value
    }

    /// Removes an entry, and discards the fill of its key.
    pub(crate) fn remove(&self, key: &E::Key) {
        let hash = self.hash(key);
        let removed = self.write(hash).remove(hash, key, &self.state);
        drop(removed);
    }

    /// Removes all entries, and discards all fills.
    pub(crate) fn clear(&self) {
        for shard in self.shards() {
            let removed = shard.write().unwrap_or_else(PoisonError::into_inner).clear();
            drop(removed);
        }
    }

    /// Begins to read the value of a key that was not found.
    pub(crate) fn begin_fill(&self, key: &E::Key) -> FillStart<'_, E> {
        let hash = self.hash(key);
        let mut shard = self.write(hash);
        if let Some(found) = shard.get(hash, key) {
            return FillStart::Found(found.value());
        }
        match shard.begin_fill(key) {
            Ok(number) => FillStart::First(Placeholder { table: self, fill: Some((key.clone(), number)) }),
            Err(ended) => FillStart::Other(ended),
        }
    }

    fn hash(&self, key: &E::Key) -> u64 {
        TableKey::hash_with(key, &self.state)
    }

    fn shards(&self) -> impl Iterator<Item = &RwLock<Shard<E>>> {
        std::iter::once(&self.first).chain(self.others.iter())
    }

    /// The shard of a hash, by bits that the index of a shard does not use.
    fn shard(&self, hash: u64) -> &RwLock<Shard<E>> {
        let count = u64::try_from(self.others.len()).unwrap_or(0) + 1;
        let number = (((hash >> 24) & u64::from(u32::MAX)) * count) >> 32;
        let other = usize::try_from(number).ok().and_then(|number| self.others.get(number.checked_sub(1)?));
        other.unwrap_or(&self.first)
    }

    // An entry is complete before it is inserted, so a poisoned lock is harmless.
    fn read(&self, hash: u64) -> RwLockReadGuard<'_, Shard<E>> {
        self.shard(hash).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, hash: u64) -> RwLockWriteGuard<'_, Shard<E>> {
        self.shard(hash).write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of an entry that is being read. Dropping it lets the next request read it.
pub(crate) struct Placeholder<'a, E: Entry> {
    table: &'a Table<E>,
    fill: Option<(E::Key, u64)>,
}

impl<E: Entry> Placeholder<'_, E> {
    /// Caches the entry; `false` if the key was removed since, or another value inserted.
    pub(crate) fn fill(mut self, entry: E) -> bool {
        let Some((key, number)) = self.fill.take() else { return false };
        let hash = self.table.hash(&key);
        let mut shard = self.table.write(hash);
        let Some(ended) = shard.end_fill(&key, number) else { return false };
        let replaced = shard.insert(hash, entry, &self.table.state);
        drop(shard);
        drop((ended, replaced));
        true
    }
}

impl<E: Entry> Drop for Placeholder<'_, E> {
    fn drop(&mut self) {
        if let Some((key, number)) = self.fill.take() {
            let ended = self.table.write(self.table.hash(&key)).end_fill(&key, number);
            drop(ended);
        }
    }
}

#[cfg(test)]
mod tests;
