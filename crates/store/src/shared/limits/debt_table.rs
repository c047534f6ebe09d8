//! The debts in this process, in a table of fixed size.
//!
//! An entry takes 16 bytes, and a bucket of eight entries 128: 8 MiB for 2^19 clients and 2 MiB for 2^17 tickets. A map
//! would grow with the number of clients, and its paid debts would have to be found and removed.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::{Debt, Digest, Rate, Timestamp};

/// The number of shards, each with its own lock.
const SHARDS: usize = 64;
/// The number of keys that share a bucket and compete for its slots.
const BUCKET_SLOTS: usize = 8;

/// A key's fingerprint and its debt in microseconds: plain numbers, since unwritten zeroed memory costs nothing.
type Slot = (u64, i64);

/// A table of fixed size. In a full bucket, a new key replaces the smallest debt, and paid debts are the smallest. To
/// erase its debt, a client would need larger debts under eight other keys of the same bucket. The client does not know
/// which keys share a bucket, and those keys would have allowed more requests than the erased one.
pub(super) struct DebtTable {
    /// Random, so that clients cannot know which keys share a bucket.
    seed: RandomState,
    shards: Box<[Mutex<Vec<[Slot; BUCKET_SLOTS]>>]>,
}

impl DebtTable {
    pub(super) fn new(capacity: usize) -> Self {
        let buckets = capacity.div_ceil(SHARDS * BUCKET_SLOTS).max(1);
        let shards = (0..SHARDS).map(|_| Mutex::new(vec![[(0, 0); BUCKET_SLOTS]; buckets])).collect();
        Self { seed: RandomState::new(), shards }
    }

    pub(super) fn admit(&self, key: &Digest, rate: Rate, now: Timestamp) -> Result<(), Duration> {
        self.update(key, |debt| rate.admit(debt, now).map(|next| (next, ())))
    }

    pub(super) fn debt_of(&self, key: &Digest) -> Debt {
        self.update(key, Err::<(Debt, Debt), _>).unwrap_or_else(|debt| debt)
    }

    pub(super) fn raise(&self, key: &Digest, to: Debt) {
        let _ = self.update(key, |debt| if debt < to { Ok((to, ())) } else { Err(()) });
    }

    /// Updates the entry of a key from its current debt, unless `entry` fails.
    fn update<T, E>(&self, key: &Digest, entry: impl FnOnce(Debt) -> Result<(Debt, T), E>) -> Result<T, E> {
        let mark = self.seed.hash_one(key);
        let at = usize::try_from(mark).unwrap_or_default();
        let shard = self.shards.get(at % SHARDS);
        let mut shard = shard.map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner));
        let bucket = shard.as_mut().and_then(|shard| {
            let at = (at / SHARDS).checked_rem(shard.len())?;
            shard.get_mut(at)
        });
        // The slot of this key, or else the slot with the smallest debt.
        let slot = bucket.and_then(|bucket| bucket.iter_mut().min_by_key(|(whose, debt)| (*whose != mark, *debt)));
        let known = slot.as_ref().filter(|(whose, _)| *whose == mark);
        let (debt, outcome) = entry(known.map_or(Debt::NONE, |(_, debt)| Debt::from_micros(*debt)))?;
        if let Some(slot) = slot {
            *slot = (mark, debt.micros());
        }
        Ok(outcome)
    }
}

