//! `deskpass key`: replaces the encryption key.

use std::io::IsTerminal as _;

use clap::{Args, Subcommand};
use deskpass_core::{Timestamp, key_id};
use serde_json::json;

use super::executor::Executor;
use super::{CliError, CommonArgs, output, require_database};
use crate::commands::{AdminCommand, KeyAdminCommand, KeyReport, ResealStep};
use crate::timestamp::format_utc;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Move the data to the first key of `encryption_key`, while the service runs.
    ///
    /// First add the new key to the settings of every node, as the second, and restart the nodes one after the other: then
    /// all can read what the others will write. Next put it first on every node, and restart them again; with one node, this
    /// step alone is enough. The data keeps its key until this command continues the audit log with the new one, and encrypts
    /// the authenticators and the signing keys of OpenID Connect with it. Passwords move at their next use. It can be stopped at any time and run again. Afterwards
    /// remove the old key from the settings: an attacker who has it is kept out from then on.
    #[command(
        after_help = "Examples:\n  deskpass key rotate --config /etc/deskpass/deskpass.toml\n  deskpass key rotate --json"
    )]
    Rotate(KeyArgs),
    /// Show which key protects what. Keys are shown by a short name, never themselves.
    #[command(after_help = "Example:\n  deskpass key status --config /etc/deskpass/deskpass.toml")]
    Status(KeyArgs),
    /// End what a replaced key is still good for.
    ///
    /// Until then, an attacker who has the key and can write to the database can make passwords and codes with it. Shows how many passwords and authenticators still need the key. They stop being valid, and so do all recovery codes and
    /// setup codes from before the key was replaced. The audit log can still be verified. Changes nothing without --yes.
    #[command(
        after_help = "Examples:\n  deskpass key forget 7d793037          show what would stop being valid\n  deskpass key forget 7d793037 --yes    apply the change"
    )]
    Forget(Forget),
}

#[derive(Args, Debug)]
pub(super) struct Forget {
    /// Name of the key, as `deskpass key status` shows it.
    #[arg(value_name = "KEY")]
    id: String,
    /// Apply the change.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct KeyArgs {
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl KeyCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Rotate(rotate) => rotate.rotate(),
            Self::Status(status) => status.status(),
            Self::Forget(forget) => forget.run(),
        }
    }
}

impl KeyArgs {
    fn rotate(&self) -> Result<(), CliError> {
        let settings = self.common.settings()?;
        require_database(&settings)?;
        let to = key_id(&settings.sealing_key());
        let executor = Executor::open(settings)?;
        let switched: bool = executor.run(&AdminCommand::Key(KeyAdminCommand::Switch { to: to.clone() }))?;
        self.note(if switched { "the audit log continues with the new key" } else { "the audit log uses this key" });
        let (mut after, mut checked, mut moved, mut signing_keys) = (None, 0, 0, 0);
        loop {
            let step: ResealStep =
                executor.run(&AdminCommand::Key(KeyAdminCommand::Reseal { to: to.clone(), after }))?;
            (checked, moved) = (checked + step.checked, moved + step.moved);
            signing_keys += step.signing_keys;
            if step.next.is_none() {
                break;
            }
            after = step.next;
            self.note(&format!("{checked} authenticator(s) checked, {moved} encrypted with the new key"));
        }
        let report: KeyReport = executor.run(&AdminCommand::Key(KeyAdminCommand::Status))?;
        self.show_rotation(switched, [moved, signing_keys], &report)?;
        if report.devices_left > 0 || report.signing_keys_left > 0 || report.unreadable > 0 {
            return Err("some data could not be moved to the new key; keep the old key, and run this again".into());
        }
        Ok(())
    }

    /// Shows the result, with the numbers of authenticators and signing keys that were moved.
    fn show_rotation(
        &self,
        switched: bool,
        [moved, signing_keys]: [u64; 2],
        report: &KeyReport,
    ) -> Result<(), CliError> {
        let KeyReport { current, configured, devices_left, passwords_left, signing_keys_left, unreadable, .. } = report;
        if self.json {
            let object = json!({
                "key": current, "switched": switched, "devices_moved": moved, "devices_left": devices_left,
                "passwords_left": passwords_left, "signing_keys_moved": signing_keys,
                "signing_keys_left": signing_keys_left, "unreadable": unreadable,
            });
            return Ok(output::line(object)?);
        }
        let nothing_left = *devices_left == 0 && *signing_keys_left == 0 && *unreadable == 0;
        let is_unchanged = !switched && moved == 0 && signing_keys == 0 && nothing_left;
        let mut lines = vec![if is_unchanged && configured.len() == 1 {
            "encryption_key lists one key, and the data uses it already: nothing to rotate; to change it, list a new key \
             first"
                .to_owned()
        } else {
            format!("the data uses the key {current}; {moved} authenticator(s) were moved to it")
        }];
        if signing_keys > 0 {
            lines.push(format!("{signing_keys} signing key(s) of OpenID Connect were moved to it"));
        }
        if *unreadable > 0 {
            lines.push(format!(
                "{unreadable} authenticator(s), password(s) or signing key(s) were protected with a key that is not known \
                 here: add it to encryption_key, or replace them (deskpass agent reset-otp, deskpass agent \
                 reset-password, deskpass oidc rotate-keys --now)"
            ));
        }
        if *passwords_left > 0 {
            lines.push(format!(
                "{passwords_left} password(s) move at their next use. Until then they are valid as before, and so are \
                 recovery codes: the old key is kept in the database, encrypted with the new one"
            ));
        }
        if nothing_left && configured.len() > 1 {
            lines.push(
                "the old key can now be removed from encryption_key on every node. Keep a copy of it apart from the \
                 backups, for as long as backups from before are kept: they need it"
                    .to_owned(),
            );
        }
        Ok(output::line(lines.join("\n"))?)
    }

