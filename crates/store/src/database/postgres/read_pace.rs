//! The pace at which the journal is read: at once when that is asked for, but not too often, and less often if the server is slow.
//!
//! A message that came over Redis waits for a read before it is delivered, so each millisecond of rest delays it. Whatever is asked for
//! during a read or a rest is served by the next read, so there is never more than one under way and one due.

use std::time::Duration;

use tokio::time::Instant;

/// The minimum interval between the starts of two reads, on average, however many are asked for.
const MIN_INTERVAL: Duration = Duration::from_millis(2);
/// The longest rest after a read, however long it took.
const MAX_REST: Duration = Duration::from_millis(20);
/// How much of a late start does not delay the reads after it. A timer of Tokio counts whole milliseconds and fires up to two of them
/// late: without this, a third of the reads would be missing under continuous load.
const MAX_LATENESS: Duration = Duration::from_millis(2);

/// Decides when the next read may begin.
#[derive(Debug)]
pub(super) struct ReadPace {
    /// The time from which the next read may begin.
    next: Instant,
}

impl ReadPace {
    /// The pace of a reader that may read now.
    pub(super) fn new(now: Instant) -> Self {
        Self { next: now }
    }

    /// Records a read, and returns how long to rest after it: as long as it took, so that a server that is slow under load is asked less.
    pub(super) fn rest_after(&mut self, began: Instant, ended: Instant) -> Option<Duration> {
        let took = ended.saturating_duration_since(began);
        let interval = MIN_INTERVAL.max(took + took.min(MAX_REST));
        self.next = (self.next + interval).max(began + interval.saturating_sub(MAX_LATENESS));
        // A timer without a duration would still fire late.
        Some(self.next.saturating_duration_since(ended)).filter(|rest| !rest.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// When a reader begins to read, as times since its start. Each request is its time and how long a read takes from then on; a rest is
    /// longer by `late`.
    fn starts(requests: impl IntoIterator<Item = (Duration, Duration)>, late: Duration) -> Vec<Duration> {
        let start = Instant::now();
        let (mut pace, mut free, mut starts) = (ReadPace::new(start), start, Vec::<Duration>::new());
        for (asked, took) in requests {
            // A read that begins after the request serves it.
            if starts.last().is_some_and(|last| asked <= *last) {
                continue;
            }
            let began = free.max(start + asked);
            let ended = began + took;
            free = pace.rest_after(began, ended).map_or(ended, |rest| ended + rest + late);
            starts.push(began - start);
        }
        starts
    }

    /// Requests for ten seconds, at this interval, and reads that take this long.
    fn steady(interval: u64, took: u64) -> impl Iterator<Item = (Duration, Duration)> {
        (0..10_000_000 / interval).map(move |turn| (micros(turn * interval), micros(took)))
    }

    #[test]
    fn a_read_begins_at_once_after_a_pause() {
        let asked: Vec<_> = steady(5_000, 400).map(|(asked, _)| asked).collect();
        assert_eq!(starts(steady(5_000, 400), micros(2_000)), asked);
        // Also when it is asked for right after the first read that follows a pause.
        let soon = [10_000, 10_500].map(|asked| (micros(asked), micros(400)));
        assert_eq!(starts(soon, micros(2_000)), soon.map(|(asked, _)| asked));
    }

    #[test]
    fn requests_during_a_read_and_its_rest_share_the_next_one() {
        let asked = [0, 100, 200, 300, 500, 1_000, 1_900, 2_000];
        assert_eq!(starts(asked.map(|asked| (micros(asked), micros(400))), micros(0)), [micros(0), micros(2_000)]);
    }

    #[test]
    fn the_number_of_reads_is_bounded_however_many_are_asked_for() {
        // A thousand messages a second, and a flood; also with timers that are late.
        for (interval, late) in [(1_000, 0), (1_000, 1_500), (10, 0), (10, 1_500)] {
            let count = starts(steady(interval, 400), micros(late)).len();
            assert!((4_900..=5_001).contains(&count), "{count} in ten seconds, {interval}, {late}");
        }
    }

    #[test]
    fn a_slow_server_is_asked_for_half_of_the_time_and_after_a_long_read_soon_again() {
        for (took, each) in [(900, 2_000), (1_500, 3_000), (5_000, 10_000), (20_000, 40_000), (500_000, 520_000)] {
            let starts = starts(steady(100, took), micros(0));
            let mut pairs = starts.iter().zip(starts.iter().skip(1));
            assert!(pairs.all(|(one, next)| *next == *one + micros(each)), "{took}: {starts:?}");
        }
    }

    proptest! {
        #[test]
        fn reads_keep_their_interval_and_nobody_waits_for_long(
            requests in proptest::collection::vec((0..4_000_u64, 50..30_000_u64), 1..200),
            late in 0..2_000_u64,
        ) {
            let mut at = Duration::ZERO;
            let requests: Vec<_> = requests.into_iter().map(|(pause, took)| {
                at += micros(pause);
                (at, micros(took))
            }).collect();
            let starts = starts(requests.iter().copied(), micros(late));
            for (first, one) in starts.iter().enumerate() {
                for (reads, other) in (0_u32..).zip(starts.iter().skip(first + 1)) {
                    prop_assert!(*other >= *one + MIN_INTERVAL * reads);
                }
            }
            // At most for one read, its rest and the lateness of a timer.
            let longest = micros(30_000) + MAX_REST + micros(late);
            for (asked, _) in requests {
                prop_assert!(starts.iter().any(|start| (asked..=asked + longest).contains(start)));
            }
        }
    }
}
