//! The pace of calls that the service makes by itself: evenly spread, and within what the platform allows in a day.

use std::time::Duration;

use deskpass_core::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::{Interval, MissedTickBehavior, interval};

const MILLIS_PER_DAY: i64 = 24 * 60 * 60 * 1_000;

/// Spreads calls evenly.
#[derive(Debug)]
pub(super) struct Pace(Interval);

impl Pace {
    /// At most this many calls in a second.
    pub(super) fn per_second(calls: u32) -> Self {
        let mut ticks = interval(Duration::from_secs(1) / calls.max(1));
        // A slow call is not made up for.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self(ticks)
    }

    /// Waits until the next call may begin; the first one may at once.
    pub(super) async fn wait(&mut self) {
        self.0.tick().await;
    }
}

/// Counts the lookups of a day, where the platform meters calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DailyBudget {
    day: i64,
    used: u32,
}

impl DailyBudget {
    /// How many lookups are left today.
    pub(super) fn remaining(self, now: Timestamp, per_day: Option<u32>) -> u32 {
        let used = if self.day == day(now) { self.used } else { 0 };
        per_day.map_or(u32::MAX, |per_day| per_day.saturating_sub(used))
    }

    /// Counts a lookup.
    pub(super) fn spend(&mut self, now: Timestamp) {
        let used = if self.day == day(now) { self.used } else { 0 };
        *self = Self { day: day(now), used: used.saturating_add(1) };
    }
}

fn day(now: Timestamp) -> i64 {
    now.millis().div_euclid(MILLIS_PER_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_for_a_day() {
        let (now, hours) = (Timestamp::from_millis(5 * MILLIS_PER_DAY), Duration::from_hours(23));
        let mut budget = DailyBudget::default();
        assert_eq!(budget.remaining(now, Some(2)), 2);
        budget.spend(now);
        budget.spend(now + hours);
        budget.spend(now + hours);
        assert_eq!(budget.remaining(now + hours, Some(2)), 0);
        assert_eq!(budget.remaining(now + hours, None), u32::MAX, "a platform that does not meter calls");
        assert_eq!(budget.remaining(now + Duration::from_hours(24), Some(2)), 2, "the next day");
        budget.spend(now + Duration::from_hours(24));
        assert_eq!(budget.remaining(now + Duration::from_hours(25), Some(2)), 1);
    }
}
