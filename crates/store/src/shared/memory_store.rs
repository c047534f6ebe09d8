//! An ephemeral store in this process: for a single node, lost on restart.
//!
//! A record takes its own size on the heap, 40 bytes in the table that finds it, and 40 in the queue by age, where it
//! stays until its turn even if it was removed. The table for 50 000 sign-ins has 65 536 places: 3 MB, which it keeps
//! after a flood; with the records inside, it took 42. An insertion checks at most sixteen records for eviction.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskpass_core::{Digest, Timestamp};
use tokio::sync::Notify;

use super::expiring::{Expiring, RecordWatch};

/// A bounded store of records under one lock.
pub(super) struct MemoryStore<T> {
    capacity: usize,
    records: Mutex<Records<T>>,
}

struct Records<T> {
    /// The records are on the heap: a table never shrinks, and one that had to hold a flood would keep the memory of as
    /// many records.
    by_digest: HashMap<Digest, Box<Record<T>>>,
    /// Oldest first, with the expiry that each record had at first. It may still contain records that were removed.
    by_age: VecDeque<(Digest, Timestamp)>,
}

struct Record<T> {
    value: T,
    /// The watchers of this record; usually none.
    watchers: Option<Arc<Notify>>,
}

impl<T> MemoryStore<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity, records: Mutex::new(Records { by_digest: HashMap::new(), by_age: VecDeque::new() }) }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().by_digest.len()
    }

    fn lock(&self) -> MutexGuard<'_, Records<T>> {
        // A panic in a step leaves the record unchanged, so the data behind a poisoned lock is consistent.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Expiring> MemoryStore<T> {
    pub(super) fn put(&self, digest: Digest, value: T, now: Timestamp) -> bool {
        let mut records = self.lock();
        if records.live(&digest, now).is_some() {
            return false;
        }
        records.evict(self.capacity, now);
        records.by_age.push_back((digest, value.until()));
        records.by_digest.insert(digest, Box::new(Record { value, watchers: None }));
        true
    }

    pub(super) fn read_with<R>(&self, digest: &Digest, now: Timestamp, read: impl FnOnce(&T) -> R) -> Option<R> {
        self.lock().live(digest, now).map(|record| read(&record.value))
    }

    pub(super) fn take(&self, digest: &Digest, now: Timestamp) -> Option<T> {
        let mut records = self.lock();
        records.live(digest, now)?;
        let record = records.by_digest.remove(digest)?;
        record.notify();
        Some(record.value)
    }

    pub(super) fn update<E>(
        &self,
        digest: &Digest,
        now: Timestamp,
        step: impl FnOnce(T) -> Result<T, E>,
    ) -> Option<Result<T, E>>
    where
        T: Clone,
    {
        let mut records = self.lock();
        let record = records.live(digest, now)?;
        Some(step(record.value.clone()).inspect(|next| {
            record.value = next.clone();
            record.notify();
        }))
    }

    pub(super) fn watch(&self, digest: &Digest, now: Timestamp) -> Option<RecordWatch> {
        let mut records = self.lock();
        let record = records.live(digest, now)?;
        Some(RecordWatch::local(Arc::clone(record.watchers.get_or_insert_default())))
    }
}

impl<T: Expiring> Records<T> {
    fn live(&mut self, digest: &Digest, now: Timestamp) -> Option<&mut Record<T>> {
        self.by_digest.get_mut(digest).map(Box::as_mut).filter(|record| now < record.value.until())
    }

    /// Removes expired records, and the oldest ones above the capacity. Checks only a few records per call, so that no
    /// caller waits long; each insertion can remove more than one record.
    fn evict(&mut self, capacity: usize, now: Timestamp) {
        for _ in 0..16 {
            let Some((oldest, first_expiry)) = self.by_age.front().copied() else { return };
            let (over, spare) = self
                .by_digest
                .get(&oldest)
                .map_or((true, true), |record| (record.value.until() <= now, record.value.is_evictable()));
            let full = self.by_digest.len() >= capacity;
            // A record whose expiry was extended, such as a collected sign-in, must not hold up the expired ones behind it.
            let outlived = first_expiry <= now;
            if !over && !full && !outlived {
                return;
            }
            self.by_age.pop_front();
            if over || (full && spare) {
                if let Some(record) = self.by_digest.remove(&oldest) {
                    record.notify();
                }
            } else {
                self.by_age.push_back((oldest, first_expiry));
            }
        }
    }
}

