//! The limit on failed attempts to enter a password or a code.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The attempts since the last successful one. Every attempt is counted before it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempts {
    /// The number of attempts since the last pause of 15 minutes.
    pub recent: u32,
    /// The total number of attempts.
    pub in_a_row: u32,
    /// The time of the last attempt.
    pub last_at: Timestamp,
}

/// The reason why no further attempt is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lockout {
    /// The account is locked for this duration.
    For(Duration),
    /// An administrator has to unlock the account.
    UntilUnlocked,
}

impl FailedAttempts {
    /// The number of attempts that may follow one another without a pause.
    const MAX_RECENT: u32 = 5;
    /// The duration of the lockout after that.
    const LOCKOUT_PERIOD: Duration = Duration::from_mins(15);
    /// The number of attempts without a success after which the account is locked.
    pub const MAX_IN_A_ROW: u32 = 100;

    /// No attempts.
    #[must_use]
    pub const fn none() -> Self {
        Self { recent: 0, in_a_row: 0, last_at: Timestamp::from_millis(0) }
    }

    /// Counts an attempt. The error is the lockout; the attempt must not be counted then.
    pub fn count_attempt(self, now: Timestamp) -> Result<Self, Lockout> {
        if let Some(lockout) = self.lockout(now) {
            return Err(lockout);
        }
        let recent = if self.is_pause_over(now) { 0 } else { self.recent };
        Ok(Self {
            recent: recent.saturating_add(1),
            in_a_row: self.in_a_row.saturating_add(1),
            // A clock that went back must not shorten a lockout.
            last_at: self.last_at.max(now),
        })
    }

    /// The lockout at `now`; `None` when an attempt is allowed.
    #[must_use]
    pub fn lockout(self, now: Timestamp) -> Option<Lockout> {
        if self.is_locked() {
            Some(Lockout::UntilUnlocked)
        } else if self.recent >= Self::MAX_RECENT && !self.is_pause_over(now) {
            Some(Lockout::For((self.last_at + Self::LOCKOUT_PERIOD).since(now)))
        } else {
            None
        }
    }

    /// Whether only an administrator can unlock the account.
    #[must_use]
    pub const fn is_locked(self) -> bool {
        self.in_a_row >= Self::MAX_IN_A_ROW
    }

    /// Whether the last attempt is so long ago that the earlier ones are no longer recent.
    fn is_pause_over(self, now: Timestamp) -> bool {
        now >= self.last_at + Self::LOCKOUT_PERIOD
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: i64 = 1_800_000_000_000;
    const MINUTE: i64 = 60_000;
    const PAUSE: i64 = 15 * MINUTE;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(START + millis)
    }

    fn millis(span: Duration) -> i64 {
        i64::try_from(span.as_millis()).unwrap()
    }

    fn made(count: usize, now: Timestamp) -> FailedAttempts {
        (0..count).fold(FailedAttempts::none(), |guesses, _| guesses.count_attempt(now).unwrap())
    }

    #[test]
    fn five_attempts_then_a_pause_of_fifteen_minutes() {
        let five = made(5, at(0));
        assert_eq!(five.count_attempt(at(0)), Err(Lockout::For(FailedAttempts::LOCKOUT_PERIOD)));
        assert_eq!(five.count_attempt(at(PAUSE - 1)), Err(Lockout::For(Duration::from_millis(1))));
        let sixth = five.count_attempt(at(PAUSE)).unwrap();
        assert_eq!(sixth, FailedAttempts { recent: 1, in_a_row: 6, last_at: at(PAUSE) });
    }

    #[test]
    fn the_lockout_begins_with_the_last_attempt() {
        let mut guesses = FailedAttempts::none();
        for minute in [0, 14, 28, 42, 56] {
            guesses = guesses.count_attempt(at(minute * MINUTE)).unwrap();
        }
        assert_eq!(guesses.count_attempt(at(57 * MINUTE)), Err(Lockout::For(Duration::from_mins(14))));
        assert!(guesses.count_attempt(at(71 * MINUTE)).is_ok());
    }

    #[test]
    fn attempts_after_each_pause_lock_at_a_hundred() {
        let mut guesses = FailedAttempts::none();
        for number in 0..100 {
            assert!(!guesses.is_locked());
            guesses = guesses.count_attempt(at(number * PAUSE)).unwrap();
        }
        assert!(guesses.is_locked());
        assert_eq!(guesses.count_attempt(at(1_000_000 * PAUSE)), Err(Lockout::UntilUnlocked));
    }

    #[test]
    fn a_clock_that_goes_back_makes_the_pause_longer() {
        let four = made(4, at(0));
        let five = four.count_attempt(at(-10 * MINUTE)).unwrap();
        assert_eq!(five.last_at, at(0));
        assert_eq!(five.count_attempt(at(-10 * MINUTE)), Err(Lockout::For(Duration::from_mins(25))));
    }

    proptest! {
        #[test]
        fn attempts_never_exceed_the_limit(
            steps in prop::collection::vec(prop_oneof![Just(0), 0..MINUTE, 0..(2 * PAUSE), Just(PAUSE - 1), Just(PAUSE)], 1..400),
        ) {
            let (mut guesses, mut now) = (FailedAttempts::none(), 0);
            let mut accepted: Vec<i64> = Vec::new();
            for step in steps {
                now += step;
                match guesses.count_attempt(at(now)) {
                    Ok(next) => {
                        accepted.push(now);
                        guesses = next;
                    }
                    Err(Lockout::For(wait)) => {
                        let then = now + millis(wait);
                        prop_assert!(guesses.count_attempt(at(then)).is_ok());
                        prop_assert!(guesses.count_attempt(at(then - 1)).is_err());
                    }
                    Err(Lockout::UntilUnlocked) => prop_assert_eq!(accepted.len(), 100),
                }
                prop_assert_eq!(guesses.lockout(at(now)), guesses.count_attempt(at(now)).err());
            }
            prop_assert!(accepted.len() <= 100);
            prop_assert_eq!(guesses.in_a_row as usize, accepted.len());
            for (first, sixth) in accepted.iter().zip(accepted.iter().skip(5)) {
                prop_assert!(sixth - first >= PAUSE, "{first} to {sixth}");
            }
        }

        #[test]
        fn a_clock_set_back_never_ends_a_lockout(recent in 0..8u32, in_a_row in 0..102u32, now in -PAUSE..(2 * PAUSE), back in 0..(9 * PAUSE)) {
            let guesses = FailedAttempts { recent, in_a_row, last_at: at(0) };
            match (guesses.count_attempt(at(now)), guesses.count_attempt(at(now - back))) {
                (Err(Lockout::For(wait)), Err(Lockout::For(longer))) => prop_assert_eq!(millis(wait) + back, millis(longer)),
                (Err(lockout), expected) => prop_assert_eq!(expected, Err(lockout)),
                (Ok(_), Ok(next)) => prop_assert!(next.last_at >= guesses.last_at),
                (Ok(_), Err(_)) => {}
            }
        }

        #[test]
        fn nothing_overflows(recent: u32, in_a_row: u32, last_at: i64, now: i64) {
            let guesses = FailedAttempts { recent, in_a_row, last_at: Timestamp::from_millis(last_at) };
            let _ = guesses.count_attempt(Timestamp::from_millis(now));
        }
    }
}
