//! `deskpass audit restart`: continues the log with a new key when the old key is lost.

use clap::Args;
use deskpass_core::{ClientInfo, Clock, CorpId, EmployeeKey, Entropy, Timestamp};
use deskpass_store::{AuditEvent, ChainKeys, LogEntry, OpenError, SameKey, restart_log};

use crate::app::storage::{location, mode};
use crate::cli::{CliError, CommonArgs, output, require_database, runtime};
use crate::config::Settings;

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
        let now = Clock::steady(Timestamp::from_millis(0)).now();
        let (same_key, detail) = if self.accept_unverified_rows {
            (SameKey::Accept, "chains restarted; earlier rows accepted without verification")
        } else {
            (SameKey::Refuse, "chains restarted with another encryption_key")
        };
        let (place, entry) = (location(&settings), entry(&settings, now, detail)?);
        let restarted = runtime()?.block_on(restart_log(&place, mode(&settings), now, entry, same_key));
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

/// The log row that records the restart.
fn entry(settings: &Settings, now: Timestamp, detail: &str) -> Result<LogEntry, CliError> {
    let home = CorpId::parse(&settings.platform.corp_id).map_err(|error| format!("platform.corp_id {error}"))?;
    let random = u128::from_be_bytes(Entropy::system().bytes()?) >> 48;
    Ok(LogEntry {
        id: format!("{:012x}{random:020x}", now.millis()),
        at: now,
        event: AuditEvent::LogRestarted,
        about: EmployeeKey::from_parts(home.as_str(), ""),
        role: None,
        method: None,
        source: None,
        visitor: ClientInfo::operator(),
        actor: None,
        reason: None,
        detail: detail.to_owned(),
        key: ChainKeys::new(&settings.sealing_keys()),
    })
}