impl<T> Record<T> {
    fn notify(&self) {
        if let Some(watchers) = &self.watchers {
            watchers.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct TestRecord(u64, i64, bool);

    impl Expiring for TestRecord {
        fn until(&self) -> Timestamp {
            Timestamp::from_millis(self.1)
        }

        fn is_evictable(&self) -> bool {
            self.2
        }
    }

    fn name(of: u64) -> Digest {
        Digest::of(&[&of.to_be_bytes()])
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_record_lasts_until_its_expiry() {
        let store = MemoryStore::new(10);
        assert!(store.put(name(1), TestRecord(1, 100, true), at(0)));
        assert!(!store.put(name(1), TestRecord(2, 100, true), at(99)));
        assert_eq!(store.read_with(&name(1), at(99), |record| record.0), Some(1));
        assert_eq!(store.read_with(&name(1), at(100), |record| record.0), None);
        assert!(store.put(name(1), TestRecord(3, 200, true), at(100)));
        assert_eq!(store.take(&name(1), at(100)), Some(TestRecord(3, 200, true)));
        assert_eq!(store.take(&name(1), at(100)), None);
    }

    #[test]
    fn a_refused_change_has_no_effect() {
        let store = MemoryStore::new(10);
        store.put(name(1), TestRecord(1, 100, true), at(0));
        assert_eq!(store.update(&name(1), at(0), |_| Err("no")), Some(Err("no")));
        let done = store.update(&name(1), at(0), |record| Ok::<_, ()>(TestRecord(record.0 + 1, 500, true)));
        assert_eq!(done, Some(Ok(TestRecord(2, 500, true))));
        assert_eq!(store.read_with(&name(1), at(400), |record| record.0), Some(2));
        assert_eq!(store.update(&name(2), at(0), Ok::<_, ()>), None);
    }

    #[test]
    fn a_flood_stays_within_the_capacity_and_spares_records_in_use() {
        let store = MemoryStore::new(100);
        store.put(name(1_000_000), TestRecord(7, 1_000, false), at(0));
        for number in 0..10_000 {
            assert!(store.put(name(number), TestRecord(number, 1_000, true), at(0)));
        }
        assert!(store.len() <= 100);
        assert_eq!(store.read_with(&name(1_000_000), at(0), |record| record.0), Some(7));
        assert_eq!(store.read_with(&name(9_999), at(0), |record| record.0), Some(9_999));
        for number in 30_000..30_050 {
            store.put(name(number), TestRecord(number, 2_000, true), at(1_500));
        }
        assert!(store.len() <= 51, "expired records are removed without a lookup: {}", store.len());
    }

    #[test]
    fn a_record_that_was_extended_does_not_hold_up_expired_ones() {
        let store = MemoryStore::new(100);
        store.put(name(1), TestRecord(1, 100, true), at(0));
        let _ = store.update(&name(1), at(0), |record| Ok::<_, ()>(TestRecord(record.0, 1_000, true)));
        for number in 2..=40 {
            store.put(name(number), TestRecord(number, 100, true), at(0));
        }
        for number in 101..=103 {
            store.put(name(number), TestRecord(number, 300, true), at(150));
        }
        assert_eq!(store.len(), 4, "the extended record and the new ones");
        assert_eq!(store.read_with(&name(1), at(150), |record| record.0), Some(1));
    }

    #[tokio::test]
    async fn a_watcher_is_notified() {
        let store = MemoryStore::new(2);
        assert!(store.watch(&name(1), at(0)).is_none());
        store.put(name(1), TestRecord(1, 100, true), at(0));
        for step in ["change", "take"] {
            let Some(changes) = store.watch(&name(1), at(0)) else { unreachable!("it is there") };
            let next = changes.next();
            match step {
                "change" => drop(store.update(&name(1), at(0), Ok::<_, ()>)),
                _ => drop(store.take(&name(1), at(0))),
            }
            next.await;
        }
    }
}
