//! Decides whether the machine's time of day can be trusted. Pure: the caller passes in every reading.
//!
//! A wrong time must not end, delete or postpone anything. The newest record is the lower bound, and the steady time of the
//! process measures the time since. A time of day far from both counts only if an independent clock confirms it. The database
//! may run on the same host without being detected, so its confirmation is accepted for a difference of at most a day.

use std::time::Duration;

use super::Timestamp;

/// The largest difference allowed between the clock of a node and that of the database that the nodes share.
pub const MAX_CLOCK_SKEW: Duration = Duration::from_millis(MAX_CLOCK_SKEW_MILLIS.unsigned_abs());
const MAX_CLOCK_SKEW_MILLIS: i64 = 30 * 1_000;
/// A node that was further from the database's clock than [`MAX_CLOCK_SKEW`] is ready again below this difference. In between it stays
/// what it was, so that it does not change with every measurement.
pub const RECOVERED_CLOCK_SKEW: Duration = Duration::from_millis(RECOVERED_CLOCK_SKEW_MILLIS.unsigned_abs());
const RECOVERED_CLOCK_SKEW_MILLIS: i64 = 25 * 1_000;
/// The largest accepted difference between the machine's time and the newest record without confirmation.
const MAX_RECORD_GAP_MILLIS: i64 = 24 * 60 * 60 * 1_000;
/// The largest step of the machine's time that a running process follows.
const MAX_FOLLOWED_STEP_MILLIS: i64 = 60 * 60 * 1_000;
/// A machine that agrees with the steady time up to this is not overruled by the database.
const SMALL_GAP_MILLIS: i64 = 60 * 1_000;
/// The largest distance that the clock follows the machine's clock in one review.
const MAX_SLEW_MILLIS: i64 = 1_000;

/// Whether the machine's time of day is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockTrust {
    /// It agrees with the record, the steady time, and an independent clock if one is available.
    #[default]
    Trusted,
    /// It disagrees. The service uses the newest record and the steady time instead.
    Doubted(ClockDoubt),
}

/// Why the machine's time is doubted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDoubt {
    /// The reference that the machine's time disagrees with.
    pub reason: ClockDoubtReason,
    /// The milliseconds by which the machine's time is ahead of the reference; negative when it is behind.
    pub ahead: i64,
}

/// The reference that the machine's time disagrees with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockDoubtReason {
    /// The newest record: the machine was off for a long time, or its time is wrong.
    AheadOfRecord,
    /// The newest record: the machine's time is wrong, or was wrong when the record was written.
    BehindRecord,
    /// The steady time of the process: the machine's time was set while the service ran.
    Stepped,
    /// An independent clock.
    Contradicted(ReferenceSource),
}

impl ClockDoubtReason {
    /// The name of the reason.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AheadOfRecord => "ahead_of_record",
            Self::BehindRecord => "behind_record",
            Self::Stepped => "stepped",
            Self::Contradicted(ReferenceSource::Database) => "contradicted_by_database",
            Self::Contradicted(_) => "contradicted_by_platform",
        }
    }
}

/// A reading of an independent clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceTime {
    /// The time it shows.
    pub time: Timestamp,
    /// The owner of the clock.
    pub source: ReferenceSource,
}

/// The clock of the database that the nodes share, as a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatabaseClock {
    /// It is none: there is no such database, or it runs on this machine and has the same clock.
    None,
    /// It cannot be read at the moment.
    Unreadable,
    /// It is that of another machine and shows this time.
    Shows(Timestamp),
}

/// The owner of an independent clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceSource {
    /// The database that the nodes share, on another machine.
    Database,
    /// The platform, through the `Date` header of its responses.
    Platform,
    /// The operator, who has read another clock.
    Operator,
}

impl ReferenceSource {
    /// The largest accepted difference between the machine's time and this clock.
    const fn tolerance(self) -> Duration {
        match self {
            Self::Database => MAX_CLOCK_SKEW,
            Self::Platform | Self::Operator => Duration::from_mins(5),
        }
    }
}

impl ReferenceTime {
    fn confirms(self, time: Timestamp) -> bool {
        self.time.since(time).max(time.since(self.time)) <= self.source.tolerance()
    }

    /// Whether it does not confirm both of these times.
    fn tells_apart(self, one: Timestamp, other: Timestamp) -> bool {
        !(self.confirms(one) && self.confirms(other))
    }
}

