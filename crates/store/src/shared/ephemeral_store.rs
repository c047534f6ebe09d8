//! Records that are found by a digest, for a while.

use std::fmt;
use std::sync::Arc;

use deskpass_core::{Digest, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::expiring::{Expiring, RecordWatch};
use super::memory_store::MemoryStore;
use super::redis::{RedisBackend, RedisStore};
use crate::StoreError;

/// Keeps records. A change is made to the whole of a record at once: of two that come at the same time, one is second.
pub struct EphemeralStore<T>(Backend<T>);

/// Where the records are.
enum Backend<T> {
    Memory(MemoryStore<T>),
    Redis(RedisStore<T>),
}

impl<T> EphemeralStore<T> {
    /// A shelf with room for this many records in this process, or in a Redis, where its name tells it from others.
    pub(super) fn new(server: Option<&Arc<RedisBackend>>, name: &'static str, capacity: usize) -> Self {
        Self(match server {
            None => Backend::Memory(MemoryStore::new(capacity)),
            Some(server) => Backend::Redis(RedisStore::new(Arc::clone(server), name, capacity)),
        })
    }

    /// How many records this node began, gone ones that nobody has swept included.
    pub fn len(&self) -> usize {
        match &self.0 {
            Backend::Memory(records) => records.len(),
            Backend::Redis(records) => records.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// What goes over the network is boxed, so that whoever asks a shelf in this process does not carry room for it.
impl<T: Expiring + Clone + Serialize + DeserializeOwned> EphemeralStore<T> {
    /// Puts a record there; `false`, and nothing changes, when there is one already.
    ///
    /// # Errors
    /// When the shelf cannot be reached.
    pub async fn put(&self, digest: Digest, value: T, now: Timestamp) -> Result<bool, StoreError> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.put(digest, value, now)),
            Backend::Redis(records) => Box::pin(records.put(&digest, value, now)).await,
        }
    }

    /// Looks at a record.
    ///
    /// # Errors
    /// When the shelf cannot be reached.
    pub async fn read_with<R>(
        &self,
        digest: &Digest,
        now: Timestamp,
        read: impl FnOnce(&T) -> R,
    ) -> Result<Option<R>, StoreError> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.read_with(digest, now, read)),
            Backend::Redis(records) => Box::pin(records.read_with(digest, now, read)).await,
        }
    }

    /// Takes a record away: of several who try, one gets it.
    ///
    /// # Errors
    /// When the shelf cannot be reached. The record may be gone then.
    pub async fn take(&self, digest: &Digest, now: Timestamp) -> Result<Option<T>, StoreError> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.take(digest, now)),
            Backend::Redis(records) => Box::pin(records.take(digest, now)).await,
        }
    }

    /// Changes a record by a function from what was to what is; `None` when there is no record, and the function's error
    /// when it does not fit. The function may be asked several times, when others change the record meanwhile.
    ///
    /// # Errors
    /// When the shelf cannot be reached. The record may have been changed then.
    pub async fn update<E>(
        &self,
        digest: &Digest,
        now: Timestamp,
        step: impl Fn(T) -> Result<T, E>,
    ) -> Result<Option<Result<T, E>>, StoreError> {
        match &self.0 {
            Backend::Memory(records) => Ok(records.update(digest, now, step)),
            Backend::Redis(records) => Box::pin(records.update(digest, now, step)).await,
        }
    }

    /// Tells of changes to a record that is there.
    ///
    /// # Errors
    /// When the shelf cannot be reached.
    pub async fn watch(&self, digest: &Digest, now: Timestamp) -> Result<Option<RecordWatch>, StoreError> {
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
