//! `deskpass restore`: creates the data from a backup.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use deskpass_core::{Clock, Timestamp};
use deskpass_store::{
    AuditEvent, BackupFileError, BackupHeader, ChainKeys, EndedByRestore, LogEntry, OpenError, RestoreError,
    RestoreReport, RestoreSettings, RestoredSessions,
};
use serde_json::json;

use super::backup::{meter, read_password};
use super::operator_entry::operator_entry;
use super::{CliError, CommonArgs, output, runtime};
use crate::app::installation::data_platform;
use crate::app::storage::{location, mode};
use crate::timestamp::{format_utc, rfc3339};

#[derive(Args, Debug)]
pub(super) struct Restore {
    /// Backup to read, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Keep sessions, service keys and recovery codes: for a planned move, with all services stopped since before the backup.
    /// What ended, was revoked or was used after the backup is valid again.
    #[arg(long)]
    keep_sessions: bool,
    /// Confirm that the encryption key of the data is lost. The audit log continues with the key of the settings, and earlier
    /// changes to its rows can no longer be detected; agents need new passwords and authenticators.
    #[arg(long)]
    key_is_lost: bool,
    /// File whose first line is the password of an encrypted backup.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Print the result as a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl Restore {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (runtime, settings) = (runtime()?, self.common.settings()?);
        let password = self.password_file.as_deref().map(read_password).transpose()?;
        let now = Clock::steady(Timestamp::from_millis(0)).now();
        let sessions = if self.keep_sessions {
            RestoredSessions::Keep
        } else {
            RestoredSessions::End { deny_until: now + settings.session.lifetime }
        };
        let (mode, key) = (mode(&settings), ChainKeys::new(&settings.sealing_keys()));
        let (platform, key_is_lost) = (data_platform(&settings), self.key_is_lost);
        let wanted = RestoreSettings { mode, platform, now, key, key_is_lost, password, sessions };
        let entry = operator_entry(&settings, AuditEvent::Restored, now, "")?;
        let entry = move |header: &BackupHeader| LogEntry { detail: detail(header), ..entry };
        let (place, name) = (settings.data_location(), self.file.display().to_string());
        let (from, to) = (open(&self.file)?, location(&settings));
        let restored = deskpass_store::restore(from, &to, wanted, entry, meter());
        let report = runtime.block_on(restored).map_err(|error| refusal(&error, &name, &place))?;
        output::line(if self.json { json_summary(&report) } else { summary(&report, &place) })?;
        if self.key_is_lost {
            output::note(KEY_IS_LOST);
        }
        Ok(())
    }
}

/// What is left to do for agents when the key was lost.
const KEY_IS_LOST: &str = "agents' passwords and authenticators made with the lost key no longer work; give each agent \
                           new ones: deskpass agent reset-password EMPLOYEE, deskpass agent reset-otp EMPLOYEE (the \
                           agents: deskpass agent list)";

fn open(file: &Path) -> Result<Box<dyn Read + Send>, CliError> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    match File::open(file) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(format!("cannot read {}: {error}", file.display()).into()),
    }
}

/// The detail of the row of the audit log.
fn detail(header: &BackupHeader) -> String {
    format!("from a backup of {}, written by deskpass {}", format_utc(header.created_at), header.deskpass)
}

/// The message for a failed restore: the cause and the fix.
fn refusal(error: &RestoreError, file: &str, place: &str) -> String {
    let why = match error {
        RestoreError::File(BackupFileError::PasswordNeeded) => {
            format!("{file} is encrypted; name the file with its password with --password-file")
        }
        RestoreError::File(BackupFileError::NotEncrypted) => {
            format!("{file} is not encrypted, so it may not be your file; if it is, leave out --password-file")
        }
        RestoreError::File(BackupFileError::Io(error)) => format!("cannot read {file}: {error}"),
        RestoreError::File(error) => format!("{file} cannot be restored: {error}"),
        RestoreError::Newer { .. } => format!("{file} needs a later deskpass: {error}"),
        RestoreError::Mode { found, .. } => {
            let hint = if found == "production" { "leave out --dev" } else { "add --dev" };
            format!("{file} cannot be restored: {error}; {hint}")
        }
        RestoreError::Platform(mismatch) => {
            format!("{file} cannot be restored: {mismatch}; set {}", mismatch.fitting_setting())
        }
        RestoreError::Key => format!(
            "encryption_key is not the key that the data in {file} was written with; put that key into the settings. \
             If it is permanently lost, add --key-is-lost"
        ),
        RestoreError::Target(OpenError::InUse(data)) => {
            format!("a service runs on {}; stop it first, or choose another directory with --data", data.display())
        }
        RestoreError::Target(error) => error.to_string(),
        RestoreError::NodesRun => format!("nodes run on {place}; stop all nodes first"),
        RestoreError::NotEmpty(what) => format!(
            "{place} already contains data ({what}); choose an empty directory with --data, or an empty database with \
             store.url"
        ),
        RestoreError::OtherTables { .. } => {
            format!("{place} cannot be used: {error}; choose a database without tables with store.url")
        }
        RestoreError::Broken { table, error } => {
            format!("the restore to {place} failed in {table}: {error}; the command can be run again")
        }
    };
    format!("nothing was restored: {why}")
}

