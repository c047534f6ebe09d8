//! `deskpass audit restart`: continues the log with a new key when the old key is lost.

use clap::Args;
use deskpass_core::{ClientInfo, Clock, CorpId, EmployeeKey, Entropy, Timestamp};
use deskpass_store::{AuditEvent, ChainKey, LogEntry, OpenError, is_key_of_log, restart_log};

use crate::app::storage::{location, mode};
use crate::cli::{CliError, CommonArgs, require_database, runtime};
use crate::config::Settings;

/// Start the chains of the log again with the key in the settings.
#[derive(Args, Debug)]
pub(in crate::cli) struct Restart {
    /// Confirm that the old key is lost: from now on, earlier changes to existing rows cannot be detected.
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
        // With the right key, a restart would accept a changed log as a new one and hide a change that the key can still show.
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

/// The log row that records the restart.
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