debug_only!(DebtTable);

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn key(number: u64) -> Digest {
        Digest::of(&[&number.to_be_bytes()])
    }

    fn rate() -> Rate {
        Rate::new(30, Duration::from_mins(1)).unwrap_or_else(|| unreachable!("it makes sense"))
    }

    fn bytes(table: &DebtTable) -> usize {
        let buckets = table.shards.iter().map(|shard| shard.lock().map_or(0, |shard| shard.capacity()));
        buckets.sum::<usize>() * size_of::<[Slot; BUCKET_SLOTS]>()
    }

    #[test]
    fn every_key_has_its_own_count() {
        let table = DebtTable::new(1 << 12);
        for number in 0..100 {
            for _ in 0..30 {
                assert_eq!(table.admit(&key(number), rate(), NOW), Ok(()));
            }
            assert_eq!(table.admit(&key(number), rate(), NOW), Err(Duration::from_secs(2)));
        }
        assert_eq!(table.admit(&key(0), rate(), NOW + Duration::from_secs(2)), Ok(()));
    }

    #[test]
    fn a_flood_of_other_keys_evicts_no_large_debt_and_takes_no_more_memory() {
        let table = DebtTable::new(1 << 12);
        let capacity = bytes(&table);
        for number in 0..20 {
            while table.admit(&key(number), rate(), NOW).is_ok() {}
        }
        for number in 1_000..200_000 {
            assert_eq!(table.admit(&key(number), rate(), NOW), Ok(()), "other keys are still admitted");
        }
        for number in 0..20 {
            assert_eq!(table.admit(&key(number), rate(), NOW), Err(Duration::from_secs(2)), "{number}");
        }
        assert_eq!(bytes(&table), capacity);
    }

    /// Zeroed memory costs nothing before it is written to, so this test writes to all of it.
    #[test]
    fn ten_million_keys_take_no_more_memory() {
        let table = DebtTable::new(super::super::MAX_CLIENTS);
        let capacity = bytes(&table);
        for number in 0..10_000_000 {
            assert_eq!(table.admit(&key(number), rate(), NOW), Ok(()), "other keys are still admitted");
        }
        assert_eq!(bytes(&table), capacity);
    }

    #[test]
    fn a_debt_is_raised_and_never_lowered() {
        let table = DebtTable::new(1 << 12);
        assert_eq!(table.debt_of(&key(1)), Debt::NONE);
        table.raise(&key(1), Debt::from_micros(7));
        table.raise(&key(1), Debt::from_micros(5));
        assert_eq!(table.debt_of(&key(1)), Debt::from_micros(7));
        assert_eq!(table.debt_of(&key(2)), Debt::NONE);
    }

    #[test]
    fn the_tables_take_eight_mebibytes_and_two() {
        let capacities = [super::super::MAX_CLIENTS, super::super::MAX_TICKETS];
        assert_eq!(capacities.map(|capacity| bytes(&DebtTable::new(capacity))), [8 << 20, 2 << 20]);
    }

    /// The number of keys that share a bucket in the test below: more than fit.
    const COLLIDING_KEYS: usize = BUCKET_SLOTS + 4;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// Admits a request of one of the keys.
        Admit(usize),
        /// Raises the debt of a key to so many microseconds from now.
        Raise(usize, i64),
        /// So many milliseconds pass.
        Wait(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..COLLIDING_KEYS).prop_map(Step::Admit),
            2 => (0..COLLIDING_KEYS, -1_000_000..3_000_000_i64).prop_map(|(key, debt)| Step::Raise(key, debt)),
            2 => (0..3_000_u64).prop_map(Step::Wait),
        ]
    }

    /// A table, and what it must contain.
    struct Model {
        table: DebtTable,
        /// Keys of one bucket.
        keys: Vec<Digest>,
        debts: HashMap<Digest, Debt>,
        rate: Rate,
        now: Timestamp,
    }

    impl Model {
        fn new() -> Self {
            // One bucket in each shard.
            let table = DebtTable::new(1);
            let is_in_first_shard = |key: &Digest| {
                let at = usize::try_from(table.seed.hash_one(key)).unwrap_or_default();
                at.is_multiple_of(SHARDS)
            };
            let keys = (0..).map(key).filter(is_in_first_shard).take(COLLIDING_KEYS).collect();
            let rate = Rate::new(3, Duration::from_secs(3)).unwrap_or_else(|| unreachable!("it makes sense"));
            Self { table, keys, debts: HashMap::new(), rate, now: NOW }
        }

        fn key(&self, number: usize) -> Digest {
            self.keys.get(number).copied().unwrap_or_else(|| unreachable!("there are enough"))
        }

        fn debt(&self, key: &Digest) -> Debt {
            self.debts.get(key).copied().unwrap_or(Debt::NONE)
        }

        fn run(&mut self, step: Step) {
            match step {
                Step::Admit(number) => {
                    let key = self.key(number);
                    let expected = self.rate.admit(self.debt(&key), self.now);
                    assert_eq!(self.table.admit(&key, self.rate, self.now), expected.map(drop));
                    if let Ok(debt) = expected {
                        self.store(key, debt);
                    }
                }
                Step::Raise(number, micros) => {
                    let (key, debt) = (self.key(number), Debt::from_micros(self.now.millis() * 1_000 + micros));
                    self.table.raise(&key, debt);
                    if self.debt(&key) < debt {
                        self.store(key, debt);
                    }
                }
                Step::Wait(millis) => self.now = self.now + Duration::from_millis(millis),
            }
        }

        /// Stores a debt that the table has stored already. If the key was new to a full bucket, the table has
        /// forgotten the smallest of the other debts, or one of several that are equal.
        fn store(&mut self, key: Digest, debt: Debt) {
            if self.debts.len() == BUCKET_SLOTS && !self.debts.contains_key(&key) {
                let smallest = self.debts.values().min().copied();
                let is_forgotten = |key: &Digest| self.table.debt_of(key) == Debt::NONE;
                let forgotten = self.debts.iter().find(|(key, debt)| Some(**debt) == smallest && is_forgotten(key));
                let forgotten = forgotten.map(|(key, _)| *key);
                assert!(forgotten.and_then(|key| self.debts.remove(&key)).is_some(), "another debt was forgotten");
            }
            self.debts.insert(key, debt);
        }
    }

    proptest! {
        // Fewer cases than usual: for each, hundreds of keys are hashed to find some of the same bucket.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_bucket_is_a_map_that_forgets_the_smallest_debt_when_it_is_full(
            steps in prop::collection::vec(step(), 1..100),
        ) {
            let mut model = Model::new();
            for step in steps {
                model.run(step);
                for key in &model.keys {
                    prop_assert_eq!(model.table.debt_of(key), model.debt(key));
                }
            }
        }
    }
}
