//! Compares the clock of the service with the machine's clock and with an independent one.

use std::time::Duration;

use deskpass_core::{
    ClockDoubtReason, ClockTrust, DatabaseClock, LEASE_CLOCK_ERROR, MAX_CLOCK_SKEW, ReferenceSource, ReferenceTime,
    Timestamp,
};
use deskpass_store::{DatabaseTime, StoreError};
use jiff::fmt::rfc2822;

use super::App;
use crate::timestamp::format_utc;

/// The longest round trip in which the time of the database is measured well enough for leases: to half of it, on each of two nodes.
const MAX_MEASURED_ROUND_TRIP: Duration = LEASE_CLOCK_ERROR;

/// How old the platform's last date may be before it is requested again.
const PLATFORM_DATE_MAX_AGE: Duration = Duration::from_mins(2);

/// The largest difference that the clock corrects gradually, without an independent clock.
const MAX_SLEWED_DIFFERENCE: Duration = Duration::from_mins(1);

/// The longest gap between the newest record and the machine's time that needs no confirmation.
pub(super) const DAY: Duration = Duration::from_hours(24);

/// The same gap in development mode, where no independent clock confirms the time and the data has no value.
const MAX_DEVELOPMENT_GAP: Duration = Duration::from_hours(30 * 24);

impl App {
    /// Compares the clock with the machine's and with an independent one, if any. Runs at the start and once a minute.
    pub(crate) async fn review_clock(&self) {
        let clock = &self.auth.clock;
        let (before, database) = (clock.trust(), self.database_clock().await);
        let platform = self.platform_time(database).await;
        let (from, (forward, source)) = (clock.now(), clock.review_by(database, platform));
        if forward > MAX_SLEWED_DIFFERENCE {
            self.record_clock_change(from, forward, source).await;
        }
        match clock.trust() {
            ClockTrust::Doubted(doubt) => tracing::error!(
                reason = doubt.reason.name(),
                ahead_seconds = doubt.ahead / 1_000,
                action = operator_advice(doubt.reason),
                "machine clock not trusted: continuing from the newest recorded time"
            ),
            ClockTrust::Trusted if before != ClockTrust::Trusted => {
                tracing::info!("machine clock trusted again");
            }
            ClockTrust::Trusted => {
                let (machine, now) = (clock.machine(), clock.now());
                let apart = clock_difference(machine, now).as_secs();
                if apart > 60 {
                    tracing::warn!(
                        seconds = apart,
                        ahead = machine > now,
                        "machine clock was set: following it gradually"
                    );
                }
            }
        }
    }

    /// The time of the shared database at this moment, if there is one; leases go by it. It was read at some moment between the request
    /// and the answer, so half of that time is added; after a slow answer, leases stay as they were.
    pub(crate) async fn database_time(&self) -> Result<Option<DatabaseTime>, StoreError> {
        let (clock, asked_at) = (&self.auth.clock, self.auth.clock.uptime());
        let Some(read) = self.auth.store.database_time().await? else { return Ok(None) };
        let round_trip = clock.uptime().saturating_sub(asked_at);
        let common = DatabaseTime { at: read.at + round_trip / 2, ..read };
        if round_trip <= MAX_MEASURED_ROUND_TRIP {
            clock.align_leases(common.at);
        }
        Ok(Some(common))
    }

    /// The clock of the shared database, as a reference.
    async fn database_clock(&self) -> DatabaseClock {
        match self.database_time().await {
            Ok(None) => DatabaseClock::None,
            Ok(Some(common)) => {
                self.record_clock_skew("database", self.auth.clock.machine(), common.at);
                if common.on_other_machine { DatabaseClock::Shows(common.at) } else { DatabaseClock::None }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot read the database's time");
                self.clear_clock_skew("database");
                DatabaseClock::Unreadable
            }
        }
    }

    /// The platform's time, if the database does not decide alone. It is requested only if it is needed and no recent response had a date.
    async fn platform_time(&self, database: DatabaseClock) -> Option<Timestamp> {
        // In development mode the platform is simulated by this process, with the same clock.
        if self.settings.development.enabled {
            return None;
        }
        let clock = &self.auth.clock;
        let is_needed = match database {
            DatabaseClock::Shows(time) if !clock.needs_platform(time) => return None,
            DatabaseClock::Shows(_) => true,
            DatabaseClock::None | DatabaseClock::Unreadable => {
                clock.trust() != ClockTrust::Trusted || clock_difference(clock.machine(), clock.now()) > MAX_CLOCK_SKEW
            }
        };
        if self.platform_date().is_none() && is_needed {
            // Every response has a date, even an error; the platform's circuit records a missing response.
            let _ = self.auth.platform.date().await;
        }
        self.platform_date()
    }

    /// The platform's current time, from the date of its newest response, if that is recent.
    pub(super) fn platform_date(&self) -> Option<Timestamp> {
        let seen = self.auth.platform.last_date()?;
        let age = self.auth.clock.uptime().saturating_sub(seen.at);
        let date = rfc2822::parse(&seen.date).ok()?.timestamp();
        (age <= PLATFORM_DATE_MAX_AGE).then(|| Timestamp::from_millis(date.as_millisecond()) + age)
    }

    /// Confirms the machine's time for the operator, who has checked it; `false` when it is before the time of the service.
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
        tracing::warn!(seconds, by, "service time moved forward");
        if let Err(error) = self.auth.record_clock_set(detail).await {
            tracing::warn!(%error, "cannot record the time change in the audit log");
        }
    }
}

/// The start time in development mode: the machine's time after an ordinary pause, otherwise the record.
pub(crate) fn development_start_time(machine: Timestamp, record: Timestamp) -> Timestamp {
    if machine.since(record) > MAX_DEVELOPMENT_GAP { record } else { machine.max(record) }
}

/// What the operator should do about a clock doubt.
pub(crate) fn operator_advice(reason: ClockDoubtReason) -> &'static str {
    match reason {
        ClockDoubtReason::AheadOfRecord => {
            "check the machine's clock (timedatectl); if it is right, make the platform reachable or run `deskpass clock repair`"
        }
        ClockDoubtReason::BehindRecord => {
            "check the machine's clock (timedatectl); if it is right, stop the service and run `deskpass clock repair`"
        }
        ClockDoubtReason::Stepped | ClockDoubtReason::Contradicted(_) => {
            "synchronise the machine's clock with NTP (timedatectl set-ntp true)"
        }
    }
}

/// The absolute difference of two timestamps.
pub(crate) fn clock_difference(one: Timestamp, other: Timestamp) -> Duration {
    one.since(other).max(other.since(one))
}
