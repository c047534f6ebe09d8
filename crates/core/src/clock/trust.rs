//! Whether the machine's time of day can be trusted. Pure: every reading is handed in.
//!
//! A wrong time must not end, delete or postpone anything. The newest record bounds it from below, and the steady time of the
//! process tells how much has passed; a time of day far from both counts only if an independent clock confirms it. The database's may
//! be on the same host without anybody noticing, so its word is good for a day at most.

use std::time::Duration;

use super::Timestamp;

/// How far the machine's time may be from the newest record without anybody's confirmation.
const MAX_RECORD_GAP_MILLIS: i64 = 24 * 60 * 60 * 1_000;
/// How far the machine's time may be ahead of a running process that follows it.
const MAX_FOLLOWED_STEP_MILLIS: i64 = 60 * 60 * 1_000;
/// A difference up to this is followed slowly, even when an independent clock confirms the machine's time.
const SMALL_GAP_MILLIS: i64 = 60 * 1_000;
/// The most that the clock follows the machine's in one review.
const MAX_SLEW_MILLIS: i64 = 1_000;

/// Whether the machine's time of day is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockTrust {
    /// It agrees with the record, the steady time, and with an independent clock if there was one.
    #[default]
    Trusted,
    /// It does not, and the service goes by the newest record and the steady time instead.
    Doubted(ClockDoubt),
}

/// Why the machine's time is doubted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDoubt {
    /// What it does not agree with.
    pub reason: ClockDoubtReason,
    /// How many milliseconds the machine's time is ahead of that; negative when it is behind.
    pub ahead: i64,
}

/// What the machine's time does not agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockDoubtReason {
    /// The newest record: the machine was off for long, or its time is wrong.
    AheadOfRecord,
    /// The newest record: the machine's time is wrong, or it was when the record was written.
    BehindRecord,
    /// The steady time of the process: it was set while the service ran.
    Stepped,
    /// An independent clock.
    Contradicted(ReferenceSource),
}

impl ClockDoubtReason {
    /// The word for it.
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

/// What an independent clock shows right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceTime {
    /// The time it shows.
    pub time: Timestamp,
    /// Whose clock it is.
    pub source: ReferenceSource,
}

/// Whose clock confirms or contradicts the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceSource {
    /// The database that nodes share, on another machine.
    Database,
    /// The platform, by the date of its responses.
    Platform,
    /// The operator, who has looked at another clock.
    Operator,
}

impl ReferenceSource {
    /// How far the machine's time may be from this clock's.
    const fn tolerance(self) -> Duration {
        match self {
            Self::Database => Duration::from_secs(30),
            Self::Platform | Self::Operator => Duration::from_mins(5),
        }
    }
}

impl ReferenceTime {
    fn confirms(self, time: Timestamp) -> bool {
        self.time.since(time).max(time.since(self.time)) <= self.source.tolerance()
    }
}

/// What is remembered from one review to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrustState {
    pub(super) trust: ClockTrust,
    /// Whether the time at the start is certain. Until then the machine may have been off for longer than the record shows.
    pub(super) settled: bool,
    /// How far other people's clocks are ahead of ours, in milliseconds, where the machine's cannot tell.
    pub(super) wall_offset: Option<i64>,
}

impl TrustState {
    /// Whether an independent clock said last that the machine's is wrong.
    pub(super) fn is_contradicted(&self) -> bool {
        matches!(self.trust, ClockTrust::Doubted(ClockDoubt { reason: ClockDoubtReason::Contradicted(_), .. }))
    }
}

impl Default for TrustState {
    fn default() -> Self {
        Self { trust: ClockTrust::Trusted, settled: true, wall_offset: None }
    }
}

/// What to do about the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReviewOutcome {
    pub(super) state: TrustState,
    /// How far the clock moves forwards.
    pub(super) forward: Duration,
}

/// The time to start at, given the machine's and that of the newest record.
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

/// Compares the machine's time with that of the service, `now`, and with a reference.
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
            review(state, machine, now, None)
        }
        Some(_) if ahead > SMALL_GAP_MILLIS => follow(ahead),
        Some(_) if ahead < -MAX_RECORD_GAP_MILLIS => stay(doubted(ClockDoubtReason::BehindRecord, ahead)),
        Some(_) => follow(ahead.min(MAX_SLEW_MILLIS)),
        None if state.settled => review_without_reference(state, ahead),
        // As at the start: without a reference, a day is believed and no more.
        None if ahead > MAX_RECORD_GAP_MILLIS => {
            stay(TrustState { settled: false, ..doubted(ClockDoubtReason::AheadOfRecord, ahead) })
        }
        None if ahead < -MAX_RECORD_GAP_MILLIS => {
            stay(TrustState { settled: false, ..doubted(ClockDoubtReason::BehindRecord, ahead) })
        }
        None => follow(ahead),
    }
}

/// A machine that goes with the steady time is not overruled by a database alone, which may be the one that drifts: then the
/// difference is told, and nothing else changes. The platform's time is that of people's phones.
fn contradicted(state: TrustState, machine: Timestamp, now: Timestamp, reference: ReferenceTime) -> ReviewOutcome {
    let ahead = machine.0.saturating_sub(now.0);
    let by_platform = matches!(
        state.trust,
        ClockTrust::Doubted(ClockDoubt { reason: ClockDoubtReason::Contradicted(ReferenceSource::Platform), .. })
    );
    let alone = reference.source == ReferenceSource::Database && state.settled && !by_platform;
    let others =
        if alone && (-SMALL_GAP_MILLIS..=SMALL_GAP_MILLIS).contains(&ahead) { machine } else { reference.time };
    let doubt = doubted(ClockDoubtReason::Contradicted(reference.source), machine.0.saturating_sub(reference.time.0));
    let settled = state.settled || reference.confirms(now);
    stay(TrustState { settled, wall_offset: Some(others.0.saturating_sub(now.0)), ..doubt })
}

/// While the service runs, its steady time is better than a time of day that was set, unless that differs by little.
fn review_without_reference(state: TrustState, ahead: i64) -> ReviewOutcome {
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

/// Trusts the machine, and goes forwards by so much; nothing goes backwards.
fn follow(ahead: i64) -> ReviewOutcome {
    ReviewOutcome { state: TrustState::default(), forward: Duration::from_millis(u64::try_from(ahead).unwrap_or(0)) }
}

#[cfg(test)]
mod tests;
