//! Copies of the only entry of a table, one for each thread.
//!
//! Every request reads the access rules. Copies that share nothing let threads read them without waiting for each other. All copies are made of
//! the one entry of the cache, and a change makes them unusable at one moment, before that entry is removed: so a copy is never older
//! than an entry that another request has found.
//!
//! There are places for eight copies, which take 1 KiB: 128 bytes each, so that no two share a cache line. To use a copy,
//! a thread loads a number to which only changes write, and writes to nothing but its place and its copy.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use deskpass_core::Striped;

pub(crate) struct ThreadCopies<T> {
    /// The number of beginnings and ends of changes: odd during a change.
    steps: AtomicU64,
    copies: Striped<RwLock<Option<ThreadCopy<T>>>>,
    /// One change at a time.
    changing: Mutex<()>,
}

struct ThreadCopy<T> {
    steps: u64,
    value: Arc<T>,
}

impl<T: Clone> ThreadCopies<T> {
    pub(crate) fn new() -> Self {
        Self { steps: AtomicU64::new(0), copies: Striped::new(|| RwLock::new(None)), changing: Mutex::default() }
    }

    /// To be read before the entry of the cache, for [`ThreadCopies::keep`].
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Acquire)
    }

    /// The copy of this thread, if there has been no change since it was made.
    pub(crate) fn get(&self) -> Option<Arc<T>> {
        let steps = self.steps();
        let copy = self.copies.own().read().unwrap_or_else(PoisonError::into_inner);
        copy.as_ref().filter(|copy| copy.steps == steps).map(|copy| Arc::clone(&copy.value))
    }

    /// Makes a copy of the entry for this thread, and returns it; `steps` was read before the entry. During a change there is none.
    pub(crate) fn keep(&self, steps: u64, entry: Arc<T>) -> Arc<T> {
        if !steps.is_multiple_of(2) {
            return entry;
        }
        let value = Arc::new(T::clone(&entry));
        let mut copy = self.copies.own().write().unwrap_or_else(PoisonError::into_inner);
        *copy = Some(ThreadCopy { steps, value: Arc::clone(&value) });
        value
    }

    /// Makes all copies unusable, and then removes the entry of the cache.
    pub(crate) fn change(&self, remove_entry: impl FnOnce()) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.steps.fetch_add(1, Ordering::AcqRel);
        remove_entry();
        self.steps.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn the_places_of_the_copies_take_a_kibibyte() {
        assert_eq!(size_of::<Striped<RwLock<Option<ThreadCopy<u64>>>>>(), 1_024);
    }

    /// A number that is stored, cached and copied as the access rules are.
    struct CachedNumber {
        committed: AtomicU64,
        entry: Mutex<Option<Arc<u64>>>,
        copies: ThreadCopies<u64>,
        /// The largest number that a read has returned, or whose change has returned. No later read may return less.
        known: AtomicU64,
    }

    impl CachedNumber {
        fn new() -> Self {
            let (committed, known) = (AtomicU64::new(0), AtomicU64::new(0));
            Self { committed, entry: Mutex::default(), copies: ThreadCopies::new(), known }
        }

        fn read(&self) -> Arc<u64> {
            self.copies.get().unwrap_or_else(|| {
                let steps = self.copies.steps();
                let mut entry = self.entry.lock().unwrap_or_else(PoisonError::into_inner);
                let found = Arc::clone(entry.get_or_insert_with(|| Arc::new(self.committed.load(Ordering::Acquire))));
                drop(entry);
                self.copies.keep(steps, found)
            })
        }

        fn read_and_compare(&self) {
            let known = self.known.load(Ordering::Acquire);
            let found = *self.read();
            assert!(found >= known, "{found} was read after {known}");
            self.known.fetch_max(found, Ordering::AcqRel);
        }

        fn change(&self) {
            let number = self.committed.fetch_add(1, Ordering::AcqRel) + 1;
            self.copies.change(|| *self.entry.lock().unwrap_or_else(PoisonError::into_inner) = None);
            self.known.fetch_max(number, Ordering::AcqRel);
        }
    }

    #[test]
    fn no_thread_reads_a_copy_that_is_older_than_what_was_read_or_changed_before() {
        const THREADS: usize = 4;
        let (number, start) = (CachedNumber::new(), Barrier::new(THREADS));
        let take_turns = || {
            start.wait();
            for turn in 0..4_000 {
                if turn % 8 == 0 { number.change() } else { number.read_and_compare() }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(take_turns);
            }
        });
        assert_eq!(*number.read(), 2_000, "all changes");
    }

    #[test]
    fn a_copy_is_used_until_a_change_begins_and_none_is_made_until_it_ends() {
        let copies = ThreadCopies::new();
        let entry = Arc::new(5);
        assert!(copies.get().is_none());
        let before = copies.steps();
        let copy = copies.keep(before, Arc::clone(&entry));
        assert!(!Arc::ptr_eq(&copy, &entry));
        assert!(copies.get().is_some_and(|found| Arc::ptr_eq(&found, &copy)));
        copies.change(|| {
            assert!(copies.get().is_none());
            assert!(Arc::ptr_eq(&copies.keep(copies.steps(), Arc::clone(&entry)), &entry));
        });
        assert!(copies.get().is_none());
        // The entry was read before the change.
        copies.keep(before, entry);
        assert!(copies.get().is_none());
    }
}
