//! Whether the machine's time of day can be trusted. Pure: every reading is handed in.
//!
//! A wrong time must not end, delete or postpone anything. The newest record bounds it from below, and the steady time of the
//! process tells how much has passed; a time of day far from both counts only if an independent clock confirms it. The database's may
//! be on the same host without anybody noticing, so its word is good for a day at most.

use std::time::Duration;

use super::Timestamp;

/// How far the machine's time may be from the newest record without anybody's confirmation.
const FROM_RECORD: i64 = 24 * 60 * 60 * 1_000;
/// How far the machine's time may be ahead of a running process that follows it.
const FOLLOWED: i64 = 60 * 60 * 1_000;
/// A difference up to this is followed slowly, even when an independent clock confirms the machine's time.
const SMALL: i64 = 60 * 1_000;
/// The most that the clock follows the machine's in one review.
const SLEW: i64 = 1_000;

/// Whether the machine's time of day is trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockTrust {
    /// It agrees with the record, the steady time, and with an independent clock if there was one.
    #[default]
    Trusted,
    /// It does not, and the service goes by the newest record and the steady time instead.
    Doubted(Doubt),
}

/// Why the machine's time is doubted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What it does not agree with.
    pub reason: DoubtReason,
    /// How many milliseconds the machine's time is ahead of that; negative when it is behind.
    pub ahead: i64,
}

/// What the machine's time does not agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoubtReason {
    /// The newest record: the machine was off for long, or its time is wrong.
    AheadOfRecord,
    /// The newest record: the machine's time is wrong, or it was when the record was written.
    BehindRecord,
    /// The steady time of the process: it was set while the service ran.
    Stepped,
    /// An independent clock.
    Contradicted(WitnessSource),
}

impl DoubtReason {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AheadOfRecord => "ahead_of_record",
            Self::BehindRecord => "behind_record",
            Self::Stepped => "stepped",
            Self::Contradicted(WitnessSource::Database) => "contradicted_by_database",
            Self::Contradicted(_) => "contradicted_by_platform",
        }
    }
}

/// What an independent clock shows right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The time it shows.
    pub time: Timestamp,
    /// Whose clock it is.
    pub source: WitnessSource,
}

/// Whose clock confirms or contradicts the machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WitnessSource {
    /// The database that nodes share, on another machine.
    Database,
    /// The platform, by the date of its responses.
    Platform,
    /// The operator, who has looked at another clock.
    Operator,
}

impl WitnessSource {
    /// How far the machine's time may be from this clock's.
    const fn tolerance(self) -> Duration {
        match self {
            Self::Database => Duration::from_secs(30),
            Self::Platform | Self::Operator => Duration::from_mins(5),
        }
    }
}

impl Witness {
    fn confirms(self, time: Timestamp) -> bool {
        self.time.since(time).max(time.since(self.time)) <= self.source.tolerance()
    }
}

/// What is remembered from one review to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) trust: ClockTrust,
    /// Whether the time at the start is certain. Until then the machine may have been off for longer than the record shows.
    pub(super) settled: bool,
    /// How far other people's clocks are ahead of ours, in milliseconds, where the machine's cannot tell.
    pub(super) others: Option<i64>,
}

impl State {
    /// Whether an independent clock said last that the machine's is wrong.
    pub(super) fn is_contradicted(&self) -> bool {
        matches!(self.trust, ClockTrust::Doubted(Doubt { reason: DoubtReason::Contradicted(_), .. }))
    }
}

impl Default for State {
    fn default() -> Self {
        Self { trust: ClockTrust::Trusted, settled: true, others: None }
    }
}

/// What to do about the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) state: State,
    /// How far the clock moves forwards.
    pub(super) forward: Duration,
}

/// The time to start at, given the machine's and that of the newest record.
pub(super) fn start(machine: Timestamp, record: Option<Timestamp>) -> (Timestamp, State) {
    let Some(record) = record else { return (machine, State::default()) };
    let ahead = machine.0.saturating_sub(record.0);
    if ahead > FROM_RECORD {
        return (record, State { settled: false, ..doubted(DoubtReason::AheadOfRecord, ahead) });
    }
    if ahead < -FROM_RECORD {
        return (record, doubted(DoubtReason::BehindRecord, ahead));
    }
    (machine.max(record), State::default())
}

/// Compares the machine's time with that of the service, `now`, and with a witness.
pub(super) fn review(state: State, machine: Timestamp, now: Timestamp, witness: Option<Witness>) -> Verdict {
    let ahead = machine.0.saturating_sub(now.0);
    match witness {
        Some(witness) if !witness.confirms(machine) => contradicted(state, machine, now, witness),
        Some(Witness { source: WitnessSource::Database, .. }) if ahead > FROM_RECORD => {
            review(state, machine, now, None)
        }
        Some(_) if ahead > SMALL => follow(ahead),
        Some(_) if ahead < -FROM_RECORD => stay(doubted(DoubtReason::BehindRecord, ahead)),
        Some(_) => follow(ahead.min(SLEW)),
        None if state.settled => unwitnessed(state, ahead),
        // As at the start: without a witness, a day is believed and no more.
        None if ahead > FROM_RECORD => stay(State { settled: false, ..doubted(DoubtReason::AheadOfRecord, ahead) }),
        None if ahead < -FROM_RECORD => stay(State { settled: false, ..doubted(DoubtReason::BehindRecord, ahead) }),
        None => follow(ahead),
    }
}

/// A machine that goes with the steady time is not overruled by a database alone, which may be the one that drifts: then the
/// difference is told, and nothing else changes. The platform's time is that of people's phones.
fn contradicted(state: State, machine: Timestamp, now: Timestamp, witness: Witness) -> Verdict {
    let ahead = machine.0.saturating_sub(now.0);
    let by_platform = matches!(
        state.trust,
        ClockTrust::Doubted(Doubt { reason: DoubtReason::Contradicted(WitnessSource::Platform), .. })
    );
    let alone = witness.source == WitnessSource::Database && state.settled && !by_platform;
    let others = if alone && (-SMALL..=SMALL).contains(&ahead) { machine } else { witness.time };
    let doubt = doubted(DoubtReason::Contradicted(witness.source), machine.0.saturating_sub(witness.time.0));
    let settled = state.settled || witness.confirms(now);
    stay(State { settled, others: Some(others.0.saturating_sub(now.0)), ..doubt })
}

/// While the service runs, its steady time is better than a time of day that was set, unless that differs by little.
fn unwitnessed(state: State, ahead: i64) -> Verdict {
    let at_start = matches!(state.trust, ClockTrust::Doubted(Doubt { reason: DoubtReason::BehindRecord, .. }));
    if at_start && ahead < -FROM_RECORD {
        return stay(doubted(DoubtReason::BehindRecord, ahead));
    }
    if !(-FROM_RECORD..=FOLLOWED).contains(&ahead) {
        return stay(State { others: Some(0), ..doubted(DoubtReason::Stepped, ahead) });
    }
    follow(ahead.min(SLEW))
}

fn doubted(reason: DoubtReason, ahead: i64) -> State {
    State { trust: ClockTrust::Doubted(Doubt { reason, ahead }), ..State::default() }
}

fn stay(state: State) -> Verdict {
    Verdict { state, forward: Duration::ZERO }
}

/// Trusts the machine, and goes forwards by so much; nothing goes backwards.
fn follow(ahead: i64) -> Verdict {
    Verdict { state: State::default(), forward: Duration::from_millis(u64::try_from(ahead).unwrap_or(0)) }
}

#[cfg(test)]
mod tests;
