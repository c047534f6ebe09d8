//! The clock of the process, and a manual clock for tests.

mod machine;
mod timestamp;
mod trust;

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use machine::MachineClock;
pub use timestamp::Timestamp;
use timestamp::millis;
pub use trust::{
    ClockDoubt, ClockDoubtReason, ClockTrust, DatabaseClock, MAX_CLOCK_SKEW, RECOVERED_CLOCK_SKEW, ReferenceSource,
    ReferenceTime,
};
use trust::{ReviewOutcome, TrustState};

/// A clock that moves by more than this at once counts as set.
const STEP_THRESHOLD: Duration = Duration::from_mins(1);

/// How far [`Clock::lease_now`] of two nodes may be apart. Each node measures the database's time to half of this.
pub const LEASE_CLOCK_ERROR: Duration = Duration::from_secs(2);

/// The offset of leases while no time of a shared database is known.
const NOT_ALIGNED: i64 = i64::MIN;

/// A clock. Clones show the same time.
#[derive(Clone, Debug)]
pub struct Clock(Arc<ClockInner>);

#[derive(Debug)]
struct ClockInner {
    source: ClockSource,
    /// The time of the shared database minus the uptime, or [`NOT_ALIGNED`]. Independent of the service's time, which may be set.
    lease_offset: AtomicI64,
}

#[derive(Debug)]
enum ClockSource {
    Steady(Steady),
    Manual(AtomicI64),
}

/// A clock that counts the machine's uptime and follows the machine's time of day only while that time is trusted.
#[derive(Debug)]
struct Steady {
    machine: MachineClock,
    /// The time when this clock started.
    started: Timestamp,
    /// The current time minus the uptime.
    offset: AtomicI64,
    /// Whether the machine's time at the start was accepted. A copy of the value in `state`, for the hot path.
    settled: AtomicBool,
    /// The uptime at which this clock last moved by more than a minute at once, in milliseconds; negative if it never did.
    set: AtomicI64,
    state: Mutex<TrustState>,
}

impl Clock {
    /// Creates a clock that starts at the machine's time, but not before `floor`, and then advances steadily. A step of the
    /// machine's clock neither ends a session early nor revives an expired session.
    #[must_use]
    pub fn steady(floor: Timestamp) -> Self {
        let machine = MachineClock::real();
        let now = machine.wall().max(floor);
        Self::started(machine, now, TrustState::default())
    }

    /// Creates a clock for data whose newest record has the time `record`. It starts at the machine's time if that is within a
    /// day of the record, and otherwise at the record, with a doubt that [`Clock::review`] resolves.
    #[must_use]
    pub fn after_record(machine: MachineClock, record: Option<Timestamp>) -> Self {
        let (now, state) = trust::start(machine.wall(), record);
        Self::started(machine, now, state)
    }

    fn started(machine: MachineClock, now: Timestamp, state: TrustState) -> Self {
        let offset = AtomicI64::new(now.0.saturating_sub(millis(machine.uptime())));
        let settled = AtomicBool::new(state.settled);
        let (set, state) = (AtomicI64::new(-1), Mutex::new(state));
        Self::from_source(ClockSource::Steady(Steady { machine, started: now, offset, settled, set, state }))
    }

    fn from_source(source: ClockSource) -> Self {
        Self(Arc::new(ClockInner { source, lease_offset: AtomicI64::new(NOT_ALIGNED) }))
    }

    /// Creates a clock that stands still until [`Clock::advance`] moves it.
    #[must_use]
    pub fn manual(at: Timestamp) -> Self {
        Self::from_source(ClockSource::Manual(AtomicI64::new(at.0)))
    }

