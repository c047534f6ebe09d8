//! How often somebody may try to get a password or a code right.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What is remembered of the attempts since the last one that was right. Every attempt is counted before it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guesses {
    /// How many have come since there was a quarter of an hour without any.
    pub recent: u32,
    /// How many there have been.
    pub in_a_row: u32,
    /// When the last one came.
    pub last_at: Timestamp,
}

/// Why there is no other attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shut {
    /// There will be one in so long.
    For(Duration),
    /// An administrator has to unlock the account.
    UntilUnlocked,
}

impl Guesses {
    /// How many may follow one another.
    const AT_ONCE: u32 = 5;
    /// How long nothing may come after that.
    const PAUSE: Duration = Duration::from_mins(15);
    /// How many there may be without a right one among them.
    pub const IN_A_ROW: u32 = 100;

    /// Those of somebody who has not tried.
    #[must_use]
    pub const fn none() -> Self {
        Self { recent: 0, in_a_row: 0, last_at: Timestamp::from_millis(0) }
    }

    /// Counts one more.
    ///
    /// # Errors
    /// When there may be none, and until when; nothing is to be counted then.
    pub fn another(self, now: Timestamp) -> Result<Self, Shut> {
        if let Some(shut) = self.shut(now) {
            return Err(shut);
        }
        let recent = if self.is_over(now) { 0 } else { self.recent };
        Ok(Self {
            recent: recent.saturating_add(1),
            in_a_row: self.in_a_row.saturating_add(1),
            // A clock that went back must not bring the end of a pause nearer.
            last_at: self.last_at.max(now),
        })
    }

    /// Why no attempt would count at `now`; `None` when one would.
    #[must_use]
    pub fn shut(self, now: Timestamp) -> Option<Shut> {
        if self.is_locked() {
            Some(Shut::UntilUnlocked)
        } else if self.recent >= Self::AT_ONCE && !self.is_over(now) {
            Some(Shut::For((self.last_at + Self::PAUSE).since(now)))
        } else {
            None
        }
    }

    /// Whether only an administrator can help.
    #[must_use]
    pub const fn is_locked(self) -> bool {
        self.in_a_row >= Self::IN_A_ROW
    }

    /// Whether the last one is so long ago that those before it are no longer recent.
    fn is_over(self, now: Timestamp) -> bool {
        now >= self.last_at + Self::PAUSE
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

    fn made(count: usize, now: Timestamp) -> Guesses {
        (0..count).fold(Guesses::none(), |guesses, _| guesses.another(now).unwrap())
    }

    #[test]
    fn five_and_then_a_quarter_of_an_hour() {
        let five = made(5, at(0));
        assert_eq!(five.another(at(0)), Err(Shut::For(Guesses::PAUSE)));
        assert_eq!(five.another(at(PAUSE - 1)), Err(Shut::For(Duration::from_millis(1))));
        let sixth = five.another(at(PAUSE)).unwrap();
        assert_eq!(sixth, Guesses { recent: 1, in_a_row: 6, last_at: at(PAUSE) });
    }

    #[test]
    fn the_pause_begins_with_the_last_one() {
        let mut guesses = Guesses::none();
        for minute in [0, 14, 28, 42, 56] {
            guesses = guesses.another(at(minute * MINUTE)).unwrap();
        }
        assert_eq!(guesses.another(at(57 * MINUTE)), Err(Shut::For(Duration::from_mins(14))));
        assert!(guesses.another(at(71 * MINUTE)).is_ok());
    }

    #[test]
    fn whoever_waits_is_locked_at_a_hundred() {
        let mut guesses = Guesses::none();
        for number in 0..100 {
            assert!(!guesses.is_locked());
            guesses = guesses.another(at(number * PAUSE)).unwrap();
        }
        assert!(guesses.is_locked());
        assert_eq!(guesses.another(at(1_000_000 * PAUSE)), Err(Shut::UntilUnlocked));
    }

    #[test]
    fn a_clock_that_goes_back_makes_the_pause_longer() {
        let four = made(4, at(0));
        let five = four.another(at(-10 * MINUTE)).unwrap();
        assert_eq!(five.last_at, at(0));
        assert_eq!(five.another(at(-10 * MINUTE)), Err(Shut::For(Duration::from_mins(25))));
    }

    proptest! {
        #[test]
        fn never_more_than_was_promised(
            steps in prop::collection::vec(prop_oneof![Just(0), 0..MINUTE, 0..(2 * PAUSE), Just(PAUSE - 1), Just(PAUSE)], 1..400),
        ) {
            let (mut guesses, mut now) = (Guesses::none(), 0);
            let mut accepted: Vec<i64> = Vec::new();
            for step in steps {
                now += step;
                match guesses.another(at(now)) {
                    Ok(next) => {
                        accepted.push(now);
                        guesses = next;
                    }
                    Err(Shut::For(wait)) => {
                        let then = now + millis(wait);
                        prop_assert!(guesses.another(at(then)).is_ok());
                        prop_assert!(guesses.another(at(then - 1)).is_err());
                    }
                    Err(Shut::UntilUnlocked) => prop_assert_eq!(accepted.len(), 100),
                }
                prop_assert_eq!(guesses.shut(at(now)), guesses.another(at(now)).err());
            }
            prop_assert!(accepted.len() <= 100);
            prop_assert_eq!(guesses.in_a_row as usize, accepted.len());
            for (first, sixth) in accepted.iter().zip(accepted.iter().skip(5)) {
                prop_assert!(sixth - first >= PAUSE, "{first} to {sixth}");
            }
        }

        #[test]
        fn going_back_in_time_never_opens(recent in 0..8u32, in_a_row in 0..102u32, now in -PAUSE..(2 * PAUSE), back in 0..(9 * PAUSE)) {
            let guesses = Guesses { recent, in_a_row, last_at: at(0) };
            match (guesses.another(at(now)), guesses.another(at(now - back))) {
                (Err(Shut::For(wait)), Err(Shut::For(longer))) => prop_assert_eq!(millis(wait) + back, millis(longer)),
                (Err(shut), judged) => prop_assert_eq!(judged, Err(shut)),
                (Ok(_), Ok(next)) => prop_assert!(next.last_at >= guesses.last_at),
                (Ok(_), Err(_)) => {}
            }
        }

        #[test]
        fn nothing_overflows(recent: u32, in_a_row: u32, last_at: i64, now: i64) {
            let guesses = Guesses { recent, in_a_row, last_at: Timestamp::from_millis(last_at) };
            let _ = guesses.another(Timestamp::from_millis(now));
        }
    }
}
