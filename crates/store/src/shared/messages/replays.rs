//! Which messages were taken in. Whoever writes to Redis cannot make a message, but can put one there again that was sent
//! before: each counts once, and only while it is new.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use deskpass_core::Timestamp;

use super::message::{DeliveryQuery, MESSAGE_RETENTION};

/// How far the clocks of two nodes may be apart. Messages of a node that is further away are dropped.
const CLOCK_SKEW: Duration = Duration::from_mins(1);
/// A message that was sent longer ago than this is not taken in.
const MAX_MESSAGE_AGE: Duration = MESSAGE_RETENTION.saturating_add(CLOCK_SKEW);
/// How long a node's numbers are remembered after its last message: until none of its messages is new enough any more.
const NUMBER_RETENTION: Duration = MAX_MESSAGE_AGE.saturating_add(CLOCK_SKEW);
/// The most numbers that are remembered of one node. Of those that are too many the lowest go, and whatever is as low with them.
const MAX_NUMBERS: usize = 65_536;

/// Why a message is not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FreshnessError {
    /// It was taken in before.
    Replayed,
    /// It was sent too long ago, or will be.
    OutOfTime,
}

/// What was taken in lately, by the node that sent it.
#[derive(Debug, Default)]
pub(super) struct ReplayGuard(HashMap<String, Numbers>);

/// The numbers that one node's messages had.
#[derive(Debug)]
struct Numbers {
    /// Every number below this one counts as taken.
    floor: u64,
    taken: BTreeSet<u64>,
    until: Timestamp,
}

impl ReplayGuard {
    /// Takes a message in that was sent then, unless it is not fresh.
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
            // Only nodes with our key can make messages, so there are few.
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
    fn a_message_counts_once_for_as_long_as_it_is_new() {
        let mut replays = ReplayGuard::default();
        assert_eq!(replays.admit(&ask("a", 7), at(1_000), at(1_000)), Ok(()));
        assert_eq!(replays.admit(&ask("a", 6), at(1_000), at(1_000)), Ok(()), "they need not come in order");
        assert_eq!(replays.admit(&ask("b", 7), at(1_000), at(1_000)), Ok(()), "of another node");
        for now in [1_000, 1_060, 1_180] {
            assert_eq!(replays.admit(&ask("a", 7), at(1_000), at(now)), Err(FreshnessError::Replayed), "{now}");
            // A node that is heard of for the first time has others forgotten, but not too early.
            assert_eq!(replays.admit(&ask(&format!("c{now}"), 0), at(now), at(now)), Ok(()));
        }
        assert_eq!(replays.admit(&ask("a", 7), at(1_000), at(1_181)), Err(FreshnessError::OutOfTime));
    }

    #[test]
    fn clocks_may_be_a_minute_apart() {
        let mut replays = ReplayGuard::default();
        assert_eq!(replays.admit(&ask("a", 1), at(1_060), at(1_000)), Ok(()));
        assert_eq!(replays.admit(&ask("a", 2), at(1_061), at(1_000)), Err(FreshnessError::OutOfTime));
        // The one from ahead is remembered until it is too old.
        assert_eq!(replays.admit(&ask("b", 0), at(1_230), at(1_230)), Ok(()));
        assert_eq!(replays.admit(&ask("a", 1), at(1_060), at(1_239)), Err(FreshnessError::Replayed));
        assert_eq!(replays.admit(&ask("a", 3), at(820), at(1_001)), Err(FreshnessError::OutOfTime));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_went_is_refused() {
        let mut replays = ReplayGuard::default();
        let most = u64::try_from(MAX_NUMBERS).unwrap_or_default();
        for number in 0..most + 10 {
            assert_eq!(replays.admit(&ask("a", number), at(0), at(0)), Ok(()));
        }
        assert_eq!(replays.0.values().map(|numbers| numbers.taken.len()).sum::<usize>(), MAX_NUMBERS);
        for number in [0, 9, 10, most] {
            assert_eq!(replays.admit(&ask("a", number), at(0), at(0)), Err(FreshnessError::Replayed), "{number}");
        }
        for node in 0..1_000 {
            assert_eq!(replays.admit(&ask(&format!("n{node}"), 0), at(node * 10), at(node * 10)), Ok(()));
        }
        assert!(replays.0.len() < 50, "nodes that are gone are forgotten: {}", replays.0.len());
    }
}
