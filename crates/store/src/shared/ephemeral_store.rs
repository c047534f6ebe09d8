//! Records that are looked up by digest and expire.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use deskpass_core::{Digest, Rate, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::capacity::Capacity;
use super::expiring::{Expiring, RecordWatch};
use super::memory_store::MemoryStore;
use super::redis::{RedisBackend, RedisStore};
use crate::Result;

/// A store of expiring records. Each change replaces a whole record atomically, so concurrent changes are serialized.
pub struct EphemeralStore<T>(Backend<T>);

enum Backend<T> {
    Memory(MemoryStore<T>),
    Redis(RedisStore<T>),
}

impl<T> EphemeralStore<T> {
    /// Creates a store with this capacity in this process, or in Redis, where `name` distinguishes it from other stores.
    pub(super) fn new(server: Option<&Arc<RedisBackend>>, name: &'static str, capacity: Capacity) -> Self {
        Self(match server {
            None => Backend::Memory(MemoryStore::new(capacity)),
            Some(server) => Backend::Redis(RedisStore::new(Arc::clone(server), name, capacity)),
        })
    }

    /// Returns the number of records that this node created, including expired ones that are not swept yet.
    pub fn len(&self) -> usize {
        match &self.0 {
            Backend::Memory(records) => records.len(),
            Backend::Redis(records) => records.len(),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// The Redis futures are boxed, so that callers of a store in this process do not reserve memory for them.
impl<T: Expiring + Clone + Serialize + DeserializeOwned> EphemeralStore<T> {
    /// Inserts a record. Returns `false` and changes nothing when there already is one.
    pub async fn put(&self, digest: Digest, value: T, now: Timestamp) -> Result<bool> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.put(digest, value, now)),
            Backend::Redis(records) => Box::pin(records.put(&digest, value, now)).await,
        }
    }

    /// Inserts a record like [`Self::put`], for whoever sent a request from this address, at this rate at most. Its network (an
    /// IPv4 /24 or IPv6 /48) holds a share of the store and loses its own oldest record, so that no other loses one. The share is
    /// as large as the rate requires. A record that may not be evicted is not lost.
    pub async fn put_for(
        &self,
        address: IpAddr,
        rate: Option<Rate>,
        digest: Digest,
        value: T,
        now: Timestamp,
    ) -> Result<bool> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.put_for((address, rate), digest, value, now)),
            Backend::Redis(records) => Box::pin(records.put_for((address, rate), &digest, value, now)).await,
        }
    }

    /// Counts a record for its network until a later time than at first, after its expiry was put
    /// off. A store in this process counts each one as long as it is there.
    pub async fn prolong_for(
        &self,
        address: IpAddr,
        rate: Option<Rate>,
        digest: &Digest,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<()> {
        match &self.0 {
            Backend::Memory(_) => Ok(()),
            Backend::Redis(records) => Box::pin(records.count_for((address, rate), digest, until, now)).await,
        }
    }

    /// Reads a record.
    pub async fn read_with<R>(&self, digest: &Digest, now: Timestamp, read: impl FnOnce(&T) -> R) -> Result<Option<R>> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.read_with(digest, now, read)),
            Backend::Redis(records) => Box::pin(records.read_with(digest, now, read)).await,
        }
    }

    /// Removes a record for one of several concurrent callers. After an error, it may have been removed.
    pub async fn take(&self, digest: &Digest, now: Timestamp) -> Result<Option<T>> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.take(digest, now)),
            Backend::Redis(records) => Box::pin(records.take(digest, now)).await,
        }
    }

    /// Removes a record like [`Self::take`]. If it was put for the network of this address, it no longer counts there. In Redis, one
    /// that was put for another network counts there until it would have expired.
    pub async fn take_for(&self, address: IpAddr, digest: &Digest, now: Timestamp) -> Result<Option<T>> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.take(digest, now)),
            Backend::Redis(records) => Box::pin(records.take_for(address, digest, now)).await,
        }
    }

    /// Updates a record with a function, which may run several times when others change the record. Returns `None` when
    /// there is no record, and the function's error when it rejects. After an error, the record may have been changed.
    pub async fn update<E>(
        &self,
        digest: &Digest,
        now: Timestamp,
        step: impl Fn(T) -> Result<T, E>,
    ) -> Result<Option<Result<T, E>>> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.update(digest, now, step)),
            Backend::Redis(records) => Box::pin(records.update(digest, now, step)).await,
        }
    }

    /// Watches an existing record for changes.
    pub async fn watch(&self, digest: &Digest, now: Timestamp) -> Result<Option<RecordWatch>> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.watch(digest, now)),
            Backend::Redis(records) => Box::pin(records.watch(digest, now)).await,
        }
    }
}

impl<T> fmt::Debug for EphemeralStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Backend::Memory(_) => "EphemeralStore(in process)",
            Backend::Redis(_) => "EphemeralStore(in Redis)",
        })
    }
}
