//! Compares the clock of the service with the machine's and with an independent one.

use std::time::Duration;

use deskpass_core::{ClockDoubt, ClockDoubtReason, ClockTrust, ReferenceSource, ReferenceTime, Timestamp};
use jiff::fmt::rfc2822;

use super::App;

/// The largest difference allowed between the clocks of a node and of the database.
pub(crate) const MAX_CLOCK_SKEW: Duration = Duration::from_secs(30);

/// How old a date of the platform may be to count without asking for another.
const PLATFORM_DATE_MAX_AGE: Duration = Duration::from_mins(2);

/// A difference up to this is followed slowly and needs no witness.
const MAX_SLEWED_DIFFERENCE: Duration = Duration::from_mins(1);

/// A pause up to this is believed without a word.
pub(super) const DAY: Duration = Duration::from_hours(24);

/// How far the machine's time may be ahead of the record in development mode, where nobody confirms it and the data is worth nothing.
const MAX_DEVELOPMENT_GAP: Duration = Duration::from_hours(30 * 24);

impl App {
    /// Compares the clock with the machine's and, where there is one, with an independent clock. Called at the start and
    /// once a minute.
    pub(crate) async fn review_clock(&self) {
        let clock = &self.auth.clock;
        let (before, witness) = (clock.trust(), self.witness().await);
        let (from, forward) = (clock.now(), clock.review(witness));
        if forward > MAX_SLEWED_DIFFERENCE {
            self.record_clock_change(from, forward, witness.map(|witness| witness.source)).await;
        }
        match clock.trust() {
            ClockTrust::Doubted(doubt) => tracing::error!(
                reason = doubt.reason.name(),
                ahead_seconds = doubt.ahead / 1_000,
                action = operator_advice(doubt.reason),
                "the machine's clock is not trusted; going on by the newest record"
            ),
            ClockTrust::Trusted if before != ClockTrust::Trusted => {
                tracing::info!("the machine's clock is trusted again");
            }
            ClockTrust::Trusted => {
                let (machine, now) = (clock.machine(), clock.now());
                let apart = clock_difference(machine, now).as_secs();
                if apart > 60 {
                    tracing::warn!(
                        seconds = apart,
                        ahead = machine > now,
                        "the machine's clock was set; following it slowly"
                    );
                }
            }
        }
    }

    /// What an independent clock shows: that of the database that nodes share, if it is on another machine, or else the
    /// platform's. Where the machine's time is doubted or the database contradicts it, the platform's word is the better one.
    async fn witness(&self) -> Option<ReferenceTime> {
        let database = match self.auth.store.database_time().await {
            Ok(common) => common.filter(|common| common.on_other_machine).map(|common| common.at),
            Err(error) => {
                tracing::warn!(%error, "cannot read the time of the database");
                None
            }
        };
        let clock = &self.auth.clock;
        let agrees = |time| clock_difference(clock.machine(), time) <= MAX_CLOCK_SKEW;
        let database = database.map(|time| ReferenceTime { time, source: ReferenceSource::Database });
        match database {
            Some(ReferenceTime { time, .. }) if agrees(time) && clock.trust() == ClockTrust::Trusted => database,
            Some(_) => self.platform_witness(true).await.or(database),
            None => self.platform_witness(self.needs_witness()).await,
        }
    }

    /// What the platform's clock shows. It is asked only if it `is_needed` and no response of the last minutes tells.
    async fn platform_witness(&self, is_needed: bool) -> Option<ReferenceTime> {
        // In development mode the platform is this very process, with the same clock.
        if self.settings.development {
            return None;
        }
        if self.platform_date().is_none() && is_needed {
            // A response of any kind has a date; one that does not come is told by the platform's own state.
            let _ = self.auth.platform.date().await;
        }
        Some(ReferenceTime { time: self.platform_date()?, source: ReferenceSource::Platform })
    }

    fn needs_witness(&self) -> bool {
        let clock = &self.auth.clock;
        clock.trust() != ClockTrust::Trusted || clock_difference(clock.machine(), clock.now()) > MAX_SLEWED_DIFFERENCE
    }

    /// The platform's time now, by the date of its newest response, if that is not long ago.
    fn platform_date(&self) -> Option<Timestamp> {
        let seen = self.auth.platform.last_date()?;
        let age = self.auth.clock.uptime().saturating_sub(seen.at);
        let date = rfc2822::parse(&seen.date).ok()?.timestamp();
        (age <= PLATFORM_DATE_MAX_AGE).then(|| Timestamp::from_millis(date.as_millisecond()) + age)
    }

    /// Lets the operator, who has looked at another clock, confirm the machine's time; `false` when that is earlier than the
    /// time the service goes by.
    pub(crate) async fn confirm_machine_clock(&self) -> bool {
        let clock = &self.auth.clock;
        if clock.machine() + MAX_SLEWED_DIFFERENCE < clock.now() {
            return false;
        }
        let (from, source) = (clock.now(), ReferenceSource::Operator);
        let forward = clock.review(Some(ReferenceTime { time: clock.machine(), source }));
        self.record_clock_change(from, forward, Some(source)).await;
        true
    }

    async fn record_clock_change(&self, from: Timestamp, forward: Duration, source: Option<ReferenceSource>) {
        let by = match source {
            Some(ReferenceSource::Database) => "confirmed by the database",
            Some(ReferenceSource::Platform) => "confirmed by the platform",
            Some(ReferenceSource::Operator) => "confirmed by the operator",
            None => "the machine's clock was corrected",
        };
        let (seconds, detail) =
            (forward.as_secs(), format!("from {} to {}, {by}", format_utc(from), format_utc(from + forward)));
        tracing::warn!(seconds, by, "the time of the service moved forwards");
        if let Err(error) = self.auth.record_clock_set(detail).await {
            tracing::warn!(%error, "cannot write down that the time was set");
        }
    }
}

/// The record to start from, in development mode: somebody who comes back after a while notices nothing.
pub(crate) fn development_start_time(machine: Timestamp, record: Timestamp) -> Timestamp {
    if machine.since(record) > MAX_DEVELOPMENT_GAP { record } else { machine.max(record) }
}

/// A moment to the second.
pub(crate) fn format_utc(moment: Timestamp) -> String {
    jiff::Timestamp::from_second(moment.millis().div_euclid(1_000)).unwrap_or_default().to_string()
}

/// What an operator does about a doubt.
pub(crate) fn operator_advice(reason: ClockDoubtReason) -> &'static str {
    match reason {
        ClockDoubtReason::AheadOfRecord => {
            "check the machine's clock (timedatectl); if it is right, make the platform reachable or run `deskpass clock repair`"
        }
        ClockDoubtReason::BehindRecord => {
            "check the machine's clock (timedatectl); if it is right, stop the service and run `deskpass clock repair`"
        }
        ClockDoubtReason::Stepped | ClockDoubtReason::Contradicted(_) => {
            "set the machine's clock by NTP (timedatectl set-ntp true)"
        }
    }
}

/// A doubt in whole seconds: how far the machine's time is ahead, negative when it is behind.
pub(crate) fn ahead_seconds(doubt: ClockDoubt) -> i64 {
    doubt.ahead / 1_000
}

/// The absolute difference of two moments.
pub(crate) fn clock_difference(one: Timestamp, other: Timestamp) -> Duration {
    one.since(other).max(other.since(one))
}
