//! Tasks on this node that wait for a change that another node may make.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

/// The watched records, by name.
#[derive(Debug, Default)]
pub(super) struct Watchers(Mutex<HashMap<String, Weak<WatchedRecord>>>);

/// A record that at least one task watches.
#[derive(Debug)]
pub(crate) struct WatchedRecord {
    pub(crate) changed: Arc<Notify>,
    name: String,
    among: Arc<Watchers>,
}

impl Watchers {
    pub(super) fn watch(self: &Arc<Self>, name: &str) -> Arc<WatchedRecord> {
        let mut records = self.lock();
        if let Some(watched) = records.get(name).and_then(Weak::upgrade) {
            return watched;
        }
        let watched =
            Arc::new(WatchedRecord { changed: Arc::default(), name: name.to_owned(), among: Arc::clone(self) });
        records.insert(name.to_owned(), Arc::downgrade(&watched));
        watched
    }

    pub(super) fn notify(&self, name: &str) {
        let watched = self.lock().get(name).and_then(Weak::upgrade);
        if let Some(watched) = watched {
            watched.changed.notify_waiters();
        }
    }

    /// Notifies all watchers after a change may have been missed.
    pub(super) fn notify_all(&self) {
        let all: Vec<_> = self.lock().values().filter_map(Weak::upgrade).collect();
        for watched in all {
            watched.changed.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Weak<WatchedRecord>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WatchedRecord {
    fn drop(&mut self) {
        let mut records = self.among.lock();
        // Another task may have started to watch the record meanwhile.
        if records.get(&self.name).is_some_and(|watched| watched.strong_count() == 0) {
            records.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_watcher_leaves_nothing_behind() {
        let watchers = Arc::<Watchers>::default();
        let (first, second) = (watchers.watch("a"), watchers.watch("a"));
        drop(first);
        assert_eq!(watchers.lock().len(), 1);
        drop(second);
        assert!(watchers.lock().is_empty());
    }
}
