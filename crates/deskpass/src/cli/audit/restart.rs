//! `deskpass audit restart`: goes on with another key when the one from before is lost.

use clap::Args;
use deskpass_core::{ClientInfo, Clock, CorpId, EmployeeKey, Entropy, Timestamp};
use deskpass_store::{AuditEvent, ChainKey, LogEntry, OpenError, is_key_of_log, restart_log};

use crate::app::storage::{location, mode};
use crate::cli::{CliError, CommonArgs, require_database, runtime};
use crate::config::Settings;

/// Begin the chains of the log anew with the key of the settings.
#[derive(Args, Debug)]
pub(in crate::cli) struct Restart {
    /// Yes, the key from before is lost: from now on nobody can tell whether rows from before were changed.
    #[arg(long, required = true)]
    key_is_lost: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl Restart {
    pub(super) fn run(self) -> Result<(), CliError> {
        let settings = self.common.settings()?;
        if settings.store.url.is_none() {
            require_database(&settings.data)?;
        }
        let now = Clock::steady(Timestamp::from_millis(0)).now();
        let (runtime, place, mode) = (runtime()?, location(&settings), mode(&settings));
        // Otherwise a log that was changed would be taken for a new one, with the key that shows the change.
        let known = is_key_of_log(&place, mode, ChainKey::new(&settings.sealing_key()));
        if runtime.block_on(known).is_ok_and(|known| known == Some(true)) {
            return Err(
                "encryption_key is the one that the log was written with, so nothing is lost and nothing was changed; \
                        `deskpass audit verify` says whether rows were changed"
                    .into(),
            );
        }
        let restarted = restart_log(&place, mode, now, entry(&settings, now)?);
        runtime.block_on(restarted).map_err(|error| match error {
            OpenError::InUse(data) => format!("a service runs on {}; stop it first", data.display()),
            error => error.to_string(),
        })?;
        println!(
            "the log of {} goes on with the encryption_key of the settings. Rows from before can be verified from now on only; receipts \
             from before can no longer be used. Agents whose passwords and devices were kept with the key from before begin anew: \
             deskpass agent reset-password, deskpass agent reset-otp",
            settings.data_location()
        );
        Ok(())
    }
}

/// The row that tells of it.
fn entry(settings: &Settings, now: Timestamp) -> Result<LogEntry, CliError> {
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
        detail: "the chains were begun anew with another encryption_key".to_owned(),
        key: ChainKey::new(&settings.sealing_key()),
    })
}