    fn status(&self) -> Result<(), CliError> {
        let settings = self.common.settings()?;
        require_database(&settings)?;
        let report: KeyReport = Executor::open(settings)?.run(&AdminCommand::Key(KeyAdminCommand::Status))?;
        if self.json {
            return Ok(output::line(serde_json::to_string(&report)?)?);
        }
        Ok(output::line(describe(&report))?)
    }

    /// Shows progress, where an operator looks at it or a file keeps it.
    fn note(&self, text: &str) {
        if !self.json || std::io::stderr().is_terminal() {
            output::note(text);
        }
    }
}

impl Forget {
    fn run(self) -> Result<(), CliError> {
        let settings = self.common.settings()?;
        require_database(&settings)?;
        let executor = Executor::open(settings)?;
        let report: KeyReport = executor.run(&AdminCommand::Key(KeyAdminCommand::Status))?;
        let (devices, passwords) = used(&report, &self.id);
        output::line(format!(
            "without the key {}, {passwords} password(s) and {devices} authenticator(s) that use it are not valid any \
             more, nor are recovery codes and setup codes from before it was replaced. Their owners need new ones: \
             deskpass agent reset-password, deskpass agent reset-otp",
            self.id
        ))?;
        if !self.yes {
            return Ok(output::line("nothing was changed; to forget the key, run the command again with --yes")?);
        }
        let forgotten: bool = executor.run(&AdminCommand::Key(KeyAdminCommand::Forget { id: self.id }))?;
        Ok(output::line(if forgotten {
            "the key was forgotten; other running nodes follow within a minute"
        } else {
            "the key was forgotten before"
        })?)
    }
}

/// The number of authenticators and passwords that use a key.
fn used(report: &KeyReport, key: &str) -> (u64, u64) {
    let found = report.keys.iter().find(|used| used.key == key);
    found.map_or((0, 0), |used| (used.devices, used.passwords))
}

/// How much of the data uses a key.
fn describe_use(report: &KeyReport, key: &str) -> String {
    let (devices, passwords) = used(report, key);
    let signing_keys = report.keys.iter().find(|used| used.key == key).map_or(0, |used| used.signing_keys);
    let credentials = format!("{devices} authenticator(s), {passwords} password(s)");
    if signing_keys == 0 { credentials } else { format!("{credentials}, {signing_keys} signing key(s)") }
}

fn describe(report: &KeyReport) -> String {
    let mut lines = vec![format!("the audit log is written with the key {}", report.current)];
    for key in &report.configured {
        let role = if *key == report.current { "encrypts and decrypts" } else { "decrypts" };
        lines.push(format!("{key}  in the settings, {role}: {}", describe_use(report, key)));
    }
    for retired in report.retired.iter().filter(|retired| !report.configured.contains(&retired.key)) {
        let since = format_utc(Timestamp::from_millis(retired.at));
        let kept = if retired.forgotten {
            "forgotten: it only verifies the audit log"
        } else {
            "kept encrypted in the database"
        };
        lines.push(format!("{}  replaced {since}, {kept}: {}", retired.key, describe_use(report, &retired.key)));
    }
    if report.unreadable > 0 {
        lines.push(format!(
            "{} authenticator(s), password(s) or signing key(s) need a key that is not known here",
            report.unreadable
        ));
    }
    lines.push(next_step(report).to_owned());
    lines.join("\n")
}

fn next_step(report: &KeyReport) -> &'static str {
    let first = report.configured.first();
    if report.retired.iter().any(|retired| Some(&retired.key) == first) {
        "the first key was replaced: put the current one first"
    } else if first != Some(&report.current) || report.devices_left > 0 || report.signing_keys_left > 0 {
        "to move the data to the first key: deskpass key rotate"
    } else if report.configured.len() > 1 {
        "the older keys can be removed from encryption_key"
    } else {
        "nothing to do"
    }
}
