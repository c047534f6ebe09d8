//! Which people have changed since a moment, for a reader who learns whom it reads only from the result.
//!
//! A session is read together with its person, whose key is not known before: no placeholder can be held for it.
//! Instead the changes are numbered, and each is noted with the others of the same bucket. The reader takes the number
//! before it reads. What it has read is cached only if no change in the bucket of the person has a later number.
//!
//! The buckets take 8 KiB, however many people there are; a map would grow with each person who changes. In return, a
//! change to another person has the same bucket in one of 1 024 cases: then what was read is used, but not cached.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use deskpass_core::EmployeeKey;

/// The number of buckets, of eight bytes each. Even with ten changes to others during each read, 99 reads of 100 find
/// their bucket unchanged.
const BUCKETS: u64 = 1_024;

pub(crate) struct PeopleChanges {
    /// The number of the last change.
    last: AtomicU64,
    /// The number of the last change that may concern anybody.
    last_of_all: AtomicU64,
    /// The number of the last change in each bucket.
    buckets: Box<[AtomicU64]>,
    state: RandomState,
}

/// A number of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeNumber(u64);

impl ChangeNumber {
    pub(crate) const fn number(self) -> u64 {
        self.0
    }
}

impl PeopleChanges {
    pub(crate) fn new() -> Self {
        let buckets = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Self { last: AtomicU64::new(0), last_of_all: AtomicU64::new(0), buckets, state: RandomState::new() }
    }

    /// The number of changes so far.
    pub(crate) fn now(&self) -> ChangeNumber {
        ChangeNumber(self.last.load(Ordering::Acquire))
    }

    /// Notes a change to a person, or to everybody, and removes what it concerns from the cache. The number is noted
    /// before the removal: a reader who caches something after the removal has to see it. It advances again after the
    /// removal: what is derived from people who were read during the removal counts as derived before the change.
    pub(crate) fn apply(&self, key: Option<&EmployeeKey>, remove: impl FnOnce()) {
        let number = self.last.fetch_add(1, Ordering::AcqRel) + 1;
        let place = key.map_or(&self.last_of_all, |key| self.bucket(key));
        place.fetch_max(number, Ordering::AcqRel);
        remove();
        self.last.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether a person has not changed since. Called under the lock under which the person would be removed.
    pub(crate) fn is_unchanged(&self, key: &EmployeeKey, since: ChangeNumber) -> bool {
        [&self.last_of_all, self.bucket(key)].iter().all(|last| last.load(Ordering::Acquire) <= since.0)
    }

    fn bucket(&self, key: &EmployeeKey) -> &AtomicU64 {
        let bucket = usize::try_from(self.state.hash_one(key) % BUCKETS).unwrap_or(0);
        self.buckets.get(bucket).unwrap_or(&self.last_of_all)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// The number of people in the test beside a map: two of them share a bucket in four cases of ten.
    const PEOPLE: usize = 32;

    fn person(number: usize) -> EmployeeKey {
        EmployeeKey::from_parts("ww", &number.to_string())
    }

    proptest! {
        /// Beside the exact number of the last change to each person. A change to another person of the same bucket
        /// counts as well, but no change is ever missed. `None` is a change to everybody.
        #[test]
        fn a_person_may_seem_changed_but_never_unchanged(
            steps in prop::collection::vec(prop::option::weighted(0.9, 0..PEOPLE), 1..12),
        ) {
            let (changes, people) = (PeopleChanges::new(), (0..PEOPLE).map(person).collect::<Vec<_>>());
            let mut last_changes = HashMap::<&EmployeeKey, usize>::new();
            // One read begins before each change, and one during the removal, which is after the change.
            let mut reads = Vec::new();
            for (number, changed) in (1_usize..).zip(steps) {
                let changed = changed.and_then(|changed| people.get(changed));
                reads.push((changes.now(), number - 1));
                changes.apply(changed, || reads.push((changes.now(), number)));
                let affected = people.iter().filter(|one| changed.is_none_or(|changed| changed == *one));
                last_changes.extend(affected.map(|one| (one, number)));
            }
            for one in &people {
                let bucket = changes.bucket(one);
                let in_bucket = last_changes.iter().filter(|(other, _)| std::ptr::eq(changes.bucket(other), bucket));
                let last_in_bucket = in_bucket.map(|(_, number)| *number).max().unwrap_or(0);
                let last = last_changes.get(one).copied().unwrap_or(0);
                for (since, number) in &reads {
                    let is_unchanged = changes.is_unchanged(one, *since);
                    prop_assert!(!is_unchanged || last <= *number, "a change was missed");
                    prop_assert!(is_unchanged || last_in_bucket > *number, "nobody in the bucket has changed");
                }
            }
        }
    }

    #[test]
    fn the_buckets_take_eight_kibibytes() {
        assert_eq!(size_of_val(&*PeopleChanges::new().buckets), 8 << 10);
    }

    #[test]
    fn a_change_is_seen_by_those_who_began_before_it() {
        let changes = PeopleChanges::new();
        let keys = ["a", "b"].map(|id| EmployeeKey::from_parts("ww", id));
        let [one, _] = &keys;
        let before = changes.now();
        assert!(keys.iter().all(|key| changes.is_unchanged(key, before)));
        let mut during = None;
        changes.apply(Some(one), || during = Some((changes.now(), changes.is_unchanged(one, before))));
        assert_eq!(during.map(|(_, is_unchanged)| is_unchanged), Some(false), "noted before the removal");
        assert!(during.is_some_and(|(number, _)| number != before && number != changes.now()));
        let after = changes.now();
        assert!(changes.is_unchanged(one, after));
        changes.apply(None, || ());
        assert!(!keys.iter().any(|key| changes.is_unchanged(key, after)), "everybody");
        assert!(keys.iter().all(|key| changes.is_unchanged(key, changes.now())));
    }

    #[test]
    fn a_change_to_another_person_hardly_ever_matters() {
        let changes = PeopleChanges::new();
        let (before, key) = (changes.now(), |number: usize| EmployeeKey::from_parts("ww", &number.to_string()));
        changes.apply(Some(&key(0)), || ());
        let affected = (1..10_000).filter(|number| !changes.is_unchanged(&key(*number), before)).count();
        assert!(affected < 100, "{affected} of 10 000");
    }
}
