//! `deskpass backup`: writes all data to one file, while the service runs.

mod partial_file;

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use deskpass_core::{Clock, Timestamp};
use deskpass_store::{BackupError, BackupPassword, BackupReport, BackupSettings, CopyProgress};
use serde_json::json;

use super::audit::unreadable;
use super::copy::ProgressMeter;
use super::{CliError, CommonArgs, output, require_database, runtime};
use crate::app::storage::{location, mode};
use crate::secret_files::exposed_files;
use crate::timestamp::rfc3339;
use partial_file::PartialFile;

#[derive(Args, Debug)]
pub(super) struct Backup {
    /// File to write, or - for standard output.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Encrypt the backup with the password in this file: its first line, at least 12 characters. Without the password, the
    /// backup is lost.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Print the result as a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl Backup {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (runtime, settings) = (runtime()?, self.common.settings()?);
        require_database(&settings)?;
        let password = self.password_file.as_deref().map(read_password).transpose()?;
        let now = Clock::steady(Timestamp::from_millis(0)).now();
        let (deskpass, out) = (env!("CARGO_PKG_VERSION").to_owned(), Output::open(&self.file, self.force)?);
        let wanted = BackupSettings { deskpass, now, password };
        let place = location(&settings);
        let written = deskpass_store::backup(&place, mode(&settings), wanted, out, meter());
        let (report, out) = runtime.block_on(written).map_err(|error| refusal(&error))?;
        let is_file = matches!(out, Output::File(_));
        out.complete()?;
        let text = if self.json { json_summary(&report, &self.file) } else { summary(&report, &self.file) };
        if is_file {
            output::line(text)?;
        } else {
            // Standard output is the backup.
            output::note(text);
        }
        Ok(())
    }
}

/// Where the backup goes.
#[derive(Debug)]
enum Output {
    Stdout(io::Stdout),
    File(PartialFile),
}

impl Output {
    fn open(file: &Path, force: bool) -> Result<Self, CliError> {
        if file != Path::new("-") {
            return Ok(Self::File(PartialFile::create(file, force)?));
        }
        let stdout = io::stdout();
        if stdout.is_terminal() {
            return Err("a backup is no text for a terminal; name a file, or redirect the output".into());
        }
        Ok(Self::Stdout(stdout))
    }

    fn complete(self) -> Result<(), CliError> {
        match self {
            Self::Stdout(mut stdout) => Ok(stdout.flush()?),
            Self::File(file) => file.complete(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::File(file) => file.flush(),
        }
    }
}

/// Reads the password of a backup: the first line of a file. Warns if other users can read the file.
pub(super) fn read_password(path: &Path) -> Result<BackupPassword, CliError> {
    for file in exposed_files(&[path.to_owned()]) {
        output::note(format_args!("warning: {}", file.warning()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let password = BackupPassword::new(text.lines().next().unwrap_or_default());
    password.ok_or_else(|| {
        let least = BackupPassword::MIN_CHARS;
        format!("the password in {} is too short; its first line must have {least} characters or more", path.display())
            .into()
    })
}

/// Returns a closure that prints progress to a terminal at intervals.
pub(super) fn meter() -> impl FnMut(CopyProgress<'_>) + Send + 'static {
    let mut meter = ProgressMeter::new(io::stderr(), Clock::steady(Timestamp::from_millis(0)));
    let is_shown = io::stderr().is_terminal();
    move |progress: CopyProgress<'_>| {
        if is_shown {
            meter.report(progress);
        }
    }
}

fn refusal(error: &BackupError) -> String {
    match error {
        BackupError::Read(error) => unreadable(error),
        error => error.to_string(),
    }
}

fn rows(report: &BackupReport) -> u64 {
    report.tables.iter().map(|(_, rows)| rows).sum()
}

fn summary(report: &BackupReport, file: &Path) -> String {
    let encrypted = if report.header.encryption.is_some() { ", encrypted" } else { "" };
    format!(
        "backed up {} row(s) of {} table(s) to {} ({} bytes{encrypted})",
        rows(report),
        report.tables.len(),
        file.display(),
        report.bytes
    )
}

fn json_summary(report: &BackupReport, file: &Path) -> String {
    let header = &report.header;
    let summary = json!({
        "file": file.display().to_string(),
        "created_at": rfc3339(header.created_at),
        "source": header.source,
        "schema": header.schema,
        "encrypted": header.encryption.is_some(),
        "tables": report.tables.len(),
        "rows": rows(report),
        "bytes": report.bytes,
    });
    summary.to_string()
}
