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

/// What a lookup is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupPurpose {
    /// The re-check, or an event about a leaver. Half of the lookups of a day are kept for it.
    Departure,
    /// Anything else, also the synchronisation.
    Other,
}

/// Counts the calls of a day, where the platform meters calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DailyBudget {
    day: i64,
    /// The lookups of that day.
    used: u32,
    /// The calls for listings that are not paid for. Up to half of each day's lookups pays for them.
    debt: u32,
    /// Whether the log says that no lookup is left on that day.
    noted: bool,
}

impl DailyBudget {
    /// How many lookups are left today.
    pub(super) fn remaining(self, now: Timestamp, per_day: u32) -> u32 {
        let today = self.on(now, per_day);
        per_day.saturating_sub(today.used).saturating_sub(today.debt.min(share(per_day)))
    }

    /// How many of them are left for other purposes than finding out who left: half of them are kept for that.
    pub(super) fn unreserved(self, now: Timestamp, per_day: u32) -> u32 {
        let today = self.on(now, per_day);
        let available = per_day.saturating_sub(today.debt.min(share(per_day)));
        available.saturating_sub(today.used).saturating_sub(available / 2)
    }

    /// Notes that no lookup is left today.
    pub(super) fn note_empty(&mut self, now: Timestamp, per_day: u32) {
        *self = Self { noted: true, ..self.on(now, per_day) };
    }

    /// Whether that was noted today.
    pub(super) fn is_noted(self, now: Timestamp, per_day: u32) -> bool {
        self.on(now, per_day).noted
    }

    /// Counts a lookup.
    pub(super) fn spend(&mut self, now: Timestamp, per_day: u32) {
        let today = self.on(now, per_day);
        *self = Self { used: today.used.saturating_add(1), ..today };
    }

    /// Counts calls for a listing.
    pub(super) fn spend_on_listing(&mut self, now: Timestamp, per_day: u32, calls: u32) {
        let today = self.on(now, per_day);
        *self = Self { debt: today.debt.saturating_add(calls), ..today };
    }

    /// Whether the listings before are paid for, today included.
    pub(super) fn may_list(self, now: Timestamp, per_day: u32) -> bool {
        self.on(now, per_day).debt <= share(per_day)
    }

    /// The budget as it is today.
    fn on(self, now: Timestamp, per_day: u32) -> Self {
        let day = now.millis().div_euclid(MILLIS_PER_DAY);
        // After a step back of the clock the counts go on.
        let Some(days) = day.checked_sub(self.day).filter(|days| *days > 0) else { return self };
        let paid = u32::try_from(days).unwrap_or(u32::MAX).saturating_mul(share(per_day));
        Self { day, used: 0, debt: self.debt.saturating_sub(paid), noted: false }
    }
}

/// How many of the lookups of a day pay for listings.
fn share(per_day: u32) -> u32 {
    (per_day / 2).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[test]
    fn a_budget_is_for_a_day() {
        let now = Timestamp::from_millis(5 * MILLIS_PER_DAY);
        let mut budget = DailyBudget::default();
        assert_eq!(budget.remaining(now, 2), 2);
        budget.spend(now, 2);
        budget.spend(now + HOUR * 23, 2);
        budget.spend(now + HOUR * 23, 2);
        assert_eq!(budget.remaining(now + HOUR * 23, 2), 0);
        assert_eq!(budget.remaining(now - HOUR, 2), 0, "a step back of the clock gives nothing");
        assert_eq!(budget.remaining(now + HOUR * 24, 2), 2, "the next day");
        budget.spend(now + HOUR * 24, 2);
        assert_eq!(budget.remaining(now + HOUR * 25, 2), 1);
    }

    #[test]
    fn half_of_a_budget_is_for_finding_out_who_left() {
        let now = Timestamp::from_millis(5 * MILLIS_PER_DAY);
        let mut budget = DailyBudget::default();
        assert_eq!(budget.unreserved(now, 100), 50);
        (0..50).for_each(|_| budget.spend(now, 100));
        assert_eq!((budget.unreserved(now, 100), budget.remaining(now, 100)), (0, 50));
        budget.note_empty(now, 100);
        assert!(budget.is_noted(now, 100) && !budget.is_noted(now + HOUR * 24, 100), "once a day");
        budget.spend_on_listing(now + HOUR * 24, 100, 500);
        assert_eq!(budget.unreserved(now + HOUR * 24, 100), 25, "half of what the listing leaves");
    }

    /// However large the directory is, in the long run there are no more calls than the platform allows.
    #[test]
    fn half_of_each_day_pays_for_a_listing() {
        let now = Timestamp::from_millis(5 * MILLIS_PER_DAY);
        let mut budget = DailyBudget::default();
        assert!(budget.may_list(now, 100));
        budget.spend_on_listing(now, 100, 340);
        assert_eq!(budget.remaining(now, 100), 50);
        for (days, may_list, remaining) in
            [(1, false, 50), (5, false, 50), (6, true, 60), (7, true, 100), (900, true, 100)]
        {
            let then = now + HOUR * 24 * days;
            assert_eq!((budget.may_list(then, 100), budget.remaining(then, 100)), (may_list, remaining), "{days}");
        }
        budget.spend(now + HOUR * 48, 100);
        assert_eq!(budget.remaining(now + HOUR * 48, 100), 49, "a lookup keeps the debt");
        assert!(!budget.may_list(now + HOUR * 48, 100));
    }
}
