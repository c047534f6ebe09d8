//! Records that are good for a while, and how their changes are heard of.

use std::sync::Arc;

use deskpass_core::Timestamp;
use tokio::sync::Notify;

use super::redis::WatchedRecord;

/// A record that is good for a while.
pub trait Expiring {
    /// When it is no longer good.
    fn until(&self) -> Timestamp;

    /// Whether it may make room for newer ones before that.
    fn is_evictable(&self) -> bool {
        true
    }
}

/// Tells of changes to a record.
#[derive(Debug)]
pub struct RecordWatch {
    changed: Arc<Notify>,
    /// Where a change on another node is heard of.
    watched: Option<Arc<WatchedRecord>>,
}

impl RecordWatch {
    pub(super) fn local(changed: Arc<Notify>) -> Self {
        Self { changed, watched: None }
    }

    pub(super) fn shared(watched: Arc<WatchedRecord>) -> Self {
        Self { changed: Arc::clone(&watched.changed), watched: Some(watched) }
    }

    /// Completes at the next change after this call.
    pub fn next(&self) -> impl Future<Output = ()> + Send + use<> {
        let (changed, watched) = (Arc::clone(&self.changed).notified_owned(), self.watched.clone());
        async move {
            changed.await;
            drop(watched);
        }
    }
}
