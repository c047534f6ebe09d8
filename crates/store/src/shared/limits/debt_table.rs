//! The debts in this process, in a table of fixed size.

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
    fn all_tables_together_take_less_than_16_mebibytes() {
        let capacities = [super::super::MAX_CLIENTS, super::super::MAX_TICKETS];
        let all: usize = capacities.map(|capacity| bytes(&DebtTable::new(capacity))).iter().sum();
        assert!(all <= 16 << 20, "{all}");
    }
}