fn rows(report: &RestoreReport) -> u64 {
    report.tables.iter().map(|(_, rows)| rows).sum()
}

fn summary(report: &RestoreReport, place: &str) -> String {
    let (count, header) = (report.tables.len(), &report.header);
    let ended = report.ended.as_ref().map_or_else(
        || {
            "sessions were kept, and so were service keys, recovery codes and signing keys; if any ended after the backup, \
             end all sessions (deskpass session end-all --yes), revoke those keys, and run deskpass oidc rotate-keys --now"
                .to_owned()
        },
        ended_summary,
    );
    format!(
        "restored {} row(s) of {count} table(s) to {place} from a backup of {}\n{ended}\nreview what changed since the \
         backup: people, agents, roles, links, rules, and OpenID Connect clients with their secrets are as they were then",
        rows(report),
        format_utc(header.created_at)
    )
}

/// What ended, and how to replace it.
fn ended_summary(ended: &EndedByRestore) -> String {
    let EndedByRestore { sessions, service_keys, recovery_codes, oidc_clients, signing_keys, timed_roles } = ended;
    let mut lines =
        vec![format!("{sessions} session(s) ended, so that none that ended after the backup is valid again")];
    if !service_keys.is_empty() {
        // The names come from the file.
        let names: Vec<_> = service_keys.iter().map(|name| name.escape_debug().to_string()).collect();
        lines.push(format!(
            "{} service key(s) revoked: {}; create new ones: deskpass service-key create NAME --scope SCOPE (the old \
             scopes: deskpass service-key list)",
            names.len(),
            names.join(", ")
        ));
    }
    if !oidc_clients.is_empty() {
        let ids: Vec<_> = oidc_clients.iter().map(|id| id.escape_debug().to_string()).collect();
        lines.push(format!(
            "{} OpenID Connect client(s) have the secrets and addresses of the backup: {}; disable those that were removed \
             since, and if a secret leaked: deskpass oidc client rotate-secret CLIENT --now",
            ids.len(),
            ids.join(", ")
        ));
    }
    if *signing_keys > 0 {
        lines.push(format!(
            "{signing_keys} signing key(s) withdrawn; the service makes new ones, which programs read from /oidc/jwks"
        ));
    }
    if *timed_roles > 0 {
        lines.push(format!(
            "{timed_roles} temporary role(s) taken back; give those that are still needed again: deskpass role grant \
             EMPLOYEE ROLE --for 2h --reason TEXT"
        ));
    }
    if *recovery_codes > 0 {
        lines.push(format!(
            "{recovery_codes} recovery code(s) deleted; authenticators still work, and a new one comes with new codes: \
             deskpass agent reset-otp EMPLOYEE"
        ));
    }
    lines.join("\n")
}

fn json_summary(report: &RestoreReport) -> String {
    let (header, ended) = (&report.header, report.ended.clone().unwrap_or_default());
    let summary = json!({
        "created_at": rfc3339(header.created_at),
        "deskpass": header.deskpass,
        "source": header.source,
        "schema": header.schema,
        "tables": report.tables.len(),
        "rows": rows(report),
        "sessions_kept": report.ended.is_none(),
        "sessions_ended": ended.sessions,
        "service_keys_revoked": ended.service_keys,
        "recovery_codes_deleted": ended.recovery_codes,
        "oidc_clients": ended.oidc_clients,
        "signing_keys_withdrawn": ended.signing_keys,
        "timed_roles_ended": ended.timed_roles,
    });
    summary.to_string()
}