    /// The current time. It never goes back. While the machine's time is doubted, it is the time of the newest record plus the
    /// time that has passed since, so that no record is deleted too early.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0.source {
            ClockSource::Steady(steady) => steady.now(),
            ClockSource::Manual(at) => Timestamp(at.load(Ordering::SeqCst)),
        }
    }

    /// The time by which nodes claim work: that of the database they share, as of the last [`Clock::align_leases`]. Without a shared
    /// database it equals [`Clock::now`]. The service's times of two nodes may differ by more than a lease lasts. It may go back when it
    /// is aligned, so nothing else may expire by it.
    #[must_use]
    pub fn lease_now(&self) -> Timestamp {
        match self.0.lease_offset.load(Ordering::Acquire) {
            NOT_ALIGNED => self.now(),
            offset => Timestamp(offset.saturating_add(millis(self.uptime()))),
        }
    }

    /// Sets the time of leases to `common`, the current time of the shared database. Has no effect on a manual clock, which a test sets
    /// without regard to any database.
    pub fn align_leases(&self, common: Timestamp) {
        if let ClockSource::Steady(steady) = &self.0.source {
            self.0.lease_offset.store(common.0.saturating_sub(millis(steady.machine.uptime())), Ordering::Release);
        }
    }

    /// Whether this clock is ahead of or behind the current time `reference` by more than `tolerance`. A manual clock never is, since a
    /// test sets it without regard to any other clock.
    #[must_use]
    pub fn differs_from(&self, reference: Timestamp, tolerance: Duration) -> bool {
        let ClockSource::Steady(steady) = &self.0.source else { return false };
        let now = steady.now();
        now.since(reference).max(reference.since(now)) > tolerance
    }

    /// The time for an expiry check of a record issued at `issued`. It equals [`Clock::now`], except while the machine's time
    /// at the start is doubted: the machine may have been off for longer than the record shows, so a record issued before the
    /// start is rejected once it has expired by the machine's time. It is not deleted.
    #[must_use]
    pub fn now_for(&self, issued: Timestamp) -> Timestamp {
        self.now_and_for(issued).1
    }

    /// [`Clock::now`] and [`Clock::now_for`], of one reading.
    #[must_use]
    pub fn now_and_for(&self, issued: Timestamp) -> (Timestamp, Timestamp) {
        match &self.0.source {
            // Before the time is read: a clock that is settled has been moved to the machine's time already.
            ClockSource::Steady(steady) if !steady.settled.load(Ordering::Acquire) && issued <= steady.started => {
                let now = steady.now();
                (now, now.max(steady.machine.wall()))
            }
            _ => {
                let now = self.now();
                (now, now)
            }
        }
    }

    /// Like [`Clock::now_for`], for records with the fixed lifetime `lifetime` of which only the expiry is known.
    #[must_use]
    pub fn now_for_lifetime(&self, lifetime: Duration) -> Timestamp {
        match &self.0.source {
            ClockSource::Steady(steady) if !steady.settled.load(Ordering::Acquire) => {
                // Records issued before the start expire before `started + lifetime`; all others expire later.
                steady.now().max(steady.machine.wall().min(steady.started + lifetime))
            }
            _ => self.now(),
        }
    }

    /// The time that other devices show: the machine's time of day, which may be set forwards and back, unless it is known to
    /// be wrong. Use it for values agreed with a device that has its own clock, never where an expired value could be revived.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        match &self.0.source {
            ClockSource::Steady(steady) => match steady.current_state().wall_offset {
                Some(apart) => Timestamp(steady.now().0.saturating_add(apart)),
                None => steady.machine.wall(),
            },
            ClockSource::Manual(_) => self.now(),
        }
    }

    /// The machine's time of day, whether trusted or not.
    #[must_use]
    pub fn machine(&self) -> Timestamp {
        match &self.0.source {
            ClockSource::Steady(steady) => steady.machine.wall(),
            ClockSource::Manual(_) => self.now(),
        }
    }

    /// The machine's uptime, including suspended time. Use it for the age of values in memory.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        match &self.0.source {
            ClockSource::Steady(steady) => steady.machine.uptime(),
            ClockSource::Manual(_) => self.now().since(Timestamp(0)),
        }
    }

    /// Whether the machine's time is trusted at this moment.
    #[must_use]
    pub fn trust(&self) -> ClockTrust {
        match &self.0.source {
            ClockSource::Steady(steady) => steady.current_state().trust,
            ClockSource::Manual(_) => ClockTrust::Trusted,
        }
    }

    /// Whether the platform is asked about the machine's time, where a database on another machine shows the time `database`. Otherwise
    /// the database alone confirms or contradicts the machine.
    #[must_use]
    pub fn needs_platform(&self, database: Timestamp) -> bool {
        trust::needs_platform(self.trust(), self.machine(), database)
    }

    /// Whether this clock moved by more than a minute at once within `span`: earlier events then look older than they are.
    #[must_use]
    pub fn was_set_within(&self, span: Duration) -> bool {
        let ClockSource::Steady(steady) = &self.0.source else { return false };
        let set = steady.set.load(Ordering::Acquire);
        set >= 0 && millis(steady.machine.uptime()).saturating_sub(set) <= millis(span)
    }

    /// Moves a manual clock forward; has no effect on a steady clock.
    pub fn advance(&self, by: Duration) {
        if let ClockSource::Manual(at) = &self.0.source {
            at.fetch_add(millis(by), Ordering::SeqCst);
        }
    }

    /// Reviews this clock by the better of two independent clocks, as [`Clock::review`] does. Returns also which one it was.
    #[expect(clippy::must_use_candidate, reason = "called for its effect; the result is for the log")]
    pub fn review_by(
        &self,
        database: DatabaseClock,
        platform: Option<Timestamp>,
    ) -> (Duration, Option<ReferenceSource>) {
        let ClockSource::Steady(steady) = &self.0.source else { return (Duration::ZERO, None) };
        if database == DatabaseClock::None {
            let mut state = steady.state();
            *state = state.without_database();
        }
        let reference = trust::choose_reference(steady.machine.wall(), steady.now(), database, platform);
        (self.review(reference), reference.map(|reference| reference.source))
    }

    /// Compares this clock with the machine's clock and with an independent clock, if one is available. Moves this clock
    /// forwards, never backwards: by at most a second towards the machine's time, or at once where the independent clock confirms the
    /// machine. Returns the distance moved. Called once a minute.
    #[expect(clippy::must_use_candidate, reason = "called for its effect; the distance is for the log")]
    pub fn review(&self, reference: Option<ReferenceTime>) -> Duration {
        let ClockSource::Steady(steady) = &self.0.source else { return Duration::ZERO };
        let mut state = steady.state();
        let ReviewOutcome { state: next, forward } =
            trust::review(*state, steady.machine.wall(), steady.now(), reference);
        *state = next;
        if forward > STEP_THRESHOLD {
            // Before the time moves, so that a task that has read the new time finds out that it was set.
            steady.set.store(millis(steady.machine.uptime()), Ordering::Release);
        }
        steady.offset.fetch_add(millis(forward), Ordering::AcqRel);
        steady.settled.store(next.settled, Ordering::Release);
        forward
    }
}

impl Steady {
    fn now(&self) -> Timestamp {
        Timestamp(self.offset.load(Ordering::Acquire).saturating_add(millis(self.machine.uptime())))
    }

    /// The state that a review would find now, so that a step of the machine's clock is visible before the next review.
    fn current_state(&self) -> TrustState {
        let state = *self.state();
        if state.is_contradicted() { state } else { trust::review(state, self.machine.wall(), self.now(), None).state }
    }

    fn state(&self) -> MutexGuard<'_, TrustState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
