//! The guard against locking many people at once: a wrong answer of the platform, such as after its administrator changed the
//! application's range, must not empty the help desk.

use std::time::Duration;

use deskpass_core::Timestamp;
use serde::{Deserialize, Serialize};

/// So many people may always be locked.
const ALWAYS_ALLOWED: usize = 5;
/// Beyond that, one of so many.
const ALLOWED_SHARE: usize = 5;
const MILLIS_PER_HOUR: i64 = 60 * 60 * 1_000;
/// How long administrators are not told again.
const TELL_AGAIN_AFTER: Duration = Duration::from_hours(24);

/// Whether locking so many of those who were checked is too much.
pub(super) fn is_too_many(leaving: usize, checked: usize) -> bool {
    leaving > ALWAYS_ALLOWED.max(checked / ALLOWED_SHARE)
}

/// The people checked in the current hour, and those of them who left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LeaverGuard {
    hour: i64,
    checked: usize,
    leaving: usize,
    /// Whether nobody is locked until an hour has few leavers again.
    pub(super) halted: bool,
    told_at: Option<Timestamp>,
}

impl LeaverGuard {
    /// Counts a person who was checked.
    pub(super) fn count(&mut self, now: Timestamp, is_leaving: bool) {
        let hour = hour_of(now);
        if hour != self.hour {
            let calmed = self.checked > 0 && !is_too_many(self.leaving, self.checked);
            *self = Self { hour, checked: 0, leaving: 0, halted: self.halted && !calmed, told_at: self.told_at };
        }
        self.checked = self.checked.saturating_add(1);
        self.leaving = self.leaving.saturating_add(usize::from(is_leaving));
    }

    /// Whether those who left may be locked now. If not, the people checked next may show that they are few.
    pub(super) fn may_lock(&self) -> bool {
        !self.halted && !is_too_many(self.leaving, self.checked)
    }

    /// Whether locking was stopped, and the current hour is counted already.
    pub(super) fn is_halted_at(&self, now: Timestamp) -> bool {
        self.halted && self.hour == hour_of(now)
    }

    /// Stops locking, until an hour has few leavers again; whether administrators must be told.
    pub(super) fn halt(&mut self, now: Timestamp) -> bool {
        self.halted = true;
        let must_tell = self.told_at.is_none_or(|told| now.since(told) >= TELL_AGAIN_AFTER);
        if must_tell {
            self.told_at = Some(now);
        }
        must_tell
    }

    /// How many of those checked in this hour left.
    pub(super) const fn leaving(&self) -> usize {
        self.leaving
    }
}

const fn hour_of(now: Timestamp) -> i64 {
    now.millis().div_euclid(MILLIS_PER_HOUR)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
    const HOUR: Duration = Duration::from_hours(1);

    fn count(guard: &mut LeaverGuard, now: Timestamp, staying: usize, leaving: usize) {
        (0..staying).for_each(|_| guard.count(now, false));
        (0..leaving).for_each(|_| guard.count(now, true));
    }

    #[test]
    fn five_or_a_fifth_may_leave() {
        for (leaving, checked, too_many) in [
            (0, 0, false),
            (5, 5, false),
            (6, 6, true),
            (6, 29, true),
            (6, 30, false),
            (200, 1000, false),
            (201, 1000, true),
        ] {
            assert_eq!(is_too_many(leaving, checked), too_many, "{leaving} of {checked}");
        }
    }

    #[test]
    fn those_checked_later_may_show_that_leavers_are_few() {
        let mut guard = LeaverGuard::default();
        count(&mut guard, NOW, 0, 6);
        assert!(!guard.may_lock());
        count(&mut guard, NOW, 24, 0);
        assert!(guard.may_lock());
    }

    #[test]
    fn a_halt_lasts_until_an_hour_has_few_leavers_and_is_told_once() {
        let mut guard = LeaverGuard::default();
        count(&mut guard, NOW, 4, 40);
        assert!(guard.halt(NOW), "told");
        assert!(!guard.halt(NOW) && !guard.may_lock(), "once");
        assert!(guard.is_halted_at(NOW) && !guard.is_halted_at(NOW + HOUR), "another hour is counted anew");
        count(&mut guard, NOW + HOUR, 4, 40);
        assert!(guard.halted && !guard.halt(NOW + HOUR), "many again");
        count(&mut guard, NOW + HOUR * 2, 100, 1);
        assert!(guard.halted, "the hour before had many");
        count(&mut guard, NOW + HOUR * 3, 100, 1);
        assert!(!guard.halted && guard.may_lock());
        assert!(guard.halt(NOW + HOUR * 25), "told again after a day");
    }
}
