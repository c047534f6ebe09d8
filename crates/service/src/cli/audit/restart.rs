//! `deskpass audit restart`: continues the log with a new key when the old key is lost.

use clap::Args;
use deskpass_core::{Clock, Timestamp};
use deskpass_store::{AuditEvent, OpenError, SameKey, restart_log};

use crate::app::installation::find_mismatch;
use crate::app::storage::{location, mode};
use crate::cli::operator_entry::operator_entry;
use crate::cli::{CliError, CommonArgs, output, require_database, runtime};

#[derive(Args, Debug)]
pub(in crate::cli) struct Restart {
    /// Confirm that the old key is lost: from now on, earlier changes to existing rows cannot be detected.
    #[arg(long, required = true)]
    key_is_lost: bool,
    /// Restart even with the key that the log was written with: existing rows are accepted without verification, and the log says so.
    #[arg(long)]
    accept_unverified_rows: bool,
    #[command(flatten)]
    common: CommonArgs,
}

const SAME_KEY: &str = "encryption_key is the key that the audit log was written with, so it is not lost, and nothing \
                        was changed; run `deskpass audit verify` to see whether rows were changed. To accept them as \
                        they are, add --accept-unverified-rows";

impl Restart {
    pub(super) fn run(self) -> Result<(), CliError> {
        let settings = self.common.settings()?;
        require_database(&settings)?;
        let runtime = runtime()?;
        // What makes the data unreadable here is reported by the restart itself.
        if let Ok(Some(mismatch)) = runtime.block_on(find_mismatch(&settings)) {
            return Err(mismatch.into());
        }
        let now = Clock::steady(Timestamp::from_millis(0)).now();
        let (same_key, detail) = if self.accept_unverified_rows {
            (SameKey::Accept, "chains restarted; earlier rows accepted without verification")
        } else {
            (SameKey::Refuse, "chains restarted with another encryption_key")
        };
        let (place, entry) = (location(&settings), operator_entry(&settings, AuditEvent::LogRestarted, now, detail)?);
        let restarted = runtime.block_on(restart_log(&place, mode(&settings), now, entry, same_key));
        let restarted = restarted.map_err(|error| match error {
            OpenError::InUse(data) => format!("a service runs on {}; stop it first", data.display()),
            error => error.to_string(),
        })?;
        if !restarted {
            return Err(SAME_KEY.into());
        }
        output::line(format_args!(
            "the audit log of {} continues with the encryption_key of the settings. Changes to earlier rows can be \
             detected from now on only, and earlier receipts are no longer valid. Agents whose passwords and devices \
             were protected with another key need new ones: deskpass agent reset-password, deskpass agent reset-otp",
            settings.data_location()
        ))?;
        Ok(())
    }
}
