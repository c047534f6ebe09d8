//! `deskpass clock`: brings a service back whose record has a wrong time.

use clap::{Args, Subcommand};
use deskpass_core::{Clock, Timestamp};
use deskpass_store::{OpenError, read_latest_recorded_time};
use jiff::fmt::rfc2822;

use super::{CliError, CommonArgs, require_database, runtime};
use crate::app::clock::clock_difference;
use crate::app::clock::format_utc;
use crate::app::platform;
use crate::app::storage::{location, mode};
use crate::commands::AdminCommand;
use crate::config::Settings;
use crate::{App, StartError};

/// How far the machine's time may be from an independent clock.
const MAX_CLOCK_DIFFERENCE: std::time::Duration = std::time::Duration::from_mins(5);

/// Look after the time that the service goes by.
#[derive(Debug, Subcommand)]
pub(super) enum ClockCommand {
    /// Have the service go by this machine's time again, after the clock was wrong.
    ///
    /// Shows the newest time on record, this machine's time and that of an independent clock, and changes nothing without --yes.
    /// With it, the machine's time is put on record. Sessions that began in the future end, and what else has a time in the future
    /// is brought back; the log keeps its rows and gets one about this. Make sure that the machine's time is right first.
    #[command(
        after_help = "Examples:\n  deskpass clock repair --config /etc/deskpass.toml          look first\n  deskpass clock repair --config /etc/deskpass.toml --yes    then do it"
    )]
    Repair(Repair),
}

/// Have the service go by this machine's time again.
#[derive(Args, Debug)]
pub(super) struct Repair {
    /// Do it.
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

const NOTHING_TO_REPAIR: &str = "nothing was changed: the newest record goes with this machine's time";
const RUN_AGAIN: &str = "nothing was changed; if this machine's time is right, run it again with --yes";

impl Repair {
    fn run(self) -> Result<(), CliError> {
        let (runtime, settings) = (runtime()?, self.common.settings()?);
        if settings.store.url.is_none() {
            require_database(&settings.data)?;
        }
        runtime.block_on(self.repair(settings))
    }

    async fn repair(&self, settings: Settings) -> Result<(), CliError> {
        let clock = Clock::steady(Timestamp::from_millis(0));
        match App::open_at(settings.clone(), clock.clone()).await {
            Ok(app) => {
                app.require_encryption_key().await?;
                let record = app.auth.store.latest_recorded_time().await?;
                let common = app.auth.store.database_time().await?;
                // A database on this machine has the clock that is to be confirmed, so it confirms nothing. It can contradict.
                let common = common.filter(|common| common.on_other_machine || contradicts(common.at, &clock));
                let common = common.map(|common| common.at);
                if !self.agree(&settings, &clock, record, common).await? {
                    return Ok(());
                }
                let before = record.map_or_else(|| "nothing".to_owned(), format_utc);
                let detail = format!("from {before} to {} by the operator", format_utc(clock.now()));
                let done = app.auth.operator().repair_clock(detail).await?;
                println!(
                    "the service goes by this machine's time from its next start on; {} session(s) from the future ended, {} \
                     other record(s) brought back, {} row(s) of the log keep their later time",
                    done.sessions, done.others, done.log_rows
                );
                Ok(())
            }
            Err(StartError::Open(OpenError::InUse(data))) => {
                let record = read_latest_recorded_time(&location(&settings), mode(&settings)).await?;
                if !self.agree(&settings, &clock, record, None).await? {
                    return Ok(());
                }
                println!("{}", AdminCommand::ConfirmClock.send_to_service(&data, settings.development)??);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Tells what each clock shows, and whether to go on.
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
        println!("newest record  {}", shown(record));
        println!("this machine   {}", format_utc(clock.now()));
        println!("{whose:<14} {}", shown(independent));
        if independent.is_some_and(|independent| contradicts(independent, clock)) {
            return Err(format!(
                "this machine's time is wrong by the {whose}'s clock; set it first (timedatectl set-ntp true)"
            )
            .into());
        }
        if !self.yes {
            let agrees = record.is_none_or(|record| !contradicts(record, clock));
            println!("{}", if agrees { NOTHING_TO_REPAIR } else { RUN_AGAIN });
        }
        Ok(self.yes)
    }
}

/// Whether another clock shows that the machine's is wrong.
fn contradicts(other: Timestamp, clock: &Clock) -> bool {
    clock_difference(other, clock.now()) > MAX_CLOCK_DIFFERENCE
}

/// The platform's time, where the platform is another machine that answers.
async fn platform_time(settings: &Settings, clock: &Clock) -> Option<Timestamp> {
    if settings.development {
        return None;
    }
    let date = platform::client(settings, clock.clone()).ok()?.date().await.ok()??;
    let date = rfc2822::parse(&date).ok()?.timestamp();
    Some(Timestamp::from_millis(date.as_millisecond()))
}
