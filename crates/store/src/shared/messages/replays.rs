//! The replay guard. An attacker who writes to Redis cannot forge a message, but can insert an old one again. So each
//! message is accepted once, and only while it is recent.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use deskpass_core::Timestamp;

use super::message::{DeliveryQuery, MESSAGE_RETENTION};

/// The maximum clock difference between two nodes. Messages of a node beyond it are dropped.
const CLOCK_SKEW: Duration = Duration::from_mins(1);
const MAX_MESSAGE_AGE: Duration = MESSAGE_RETENTION.saturating_add(CLOCK_SKEW);
/// How long a node's numbers are kept after its last message: until all of its messages are too old.
const NUMBER_RETENTION: Duration = MAX_MESSAGE_AGE.saturating_add(CLOCK_SKEW);
/// The maximum number of stored numbers per node. Above it, the lowest are dropped, and all lower numbers are rejected.
const MAX_NUMBERS: usize = 65_536;

/// The reason why a message is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FreshnessError {
    /// It was accepted before.
    Replayed,
    /// It was sent too long ago, or in the future.
    OutOfTime,
}

/// The recently accepted messages, by the node that sent them.
#[derive(Debug, Default)]
pub(super) struct ReplayGuard(HashMap<String, Numbers>);

/// The message numbers of one node.
#[derive(Debug)]
struct Numbers {
    /// Every lower number counts as accepted.
    floor: u64,
    taken: BTreeSet<u64>,
    until: Timestamp,
}

impl ReplayGuard {
    /// Accepts a message that was sent at `sent`, unless it is not fresh.
    pub(super) fn admit(
        &mut self,
        (node, number): &DeliveryQuery,
        sent: Timestamp,
        now: Timestamp,
    ) -> Result<(), FreshnessError> {
        if now.since(sent) > MAX_MESSAGE_AGE || sent.since(now) > CLOCK_SKEW {
            return Err(FreshnessError::OutOfTime);
        }
        if !self.0.contains_key(node) {
            // Only nodes with our key can create messages, so there are few.
            self.0.retain(|_, numbers| now < numbers.until);
        }
        let numbers = self.0.entry(node.clone()).or_insert(Numbers {
            floor: 0,
            taken: BTreeSet::new(),
            until: now + NUMBER_RETENTION,
        });
        numbers.until = numbers.until.max(now + NUMBER_RETENTION);
        if *number < numbers.floor || !numbers.taken.insert(*number) {
            return Err(FreshnessError::Replayed);
        }
        if numbers.taken.len() > MAX_NUMBERS {
            numbers.floor = numbers.taken.pop_first().map_or(0, |lowest| lowest.saturating_add(1));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn ask(node: &str, number: u64) -> DeliveryQuery {
        (node.to_owned(), number)
    }

    #[test]
    fn a_message_is_accepted_once_while_it_is_fresh() {
        let mut replays = ReplayGuard::default();
        assert_eq!(replays.admit(&ask("a", 7), at(1_000), at(1_000)), Ok(()));
        assert_eq!(replays.admit(&ask("a", 6), at(1_000), at(1_000)), Ok(()), "they need not come in order");
        assert_eq!(replays.admit(&ask("b", 7), at(1_000), at(1_000)), Ok(()), "of another node");
        for now in [1_000, 1_060, 1_180] {
            assert_eq!(replays.admit(&ask("a", 7), at(1_000), at(now)), Err(FreshnessError::Replayed), "{now}");
            // A message of a new node purges the old nodes, but not too early.
            assert_eq!(replays.admit(&ask(&format!("c{now}"), 0), at(now), at(now)), Ok(()));
        }
        assert_eq!(replays.admit(&ask("a", 7), at(1_000), at(1_181)), Err(FreshnessError::OutOfTime));
    }

    #[test]
    fn clocks_may_be_a_minute_apart() {
        let mut replays = ReplayGuard::default();
        assert_eq!(replays.admit(&ask("a", 1), at(1_060), at(1_000)), Ok(()));
        assert_eq!(replays.admit(&ask("a", 2), at(1_061), at(1_000)), Err(FreshnessError::OutOfTime));
        // A message from a clock that is ahead is remembered until it is too old.
        assert_eq!(replays.admit(&ask("b", 0), at(1_230), at(1_230)), Ok(()));
        assert_eq!(replays.admit(&ask("a", 1), at(1_060), at(1_239)), Err(FreshnessError::Replayed));
        assert_eq!(replays.admit(&ask("a", 3), at(820), at(1_001)), Err(FreshnessError::OutOfTime));
    }

    #[test]
    fn the_memory_is_bounded_and_evicted_numbers_are_refused() {
        let mut replays = ReplayGuard::default();
        let limit = u64::try_from(MAX_NUMBERS).unwrap_or_default();
        for number in 0..limit + 10 {
            assert_eq!(replays.admit(&ask("a", number), at(0), at(0)), Ok(()));
        }
        assert_eq!(replays.0.values().map(|numbers| numbers.taken.len()).sum::<usize>(), MAX_NUMBERS);
        for number in [0, 9, 10, limit] {
            assert_eq!(replays.admit(&ask("a", number), at(0), at(0)), Err(FreshnessError::Replayed), "{number}");
        }
        for node in 0..1_000 {
            assert_eq!(replays.admit(&ask(&format!("n{node}"), 0), at(node * 10), at(node * 10)), Ok(()));
        }
        assert!(replays.0.len() < 50, "nodes that are gone are forgotten: {}", replays.0.len());
    }
}
