//! What a table holds, and its keys.

use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::Arc;

use deskpass_core::{Digest, EmployeeKey};

/// A key of a table.
pub(crate) trait TableKey: Clone + Eq + Hash {
    /// The hash of the key. Nobody who knows the keys must be able to choose many with the same.
    fn hash_with(&self, state: &RandomState) -> u64 {
        state.hash_one(self)
    }
}

impl TableKey for EmployeeKey {}

/// The only key of its table.
impl TableKey for () {
    fn hash_with(&self, _: &RandomState) -> u64 {
        0
    }
}

/// A digest is random, and so is each part of it.
impl TableKey for Digest {
    fn hash_with(&self, _: &RandomState) -> u64 {
        self.bytes().first_chunk().map_or(0, |part| u64::from_le_bytes(*part))
    }
}

/// What a table holds.
pub(crate) trait Entry {
    type Key: TableKey;
    /// What a lookup returns.
    type Value;

    fn key(&self) -> &Self::Key;

    fn value(&self) -> Self::Value;

    /// Called when the entry is put into a table, under the lock of its shard.
    fn entered(&self) {}

    /// Called when the entry is removed, replaced or evicted, under the same lock.
    fn left(&self) {}

    /// Whether something else depends on the entry, so that another one is rather evicted.
    fn is_needed(&self) -> bool {
        false
    }
}

/// The hash of an entry's key.
pub(super) fn hash_of<E: Entry>(entry: &E, state: &RandomState) -> u64 {
    TableKey::hash_with(entry.key(), state)
}

/// A shared value with its key.
pub(crate) struct Keyed<K, V> {
    key: K,
    value: Arc<V>,
}

impl<K, V> Keyed<K, V> {
    pub(crate) const fn new(key: K, value: Arc<V>) -> Self {
        Self { key, value }
    }
}

impl<K: TableKey, V> Entry for Keyed<K, V> {
    type Key = K;
    type Value = Arc<V>;

    fn key(&self) -> &K {
        &self.key
    }

    fn value(&self) -> Arc<V> {
        Arc::clone(&self.value)
    }
}
