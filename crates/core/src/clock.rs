//! One clock for the whole process, and one a test can wind by hand.

use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment: milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment this many milliseconds after 1970-01-01 UTC.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(millis(span)))
    }
}

/// Tells the time. Clones tell the same time.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    Steady { started: Instant, at: Timestamp, slewed: AtomicI64 },
    Wound(AtomicI64),
}

/// The most the steady clock moves towards the machine's in one [`Clock::follow_wall`].
const SLEW: i64 = 1_000;

impl Clock {
    /// A clock that starts at the machine's time, but not before `floor`, and then advances steadily: a step of the
    /// machine's clock neither ends a session early nor revives one that has ended.
    #[must_use]
    pub fn steady(floor: Timestamp) -> Self {
        let (started, at) = (instant(), wall().max(floor));
        Self(Arc::new(Source::Steady { started, at, slewed: AtomicI64::new(0) }))
    }

    /// A clock that stands still until it is wound.
    #[must_use]
    pub fn wound(at: Timestamp) -> Self {
        Self(Arc::new(Source::Wound(AtomicI64::new(at.0))))
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &*self.0 {
            Source::Steady { started, at, slewed } => {
                let elapsed = instant().saturating_duration_since(*started);
                Timestamp(at.0.saturating_add(millis(elapsed)).saturating_add(slewed.load(Ordering::Relaxed)))
            }
            Source::Wound(at) => Timestamp(at.load(Ordering::SeqCst)),
        }
    }

    /// The time that other people's clocks show: the machine's, which may be set forwards and back. For what is agreed with
    /// a device that has a clock of its own, and for nothing that must not be revived.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        match &*self.0 {
            Source::Steady { .. } => wall(),
            Source::Wound(_) => self.now(),
        }
    }

    /// Moves a hand-wound clock forward; a steady one does not care.
    pub fn wind(&self, by: Duration) {
        if let Source::Wound(at) = &*self.0 {
            at.fetch_add(millis(by), Ordering::SeqCst);
        }
    }

    /// Moves a steady clock at most a second forwards to the machine's time, never backwards, and returns how many
    /// milliseconds ahead of us the machine still is (negative: behind). Called once a minute, so a step is followed slowly
    /// or not at all.
    #[must_use]
    pub fn follow_wall(&self) -> i64 {
        let Source::Steady { slewed, .. } = &*self.0 else { return 0 };
        let ahead = wall().0.saturating_sub(self.now().0);
        let step = ahead.clamp(0, SLEW);
        slewed.fetch_add(step, Ordering::Relaxed);
        ahead - step
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock for a decision")]
fn instant() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wound_clock_moves_only_by_hand() {
        let clock = Clock::wound(Timestamp::from_millis(1_000));
        assert_eq!(clock.now(), clock.clone().now());
        clock.wind(Duration::from_secs(2));
        assert_eq!(clock.now().millis(), 3_000);
        assert_eq!((clock.follow_wall(), clock.wall()), (0, clock.now()));
    }

    #[test]
    fn a_steady_clock_never_starts_before_what_was_recorded() {
        let tomorrow = wall() + Duration::from_hours(24);
        let clock = Clock::steady(tomorrow);
        assert!(clock.now() >= tomorrow);
        let before = clock.now();
        // The machine is a day behind, and we do not go back for it.
        assert!(clock.follow_wall() < -23 * 3_600_000);
        assert!(clock.now() >= before);
        assert!(clock.wall() < tomorrow, "but can tell what others' clocks show");
    }

    #[test]
    fn spans_are_never_negative() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(late.since(early), Duration::from_millis(4));
        assert_eq!(early.since(late), Duration::ZERO);
    }
}
