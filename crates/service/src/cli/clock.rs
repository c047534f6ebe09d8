//! `deskpass clock`: recovers a service that recorded a wrong time.

use std::time::Duration;

use clap::{Args, Subcommand};
use deskpass_core::{Clock, Timestamp};
use deskpass_store::{OpenError, read_latest_recorded_time};
use jiff::fmt::rfc2822;

use super::{CliError, CommonArgs, output, require_database, runtime};
use crate::app::clock::clock_difference;
use crate::app::installation::NewData;
use crate::app::platform;
use crate::app::storage::{location, mode};
use crate::commands::AdminCommand;
use crate::config::{Language, Settings};
use crate::timestamp::format_utc;
use crate::{App, StartError};

/// The maximum difference between the machine's time and an independent clock.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_mins(5);

#[derive(Debug, Subcommand)]
pub(super) enum ClockCommand {
    /// Make the service use this machine's time again, after the clock was wrong.
    ///
    /// Shows the newest time on record, this machine's time and the time of an independent clock. Changes nothing without --yes.
    /// With --yes, records the machine's time, ends sessions that began in the future, and moves other times in the future back.
    /// The log keeps its rows and gets a row about this. First make sure that the machine's time is right.
    #[command(
        after_help = "Examples:\n  deskpass clock repair --config /etc/deskpass/deskpass.toml          show the clocks\n  deskpass clock repair --config /etc/deskpass/deskpass.toml --yes    apply the change"
    )]
    Repair(Repair),
}

#[derive(Args, Debug)]
pub(super) struct Repair {
    /// Apply the change.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl ClockCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Repair(repair) => repair.run(),
        }
    }
}

const NOTHING_TO_REPAIR: &str = "nothing was changed: the newest recorded time agrees with this machine's time";
const RUN_AGAIN: &str = "nothing was changed; if this machine's time is right, run the command again with --yes";

impl Repair {
    fn run(self) -> Result<(), CliError> {
        let (runtime, settings) = (runtime()?, self.common.settings()?);
        require_database(&settings)?;
        runtime.block_on(self.repair(settings))
    }

    async fn repair(&self, settings: Settings) -> Result<(), CliError> {
        let clock = Clock::steady(Timestamp::from_millis(0));
        match App::open_at_with(settings.clone(), clock.clone(), NewData::Leave).await {
            Ok(app) => {
                app.require_encryption_key().await?;
                let record = app.auth.store.latest_recorded_time().await?;
                let common = app.auth.store.database_time().await?;
                // A database on this machine has the same clock, so it cannot confirm that clock. It can contradict it.
                let common = common.filter(|common| common.on_other_machine || contradicts(common.at, &clock));
                let common = common.map(|common| common.at);
                if !self.agree(&settings, &clock, record, common).await? {
                    return Ok(());
                }
                let before = record.map_or_else(|| "nothing".to_owned(), format_utc);
                let detail = format!("from {before} to {} by the operator", format_utc(clock.now()));
                let done = app.auth.operator().repair_clock(detail).await?;
                output::line(format_args!(
                    "the service uses this machine's time from its next start; {} session(s) from the future ended, \
                     {} other record(s) moved back, {} row(s) of the audit log keep their later time",
                    done.sessions, done.others, done.log_rows
                ))?;
                Ok(())
            }
            Err(StartError::Open(OpenError::InUse(data))) => {
                let record = read_latest_recorded_time(&location(&settings), mode(&settings)).await?;
                if !self.agree(&settings, &clock, record, None).await? {
                    return Ok(());
                }
                let (confirm, development) = (AdminCommand::ConfirmClock, settings.development.enabled);
                Ok(output::line(confirm.send_to_service(&data, development, Language::En)??)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Prints the time of each clock, and returns whether to continue.
    async fn agree(
        &self,
        settings: &Settings,
        clock: &Clock,
        record: Option<Timestamp>,
        common: Option<Timestamp>,
    ) -> Result<bool, CliError> {
        let (whose, independent) = match common {
            Some(common) => ("database", Some(common)),
            None => ("platform", platform_time(settings, clock).await),
        };
        let shown = |moment: Option<Timestamp>| moment.map_or_else(|| "unknown".to_owned(), format_utc);
        output::line(format_args!("newest record  {}", shown(record)))?;
        output::line(format_args!("this machine   {}", format_utc(clock.now())))?;
        output::line(format_args!("{whose:<14} {}", shown(independent)))?;
        if independent.is_some_and(|independent| contradicts(independent, clock)) {
            return Err(format!(
                "this machine's time differs from the {whose}'s; set it first (timedatectl set-ntp true)"
            )
            .into());
        }
        if !self.yes {
            let agrees = record.is_none_or(|record| !contradicts(record, clock) || is_pause(record, clock));
            output::line(if agrees { NOTHING_TO_REPAIR } else { RUN_AGAIN })?;
        }
        Ok(self.yes)
    }
}

/// Whether the newest record is at most a day old, which the service accepts as a pause.
fn is_pause(record: Timestamp, clock: &Clock) -> bool {
    record <= clock.now() && clock.now().since(record) <= Duration::from_hours(24)
}

/// Whether the other clock shows that the machine's clock is wrong.
fn contradicts(other: Timestamp, clock: &Clock) -> bool {
    clock_difference(other, clock.now()) > MAX_CLOCK_DIFFERENCE
}

/// The platform's time, if the platform is another machine and responds.
async fn platform_time(settings: &Settings, clock: &Clock) -> Option<Timestamp> {
    if settings.development.enabled {
        return None;
    }
    let date = platform::client(settings, clock.clone()).ok()?.date().await.ok()??;
    let date = rfc2822::parse(&date).ok()?.timestamp();
    Some(Timestamp::from_millis(date.as_millisecond()))
}
