//! Records that expire, and notifications of their changes.

use std::sync::Arc;

use deskpass_core::Timestamp;
use tokio::sync::Notify;

use super::redis::WatchedRecord;

/// A record that expires.
pub trait Expiring {
    /// Returns when it expires.
    fn until(&self) -> Timestamp;

    /// Returns whether it may be evicted before that, in favour of newer records.
    fn is_evictable(&self) -> bool {
        true
    }
}

/// Notifies of changes to a record.
#[derive(Debug)]
pub struct RecordWatch {
    changed: Arc<Notify>,
    /// Receives the changes made on other nodes.
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