/// The state kept from one review to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrustState {
    pub(super) trust: ClockTrust,
    /// Whether the time at the start is certain. Until then, the machine may have been off for longer than the record shows.
    pub(super) settled: bool,
    /// The milliseconds by which other devices' clocks are ahead of this clock, where the machine's clock is known to be wrong.
    pub(super) wall_offset: Option<i64>,
}

impl TrustState {
    /// Whether the last reading of an independent clock contradicted the machine's clock.
    pub(super) fn is_contradicted(&self) -> bool {
        matches!(self.trust, ClockTrust::Doubted(ClockDoubt { reason: ClockDoubtReason::Contradicted(_), .. }))
    }

    /// The same without what a database said that is no longer a reference.
    pub(super) fn without_database(self) -> Self {
        if self.is_contradicted_by(ReferenceSource::Database) {
            Self { trust: ClockTrust::Trusted, wall_offset: None, ..self }
        } else {
            self
        }
    }

    fn is_contradicted_by(&self, source: ReferenceSource) -> bool {
        matches!(self.trust, ClockTrust::Doubted(doubt) if doubt.reason == ClockDoubtReason::Contradicted(source))
    }
}

impl Default for TrustState {
    fn default() -> Self {
        Self { trust: ClockTrust::Trusted, settled: true, wall_offset: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReviewOutcome {
    pub(super) state: TrustState,
    /// The distance by which the clock moves forwards.
    pub(super) forward: Duration,
}

/// The start time, given the machine's time and the time of the newest record.
pub(super) fn start(machine: Timestamp, record: Option<Timestamp>) -> (Timestamp, TrustState) {
    let Some(record) = record else { return (machine, TrustState::default()) };
    let ahead = machine.0.saturating_sub(record.0);
    if ahead > MAX_RECORD_GAP_MILLIS {
        return (record, TrustState { settled: false, ..doubted(ClockDoubtReason::AheadOfRecord, ahead) });
    }
    if ahead < -MAX_RECORD_GAP_MILLIS {
        return (record, doubted(ClockDoubtReason::BehindRecord, ahead));
    }
    (machine.max(record), TrustState::default())
}

/// Whether the platform's time is needed, where a database on another machine shows `database`. Where the two are apart by less than the
/// tolerance of the platform's time, it would not be chosen ([`choose_reference`]).
pub(super) fn needs_platform(trust: ClockTrust, machine: Timestamp, database: Timestamp) -> bool {
    let apart = machine.since(database).max(database.since(machine));
    if apart <= ReferenceSource::Database.tolerance() {
        trust != ClockTrust::Trusted
    } else {
        apart > ReferenceSource::Platform.tolerance()
    }
}

/// The reference that decides about the machine's time, of those that were read. The platform's time is known to a few minutes only. Where
/// it confirms two times that the database tells apart, the database decides. While the database cannot be read, the platform does not
/// decide either between times that it cannot tell apart.
pub(super) fn choose_reference(
    machine: Timestamp,
    now: Timestamp,
    database: DatabaseClock,
    platform: Option<Timestamp>,
) -> Option<ReferenceTime> {
    let platform = platform.map(|time| ReferenceTime { time, source: ReferenceSource::Platform });
    match database {
        DatabaseClock::None => platform,
        DatabaseClock::Unreadable => platform.filter(|platform| platform.tells_apart(machine, now)),
        DatabaseClock::Shows(time) => {
            let database = ReferenceTime { time, source: ReferenceSource::Database };
            let decides = |platform: &ReferenceTime| database.confirms(machine) || platform.tells_apart(machine, time);
            platform.filter(decides).or(Some(database))
        }
    }
}

/// Compares the machine's time with the service's time `now` and with a reference.
pub(super) fn review(
    state: TrustState,
    machine: Timestamp,
    now: Timestamp,
    reference: Option<ReferenceTime>,
) -> ReviewOutcome {
    let ahead = machine.0.saturating_sub(now.0);
    match reference {
        Some(reference) if !reference.confirms(machine) => contradicted(state, machine, now, reference),
        Some(ReferenceTime { source: ReferenceSource::Database, .. }) if ahead > MAX_RECORD_GAP_MILLIS => {
            review_without_reference(state, ahead)
        }
        Some(_) if ahead < -MAX_RECORD_GAP_MILLIS => stay(doubted(ClockDoubtReason::BehindRecord, ahead)),
        Some(reference) => follow(confirmed_distance(ahead, now, reference)),
        None if state.settled && state.is_contradicted() => stay(state),
        None => review_without_reference(state, ahead),
    }
}

/// How far the clock follows a machine that `reference` confirms and that is `ahead`.
fn confirmed_distance(ahead: i64, now: Timestamp, reference: ReferenceTime) -> i64 {
    let behind_reference = reference.time.0.saturating_sub(now.0);
    let slow = ahead.min(MAX_SLEW_MILLIS);
    match reference.source {
        ReferenceSource::Operator => ahead,
        // With such a difference from its database a node may not be ready.
        ReferenceSource::Platform if ahead > RECOVERED_CLOCK_SKEW_MILLIS => ahead,
        ReferenceSource::Platform => slow,
        // It catches up with the database at once, too, but not further. Slowly it follows the machine further, but never so far ahead of
        // the database that a small drift would make the node unready for good.
        ReferenceSource::Database if ahead.min(behind_reference) > RECOVERED_CLOCK_SKEW_MILLIS => {
            ahead.min(behind_reference)
        }
        ReferenceSource::Database => slow.min(behind_reference.saturating_add(RECOVERED_CLOCK_SKEW_MILLIS)),
    }
}

/// A database alone does not overrule a machine that agrees with the steady time, because the database may be the clock that
/// drifts: the difference is reported and nothing else changes. But a machine that is beyond the tolerance of both was set wrongly.
/// The platform's time is the time of people's phones.
fn contradicted(state: TrustState, machine: Timestamp, now: Timestamp, reference: ReferenceTime) -> ReviewOutcome {
    let ahead = machine.0.saturating_sub(now.0);
    let by_platform = state.is_contradicted_by(ReferenceSource::Platform);
    let alone = reference.source == ReferenceSource::Database && state.settled && !by_platform;
    // The largest difference from the steady time up to which the machine agrees with it.
    let small_gap = if reference.confirms(now) { MAX_CLOCK_SKEW_MILLIS } else { SMALL_GAP_MILLIS };
    let others = if alone && (-small_gap..=small_gap).contains(&ahead) { machine } else { reference.time };
    let doubt = doubted(ClockDoubtReason::Contradicted(reference.source), machine.0.saturating_sub(reference.time.0));
    let settled = state.settled || reference.confirms(now);
    stay(TrustState { settled, wall_offset: Some(others.0.saturating_sub(now.0)), ..doubt })
}

/// Compares the machine's time with the service's alone.
fn review_without_reference(state: TrustState, ahead: i64) -> ReviewOutcome {
    if state.settled {
        return review_by_steady_time(state, ahead);
    }
    // As at the start: without a reference, a difference of at most a day is accepted.
    let unsettled = |reason| stay(TrustState { settled: false, ..doubted(reason, ahead) });
    if ahead > MAX_RECORD_GAP_MILLIS {
        unsettled(ClockDoubtReason::AheadOfRecord)
    } else if ahead < -MAX_RECORD_GAP_MILLIS {
        unsettled(ClockDoubtReason::BehindRecord)
    } else {
        follow(ahead)
    }
}

/// While the service runs, its steady time is more reliable than a time of day that was set, unless the difference is small.
fn review_by_steady_time(state: TrustState, ahead: i64) -> ReviewOutcome {
    let at_start =
        matches!(state.trust, ClockTrust::Doubted(ClockDoubt { reason: ClockDoubtReason::BehindRecord, .. }));
    if at_start && ahead < -MAX_RECORD_GAP_MILLIS {
        return stay(doubted(ClockDoubtReason::BehindRecord, ahead));
    }
    if !(-MAX_RECORD_GAP_MILLIS..=MAX_FOLLOWED_STEP_MILLIS).contains(&ahead) {
        return stay(TrustState { wall_offset: Some(0), ..doubted(ClockDoubtReason::Stepped, ahead) });
    }
    follow(ahead.min(MAX_SLEW_MILLIS))
}

fn doubted(reason: ClockDoubtReason, ahead: i64) -> TrustState {
    TrustState { trust: ClockTrust::Doubted(ClockDoubt { reason, ahead }), ..TrustState::default() }
}

fn stay(state: TrustState) -> ReviewOutcome {
    ReviewOutcome { state, forward: Duration::ZERO }
}

/// Trusts the machine and moves forwards by `ahead`; never moves backwards.
fn follow(ahead: i64) -> ReviewOutcome {
    ReviewOutcome { state: TrustState::default(), forward: Duration::from_millis(u64::try_from(ahead).unwrap_or(0)) }
}

#[cfg(test)]
mod tests;
