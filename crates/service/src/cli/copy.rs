//! `deskpass copy`: copies the data of a node's embedded database to a database that several nodes can share.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use deskpass_core::{Clock, Timestamp, opaque_debug};
use deskpass_store::{CopyError, CopyProgress, CopyReport, Mode, OpenError, PostgresSettings};

use super::{CliError, inaccessible, runtime};
use crate::config::{self, Destination, Override, Sources};

/// The minimum interval between two progress lines; a reader cannot follow a shorter one.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Args, Debug)]
pub(super) struct CopyArgs {
    /// The embedded database: `sqlite:` and its directory. No service may be running on it.
    #[arg(long, value_name = "sqlite:DIR")]
    from: String,
    /// The PostgreSQL database to copy to, which must be empty [default: store.url of the settings]. Other users of
    /// this machine can see a password on the command line.
    #[arg(long, value_name = "postgres://…")]
    to: Option<SensitiveArg>,
    /// Settings file [default: ./deskpass.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The data is of development mode.
    #[arg(long)]
    dev: bool,
}

/// An argument that may hold a password.
#[derive(Clone)]
struct SensitiveArg(String);

impl From<String> for SensitiveArg {
    fn from(text: String) -> Self {
        Self(text)
    }
}

opaque_debug!(SensitiveArg);

impl CopyArgs {
    pub(super) fn run(self) -> Result<(), CliError> {
        let from = directory(&self.from)?;
        let to = self.destination()?;
        require_source(&from)?;
        let mode = if to.development { Mode::Development } else { Mode::Production };
        let target = PostgresSettings { ca_file: to.ca_file, ..PostgresSettings::new(to.url.expose().to_owned()) };
        let clock = Clock::steady(Timestamp::from_millis(0));
        let (began, mut meter) = (clock.now(), ProgressMeter::new(io::stderr(), clock.clone()));
        let copied = deskpass_store::copy(&from, &target, mode, began, move |progress| meter.report(progress));
        let copied = runtime()?.block_on(copied).map_err(|error| refusal(&error, &from, &to.url))?;
        // The exit code is set even if the reader closed the pipe.
        let _ = io::stdout().write_all(summary(&copied, clock.now().since(began)).as_bytes());
        Ok(())
    }

    fn destination(&self) -> Result<Destination, CliError> {
        let mut overrides = Vec::new();
        if let Some(SensitiveArg(to)) = &self.to {
            overrides.push(Override { key: "store.url", value: to.clone(), flag: "--to" });
        }
        if self.dev {
            overrides.push(Override { key: "development.enabled", value: "true".into(), flag: "--dev" });
        }
        let environment = std::env::vars_os().collect();
        let read = |path: &Path| std::fs::read_to_string(path);
        let sources = Sources { file: self.config.clone(), environment, overrides, read: &read };
        Ok(config::destination(&sources)?)
    }
}

/// The directory in `sqlite:DIR`. The error does not repeat the argument, which may be an address with a password.
fn directory(from: &str) -> Result<PathBuf, CliError> {
    let path = from.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path));
    match path.filter(|path| !path.is_empty()) {
        Some(path) => Ok(PathBuf::from(path)),
        None => Err("--from must be sqlite: and the directory of the embedded database, such as \
                     sqlite:/var/lib/deskpass; it can only be copied to PostgreSQL"
            .into()),
    }
}

fn require_source(from: &Path) -> Result<(), CliError> {
    if from.is_file() {
        return Err(format!("{} is a file; --from takes the directory that contains it", from.display()).into());
    }
    match from.join("deskpass.db").try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("there is no deskpass data in {}; check --from", from.display()).into()),
        Err(error) => Err(inaccessible(from, &error, "--from").into()),
    }
}

/// The message for a failed copy: the cause and the fix. The target stays empty in every case.
fn refusal(error: &CopyError, from: &Path, to: &impl fmt::Display) -> String {
    let from = from.display();
    match error {
        CopyError::Source(OpenError::InUse(_)) => {
            format!("a service runs on {from}; stop it first: changes made during the copy would be lost")
        }
        CopyError::Target(OpenError::Mode { found, .. }) => {
            format!("{to} was created in {found}, and data cannot change its mode; choose another database")
        }
        CopyError::Target(OpenError::Server { error, .. }) => {
            format!("cannot use {to}: {error}; run `deskpass doctor` to find the cause")
        }
        CopyError::Source(error) | CopyError::Target(error) => error.to_string(),
        CopyError::Older { .. } => {
            format!("the data in {from} has an earlier version ({error}); run `deskpass migrate` first")
        }
        CopyError::NotEmpty { table, rows } => {
            format!("{to} already contains data ({table}: {rows}); choose an empty database, or empty this one")
        }
        CopyError::Broken { table, error } => {
            format!("the copy to {to} failed in {table}: {error}; nothing was copied, so the command can be run again")
        }
    }
}

fn summary(copied: &CopyReport, took: Duration) -> String {
    let lines: Vec<_> = copied.tables.iter().map(|(table, rows)| format!("  {table:<20} {rows:>12}\n")).collect();
    let rows: u64 = copied.tables.iter().map(|(_, rows)| rows).sum();
    format!(
        "copied {rows} row(s) of {} table(s) in {:.1} s\n{}",
        copied.tables.len(),
        took.as_secs_f64(),
        lines.concat()
    )
}

/// Prints the progress of a copy, a backup or a restore at intervals.
pub(super) struct ProgressMeter<W> {
    out: W,
    clock: Clock,
    reported_at: Option<Timestamp>,
}

impl<W: Write> ProgressMeter<W> {
    pub(super) fn new(out: W, clock: Clock) -> Self {
        Self { out, clock, reported_at: None }
    }

    pub(super) fn report(&mut self, CopyProgress { table, rows, of }: CopyProgress<'_>) {
        let now = self.clock.now();
        if self.reported_at.is_some_and(|reported_at| now.since(reported_at) < PROGRESS_INTERVAL) {
            return;
        }
        self.reported_at = Some(now);
        // The copy continues even if the progress cannot be printed.
        let _ = writeln!(self.out, "{table}: {rows} of {of}");
    }
}

#[cfg(test)]
mod tests;
