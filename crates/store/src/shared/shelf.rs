//! Records that are found by a digest, for a while.

use std::fmt;
use std::sync::Arc;

use deskpass_core::{Digest, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use super::in_process::InProcess;
use super::redis::{InRedis, Server, Watched};
use crate::StoreError;

/// A record that is good for a while.
pub trait Perishable {
    /// When it is no longer good.
    fn until(&self) -> Timestamp;

    /// Whether it may make room for newer ones before that.
    fn is_dispensable(&self) -> bool {
        true
    }
}

/// Keeps records. A change is made to the whole of a record at once: of two that come at the same time, one is second.
pub struct Shelf<T>(Place<T>);

/// Where the records are.
enum Place<T> {
    InProcess(InProcess<T>),
    InRedis(InRedis<T>),
}

/// Tells of changes to a record.
#[derive(Debug)]
pub struct Changes {
    told: Arc<Notify>,
    /// Where a change on another node is heard of.
    watched: Option<Arc<Watched>>,
}

impl Changes {
    pub(super) fn of(told: Arc<Notify>) -> Self {
        Self { told, watched: None }
    }

    pub(super) fn anywhere(watched: Arc<Watched>) -> Self {
        Self { told: Arc::clone(&watched.told), watched: Some(watched) }
    }

    /// Completes at the next change after this call.
    pub fn next(&self) -> impl Future<Output = ()> + Send + use<> {
        let (told, watched) = (Arc::clone(&self.told).notified_owned(), self.watched.clone());
        async move {
            told.await;
            drop(watched);
        }
    }
}

impl<T> Shelf<T> {
    /// A shelf with room for this many records in this process, or in a Redis, where its name tells it from others.
    pub(super) fn new(server: Option<&Arc<Server>>, name: &'static str, room: usize) -> Self {
        Self(match server {
            None => Place::InProcess(InProcess::new(room)),
            Some(server) => Place::InRedis(InRedis::new(Arc::clone(server), name, room)),
        })
    }

    /// How many records this node began, gone ones that nobody has swept included.
    pub fn len(&self) -> usize {
        match &self.0 {
            Place::InProcess(records) => records.len(),
            Place::InRedis(records) => records.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// What goes over the network is boxed, so that whoever asks a shelf in this process does not carry room for it.
impl<T: Perishable + Clone + Serialize + DeserializeOwned> Shelf<T> {
    /// Puts a record there; `false`, and nothing changes, when there is one already.
    ///
    /// # Errors
    /// When the shelf cannot be reached.
    pub async fn put(&self, digest: Digest, value: T, now: Timestamp) -> Result<bool, StoreError> {
        match &self.0 {
            Place::InProcess(records) => Ok(records.put(digest, value, now)),
            Place::InRedis(records) => Box::pin(records.put(&digest, value, now)).await,
        }
    }

    /// Looks at a record.
    ///
    /// # Errors
    /// When the shelf cannot be reached.
    pub async fn look<R>(
        &self,
        digest: &Digest,
        now: Timestamp,
        look: impl FnOnce(&T) -> R,
    ) -> Result<Option<R>, StoreError> {
        match &self.0 {
            Place::InProcess(records) => Ok(records.look(digest, now, look)),
            Place::InRedis(records) => Box::pin(records.look(digest, now, look)).await,
        }
    }

    /// Takes a record away: of several who try, one gets it.
    ///
    /// # Errors
    /// When the shelf cannot be reached. The record may be gone then.
    pub async fn take(&self, digest: &Digest, now: Timestamp) -> Result<Option<T>, StoreError> {
        match &self.0 {
            Place::InProcess(records) => Ok(records.take(digest, now)),
            Place::InRedis(records) => Box::pin(records.take(digest, now)).await,
        }
    }

    /// Changes a record by a function from what was to what is; `None` when there is no record, and the function's error
    /// when it does not fit. The function may be asked several times, when others change the record meanwhile.
    ///
    /// # Errors
    /// When the shelf cannot be reached. The record may have been changed then.
    pub async fn change<E>(
        &self,
        digest: &Digest,
        now: Timestamp,
        step: impl Fn(T) -> Result<T, E>,
    ) -> Result<Option<Result<T, E>>, StoreError> {
        match &self.0 {
            Place::InProcess(records) => Ok(records.change(digest, now, step)),
            Place::InRedis(records) => Box::pin(records.change(digest, now, step)).await,
        }
    }

    /// Tells of changes to a record that is there.
    ///
    /// # Errors
    /// When the shelf cannot be reached.
    pub async fn watch(&self, digest: &Digest, now: Timestamp) -> Result<Option<Changes>, StoreError> {
        match &self.0 {
            Place::InProcess(records) => Ok(records.watch(digest, now)),
            Place::InRedis(records) => Box::pin(records.watch(digest, now)).await,
        }
    }
}

impl<T> fmt::Debug for Shelf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Place::InProcess(_) => "Shelf(in process)",
            Place::InRedis(_) => "Shelf(in Redis)",
        })
    }
}
