//! A part of a table, with a lock of its own.

use std::collections::HashMap;
use std::hash::RandomState;
use std::mem;
use std::sync::atomic::Ordering;

use hashbrown::HashTable;
use tokio::sync::oneshot;

use super::entry::{Entry, hash_of};
use super::slab::Slab;

/// The most uses that count: for so many rounds of the hand, an entry that was used often stays.
const MAX_USES: u8 = 3;

/// How many entries that are needed elsewhere are passed over for one that is not.
const MAX_SPARED: usize = 32;

pub(super) struct Shard<E: Entry> {
    /// The places of the entries, by the hashes of their keys.
    index: HashTable<u16>,
    slab: Slab<E>,
    /// Where the search for an entry to evict continues (CLOCK). A new entry takes the place that the hand has just
    /// left.
    hand: usize,
    limit: usize,
    fills: HashMap<E::Key, Fill>,
    last_fill: u64,
}

/// A request that reads the value of a key. Dropping it wakes those that wait for it.
pub(super) struct Fill {
    number: u64,
    waiting: Vec<oneshot::Sender<()>>,
}

impl<E: Entry> Shard<E> {
    /// A shard for at most `limit` entries.
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, usize::from(u16::MAX));
        Self { index: HashTable::new(), slab: Slab::new(), hand: 0, limit, fills: HashMap::new(), last_fill: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    /// Finds an entry, and notes that it was used.
    pub(super) fn get(&self, hash: u64, key: &E::Key) -> Option<&E> {
        let at = self.find(hash, key)?;
        let uses = self.slab.uses(at)?;
        let count = uses.load(Ordering::Relaxed);
        if count < MAX_USES {
            uses.store(count + 1, Ordering::Relaxed);
        }
        self.slab.get(at)
    }

    /// Finds an entry to change it.
    pub(super) fn get_mut(&mut self, hash: u64, key: &E::Key) -> Option<&mut E> {
        let at = self.find(hash, key)?;
        self.slab.get_mut(at)
    }

    /// Adds an entry; returns the one that it replaced or evicted, and the fill of its key, which is discarded.
    pub(super) fn insert(&mut self, hash: u64, entry: E, state: &RandomState) -> (Option<E>, Option<Fill>) {
        let fill = self.fills.remove(entry.key());
        if let Some(at) = self.find(hash, entry.key()) {
            return (self.replace(at, entry), fill);
        }
        if self.slab.len() < self.limit {
            entry.entered();
            let at = self.slab.push(entry);
            self.add_to_index(hash, at, state);
            return (None, fill);
        }
        let at = self.evictable_place();
        self.remove_from_index(at, state);
        let evicted = self.replace(at, entry);
        self.add_to_index(hash, at, state);
        (evicted, fill)
    }

    /// Removes an entry, and the fill of its key: its value may have been read before the change that removes the
    /// entry.
    pub(super) fn remove(&mut self, hash: u64, key: &E::Key, state: &RandomState) -> (Option<E>, Option<Fill>) {
        let fill = self.fills.remove(key);
        let Some(at) = self.find(hash, key) else { return (None, fill) };
        self.remove_from_index(at, state);
        // The last entry takes the place.
        let last = self.slab.len() - 1;
        if let Some(hash_of_last) = self.hash_at(last, state).filter(|_| at != last)
            && let Some(place) = self.index.find_mut(hash_of_last, |place| usize::from(*place) == last)
        {
            *place = index_of(at);
        }
        let removed = self.slab.swap_remove(at);
        if let Some(entry) = &removed {
            entry.left();
        }
        (removed, fill)
    }

    /// Removes everything; returns it.
    pub(super) fn clear(&mut self) -> (Slab<E>, HashMap<E::Key, Fill>) {
        self.slab.iter().for_each(E::left);
        self.index = HashTable::new();
        self.hand = 0;
        (mem::replace(&mut self.slab, Slab::new()), mem::take(&mut self.fills))
    }

    /// Begins a fill; returns its number. If there is one already, returns what ends with it.
    pub(super) fn begin_fill(&mut self, key: &E::Key) -> Result<u64, oneshot::Receiver<()>> {
        if let Some(fill) = self.fills.get_mut(key) {
            let (end, ended) = oneshot::channel();
            fill.waiting.push(end);
            return Err(ended);
        }
        self.last_fill += 1;
        self.fills.insert(key.clone(), Fill { number: self.last_fill, waiting: Vec::new() });
        Ok(self.last_fill)
    }

    /// Ends a fill; `None` if it was discarded before.
    pub(super) fn end_fill(&mut self, key: &E::Key, number: u64) -> Option<Fill> {
        if self.fills.get(key)?.number == number { self.fills.remove(key) } else { None }
    }

    fn find(&self, hash: u64, key: &E::Key) -> Option<usize> {
        let is_wanted = |place: &u16| self.slab.get(usize::from(*place)).is_some_and(|entry| entry.key() == key);
        self.index.find(hash, is_wanted).map(|place| usize::from(*place))
    }

    /// Puts an entry in the place of another; returns the other.
    fn replace(&mut self, at: usize, entry: E) -> Option<E> {
        if let Some(replaced) = self.slab.get(at) {
            replaced.left();
        }
        entry.entered();
        self.slab.replace(at, entry)
    }

    /// The place of the next entry that was not used lately. On its way the hand takes one use from each entry.
    fn evictable_place(&mut self) -> usize {
        let mut spared = 0;
        loop {
            let at = if self.hand < self.slab.len() { self.hand } else { 0 };
            self.hand = at + 1;
            let uses = self.slab.uses(at).filter(|uses| uses.load(Ordering::Relaxed) > 0);
            if let Some(uses) = uses {
                uses.fetch_sub(1, Ordering::Relaxed);
            } else if spared < MAX_SPARED && self.slab.get(at).is_some_and(E::is_needed) {
                spared += 1;
            } else {
                return at;
            }
        }
    }

    fn hash_at(&self, at: usize, state: &RandomState) -> Option<u64> {
        self.slab.get(at).map(|entry| hash_of(entry, state))
    }

    fn add_to_index(&mut self, hash: u64, at: usize, state: &RandomState) {
        let Self { index, slab, .. } = self;
        let hash_at = |place: &u16| slab.get(usize::from(*place)).map_or(0, |entry| hash_of(entry, state));
        index.insert_unique(hash, index_of(at), hash_at);
    }

    fn remove_from_index(&mut self, at: usize, state: &RandomState) {
        let Some(hash) = self.hash_at(at, state) else { return };
        if let Ok(found) = self.index.find_entry(hash, |place| usize::from(*place) == at) {
            found.remove();
        }
    }
}

/// A place in the index. There are fewer of them than fit.
fn index_of(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}
