//! `deskpass sync`: brings people up to date with the platform's directory.

use std::io::IsTerminal as _;
use std::time::Duration;

use clap::Args;

use super::executor::Executor;
use super::{CliError, CommonArgs, output, require_database};
use crate::commands::{AdminCommand, SyncAdminCommand, SyncResult, SyncState, corporation};

/// The time between two looks at the progress.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Args, Debug)]
pub(super) struct SyncArgs {
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Lock people out, and take roles of rules from people, even if unusually many are affected. Check first that the application still
    /// sees the whole company.
    #[arg(long)]
    force: bool,
    /// Print the result as a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: CommonArgs,
}

const HALTED: &str = "nothing was locked or taken away: unusually many people would be affected. Check at the platform that the \
                      application still sees the whole company, look at the list with --dry-run, then run this again with --force";

impl SyncArgs {
    pub(super) fn run(self) -> Result<(), CliError> {
        let settings = self.common.settings()?;
        require_database(&settings)?;
        let corporation = corporation(&settings);
        let executor = Executor::open(settings)?;
        let Self { dry_run, force, .. } = self;
        let command = AdminCommand::Sync(SyncAdminCommand::Start { dry_run, force });
        let run: u64 = executor.run_of(Some(&corporation), &command)?;
        let result = self.wait(&executor, run)?;
        output::line(if self.json { serde_json::to_string(&result)? } else { result.text() })?;
        if result.halted && !dry_run { Err(HALTED.into()) } else { Ok(()) }
    }

    /// Waits for the end of a synchronisation, and shows how far it is.
    fn wait(&self, executor: &Executor, run: u64) -> Result<SyncResult, CliError> {
        let (command, mut shown) = (AdminCommand::Sync(SyncAdminCommand::State { run }), String::new());
        loop {
            match executor.run::<SyncState>(&command)? {
                SyncState::Done(result) => return Ok(result),
                SyncState::Failed(why) => return Err(why.into()),
                SyncState::Running(progress) => {
                    if progress != shown && (!self.json || std::io::stderr().is_terminal()) {
                        output::note(&progress);
                    }
                    shown = progress;
                }
            }
            executor.pause(POLL_INTERVAL);
        }
    }
}
