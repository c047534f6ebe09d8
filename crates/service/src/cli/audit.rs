//! `deskpass audit`: verifies the audit log and exports it.

mod export;
mod report;
mod restart;

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use clap::{Args, Subcommand};
use deskpass_core::{Clock, Timestamp};
use deskpass_store::{ChainKeys, DirectReadError, LogVerification, OpenError, Receipt, VerifyError, verify_log};

use super::{CliError, CommonArgs, require_database, runtime};
use crate::app::storage::{location, mode};
use crate::config::Settings;

/// How often progress is printed to a terminal, and to a file.
const TERMINAL_PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
const FILE_PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Verify that the log is as it was written.
    ///
    /// Reads the whole log while the service runs and changes nothing. Exits with 1 if a row was changed, removed,
    /// moved, inserted or taken out of its chain, or cannot be verified, and names the row. If the log is intact,
    /// prints a receipt. Keep receipts where no one who can change the database can reach them: a later run uses one to
    /// detect rows that were cut off the end.
    #[command(
        after_help = "Examples:\n  deskpass audit verify --config /etc/deskpass/deskpass.toml\n  deskpass audit verify --receipt \"$(cat /mnt/elsewhere/receipt)\""
    )]
    Verify(Verify),
    /// Write the log of one corporation to standard output, newest first.
    ///
    /// Reads while the service runs and changes nothing.
    #[command(
        after_help = "Examples:\n  deskpass audit export --format csv > log.csv\n  deskpass audit export --format jsonl --from 2026-07-01 --to 2026-08-01 --employee zhangsan > july.jsonl\n  deskpass audit export --format jsonl --reference 1a2b3c4d"
    )]
    Export(export::Export),
    /// Continue with a new key when the key that the log was written with is lost.
    ///
    /// Moves all rows into a chain of the new key. They can be verified again from then on, but earlier changes to them
    /// can no longer be detected. The log gets a row that records this. In production the service does not start with a
    /// key that the data was not written with, so restore the old key if at all possible.
    #[command(after_help = "Example:\n  deskpass audit restart --key-is-lost --config /etc/deskpass/deskpass.toml")]
    Restart(restart::Restart),
}

impl AuditCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Verify(verify) => verify.run(),
            Self::Export(export) => export.run(),
            Self::Restart(restart) => restart.run(),
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct Verify {
    /// Receipt that an earlier run printed.
    #[arg(long, value_name = "TEXT")]
    receipt: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

impl Verify {
    fn run(self) -> Result<(), CliError> {
        let settings = self.common.settings()?;
        require_database(&settings)?;
        let keys = ChainKeys::new(&settings.sealing_keys());
        let receipt = self.receipt.as_deref().map(Receipt::parse).transpose();
        let receipt = receipt.map_err(|error| format!("invalid --receipt: {error}"))?;
        let candidates = keys.clone();
        let knows = move |check: &str| candidates.matches_check(check);
        let (place, mode) = (location(&settings), mode(&settings));
        let verification = LogVerification {
            receipt: receipt.as_ref(),
            progress: Box::new(meter()),
            ..LogVerification::new(&place, mode, &keys, knows)
        };
        let verdict = runtime()?.block_on(verify_log(verification)).map_err(|error| refusal(&error, &settings))?;
        // The exit code is set even if the reader closed the pipe.
        let _ = io::stdout().write_all(report::render(&verdict, receipt.is_some()).as_bytes());
        if verdict.faults.is_empty() { Ok(()) } else { Err("the audit log failed verification".into()) }
    }
}

/// Returns a closure that prints progress at intervals.
fn meter() -> impl FnMut(u64, u64) + Send + 'static {
    let clock = Clock::steady(Timestamp::from_millis(0));
    let between = if io::stderr().is_terminal() { TERMINAL_PROGRESS_INTERVAL } else { FILE_PROGRESS_INTERVAL };
    let mut message = clock.now();
    move |rows, of| {
        let now = clock.now();
        if now.since(message) >= between {
            message = now;
            // Verification continues even if the progress cannot be printed.
            let _ = writeln!(io::stderr(), "{rows} of {of} rows");
        }
    }
}

fn refusal(error: &VerifyError, settings: &Settings) -> String {
    match error {
        VerifyError::WrongKey => format!(
            "encryption_key is not the key that the audit log in {} was written with, so the audit log cannot be \
             verified; restore that key in the settings, or pass the settings of the service with --config. If the \
             key is right, every trace of it in the audit log was overwritten",
            settings.data_location()
        ),
        VerifyError::Receipt(error) => format!("invalid --receipt: {error}"),
        VerifyError::Read(error) => unreadable(error),
    }
}

/// The reason why the data cannot be read, and how to fix it.
pub(super) fn unreadable(error: &DirectReadError) -> String {
    match error {
        DirectReadError::Open(OpenError::Database { .. }) => {
            format!("{error}; run the command as the service's user")
        }
        error => error.to_string(),
    }
}
