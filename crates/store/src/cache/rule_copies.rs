//! Copies of the cached access rules, one for each thread.
//!
//! Every request reads the rules. Copies that share nothing let threads read them without waiting for each other. All copies are made of
//! the one entry of the cache, and a change makes them unusable at one moment, before that entry is removed: so a copy is never older
//! than an entry that another request has found.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use deskpass_core::Striped;

use crate::AccessRules;

pub(crate) struct RuleCopies {
    /// The number of beginnings and ends of changes: odd during a change.
    steps: AtomicU64,
    copies: Striped<RwLock<Option<RuleCopy>>>,
    /// One change at a time.
    changing: Mutex<()>,
}

struct RuleCopy {
    steps: u64,
    rules: Arc<AccessRules>,
}

impl RuleCopies {
    pub(crate) fn new() -> Self {
        Self { steps: AtomicU64::new(0), copies: Striped::new(RwLock::default), changing: Mutex::default() }
    }

    /// To be read before the entry of the cache, for [`RuleCopies::keep`].
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Acquire)
    }

    /// The copy of this thread, if there has been no change since it was made.
    pub(crate) fn get(&self) -> Option<Arc<AccessRules>> {
        let steps = self.steps();
        let copy = self.copies.own().read().unwrap_or_else(PoisonError::into_inner);
        copy.as_ref().filter(|copy| copy.steps == steps).map(|copy| Arc::clone(&copy.rules))
    }

    /// Makes a copy of the entry for this thread, and returns it; `steps` was read before the entry. During a change there is none.
    pub(crate) fn keep(&self, steps: u64, entry: Arc<AccessRules>) -> Arc<AccessRules> {
        if !steps.is_multiple_of(2) {
            return entry;
        }
        let rules = Arc::new(AccessRules::clone(&entry));
        let mut copy = self.copies.own().write().unwrap_or_else(PoisonError::into_inner);
        *copy = Some(RuleCopy { steps, rules: Arc::clone(&rules) });
        rules
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
    use super::*;

    #[test]
    fn a_copy_is_used_until_a_change_begins_and_none_is_made_until_it_ends() {
        let copies = RuleCopies::new();
        let entry = Arc::<AccessRules>::default();
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
