//! Rate limits.
//!
//! Written here instead of using a crate: a limit is one number per client, which Redis can hold as well, so that nodes share
//! it; and the time is passed in.

use std::time::Duration;

use crate::Timestamp;

/// A rate limit: a number of requests per period. All may come at once; further ones are admitted evenly over the period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    count: u32,
    per: Duration,
    /// The time that one request costs, in microseconds. In milliseconds, 700 a second would become 500.
    step: i64,
}

/// The time at which all admitted requests are paid off. This number is the only state that a limit keeps per client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Debt(i64);

impl Debt {
    /// The debt of a client that has sent no request.
    pub const NONE: Self = Self(0);

    /// Creates a debt from microseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }
}

impl Rate {
    /// A limit of `count` requests in every `per`; `None` for zero, and for more than one request per microsecond.
    #[must_use]
    pub fn new(count: u32, per: Duration) -> Option<Self> {
        let span = i64::try_from(per.as_micros()).ok()?;
        // Rounded up, so that the limit never admits more than configured.
        let step = span.checked_add(i64::from(count))?.checked_sub(1)?.checked_div(i64::from(count))?;
        (i64::from(count) <= span).then_some(Self { count, per, step })
    }

    /// The number of requests.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The period.
    #[must_use]
    pub const fn per(self) -> Duration {
        self.per
    }

    /// The microseconds that a request adds to a debt.
    #[must_use]
    pub const fn step(self) -> i64 {
        self.step
    }

    /// The microseconds by which a debt may be ahead of the current time.
    #[must_use]
    pub fn span(self) -> i64 {
        self.step.saturating_mul(i64::from(self.count))
    }

    /// The most requests that are admitted within so much time.
    #[must_use]
    pub fn most_within(self, time: Duration) -> usize {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let later = micros.checked_div(self.step).and_then(|steps| usize::try_from(steps).ok()).unwrap_or(usize::MAX);
        later.saturating_add(usize::try_from(self.count).unwrap_or(usize::MAX))
    }

    /// Admits a request and returns the new debt. If it is too early, the error is the remaining wait, in whole milliseconds.
    pub fn admit(self, debt: Debt, now: Timestamp) -> Result<Debt, Duration> {
        let now = now.millis().saturating_mul(MILLI);
        let limit = now.saturating_add(self.span());
        // A debt further ahead was written by a clock that is ahead of ours; clients must not wait for that.
        let next = debt.0.clamp(now, limit).saturating_add(self.step);
        let early = u64::try_from(next.saturating_sub(limit)).unwrap_or(0);
        if early == 0 { Ok(Debt(next)) } else { Err(Duration::from_millis(early.div_ceil(MILLI.unsigned_abs()))) }
    }
}

const MILLI: i64 = 1_000;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_800_000_000_000;

    fn rate(count: u32, secs: u64) -> Rate {
        Rate::new(count, Duration::from_secs(secs)).unwrap()
    }

    /// Whether a request at `now` is within the limit: no interval that ends at `now` has more requests than the count plus one
    /// for each step of the interval.
    fn fits(rate: Rate, admitted: &[i64], now: i64) -> bool {
        let mut number = 1;
        admitted.iter().rev().all(|earlier| {
            number += 1;
            number <= i64::from(rate.count()) + (now - earlier) * 1_000 / rate.step()
        })
    }

    #[test]
    fn within_a_time_come_all_at_once_and_those_of_the_time() {
        assert_eq!(rate(30, 60).most_within(Duration::from_secs(59)), 59);
        assert_eq!(rate(30, 60).most_within(Duration::from_mins(10)), 330);
        assert_eq!(rate(300, 60).most_within(Duration::from_mins(10)), 3_300);
    }

    #[test]
    fn thirty_a_minute_allow_thirty_at_once_then_one_every_two_seconds() {
        let (rate, mut debt) = (rate(30, 60), Debt::NONE);
        let at = |millis: i64| Timestamp::from_millis(START + millis);
        for _ in 0..30 {
            debt = rate.admit(debt, at(0)).unwrap();
        }
        assert_eq!(rate.admit(debt, at(0)), Err(Duration::from_secs(2)));
        assert_eq!(rate.admit(debt, at(1_999)), Err(Duration::from_millis(1)));
        debt = rate.admit(debt, at(2_000)).unwrap();
        assert_eq!(rate.admit(debt, at(2_000)), Err(Duration::from_secs(2)));
        for _ in 0..30 {
            debt = rate.admit(debt, at(62_000)).unwrap();
        }
        assert!(rate.admit(debt, at(62_000)).is_err());
    }

    #[test]
    fn an_invalid_rate_is_refused() {
        let second = Duration::from_secs(1);
        assert_eq!(Rate::new(0, second), None);
        assert_eq!(Rate::new(1, Duration::ZERO), None);
        assert_eq!(Rate::new(1_000_001, second), None);
        assert_eq!(Rate::new(1_000_000, second).map(Rate::step), Some(1));
        assert_eq!(Rate::new(1, Duration::MAX), None);
    }

    #[test]
    fn a_debt_from_a_clock_that_runs_ahead_costs_one_step() {
        let rate = rate(2, 1);
        for debt in [START * 1_000 + 3_600_000_000, i64::MAX] {
            let wait = rate.admit(Debt::from_micros(debt), Timestamp::from_millis(START));
            assert_eq!(wait, Err(Duration::from_millis(500)));
        }
        assert!(rate.admit(Debt::from_micros(i64::MIN), Timestamp::from_millis(START)).is_ok());
    }

    proptest! {
        #[test]
        fn requests_never_exceed_the_rate(
            (count, secs) in (1..40u32, 1..100u64),
            gaps in prop::collection::vec(prop_oneof![Just(0i64), 0..50i64, 0..5_000i64], 1..120),
        ) {
            let rate = rate(count, secs);
            let (mut now, mut debt, mut admitted) = (START, Debt::NONE, Vec::new());
            for gap in gaps {
                now += gap;
                let judged = rate.admit(debt, Timestamp::from_millis(now));
                prop_assert_eq!(judged.is_ok(), fits(rate, &admitted, now));
                match judged {
                    Ok(next) => {
                        debt = next;
                        admitted.push(now);
                    }
                    Err(wait) => {
                        let then = now + i64::try_from(wait.as_millis()).unwrap();
                        prop_assert!(rate.admit(debt, Timestamp::from_millis(then)).is_ok());
                        prop_assert!(rate.admit(debt, Timestamp::from_millis(then - 1)).is_err());
                    }
                }
            }
        }

        #[test]
        fn nothing_overflows(count: u32, millis: u64, debt: i64, now: i64) {
            if let Some(rate) = Rate::new(count, Duration::from_millis(millis)) {
                let _ = rate.admit(Debt::from_micros(debt), Timestamp::from_millis(now));
            }
        }
    }
}
