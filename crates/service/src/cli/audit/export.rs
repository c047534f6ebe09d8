//! `deskpass audit export`: streams the log to standard output.

use std::io::{self, BufWriter, ErrorKind, Write as _};

use clap::Args;
use deskpass_core::{CorpId, EmployeeId, EmployeeKey, Reference, Timestamp};
use deskpass_store::{ChainKeys, LogFilter, LogRow, is_key_of_log, read_log};

use super::unreadable;
use crate::app::storage::{location, mode};
use crate::cli::moment::moment;
use crate::cli::{CliError, CommonArgs, require_database, runtime};
use crate::config::Settings;
use crate::log_export::ExportFormat;

#[derive(Args, Debug)]
pub(in crate::cli) struct Export {
    /// csv for spreadsheets, or jsonl for one JSON object per line.
    #[arg(long, value_name = "FORMAT", value_parser = ["csv", "jsonl"])]
    format: String,
    /// Start time: a date, or a time such as 2026-07-01T08:00:00+08:00. A date starts at midnight UTC.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    from: Option<Timestamp>,
    /// End time, exclusive.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    to: Option<Timestamp>,
    /// Only events about this employee.
    #[arg(long, value_name = "ID")]
    employee: Option<String>,
    /// Only events of the request with this reference, which a page showed with an error.
    #[arg(long, value_name = "REF", value_parser = reference)]
    reference: Option<Reference>,
    /// Corporation of the events [default: the main one].
    #[arg(long, value_name = "ID")]
    corp: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

const OTHER_KEY: &str = "note: encryption_key is not the key that the audit log was written with, so every row is \
                         marked as not verified; pass the settings of the service with --config";

impl Export {
    pub(super) fn run(self) -> Result<(), CliError> {
        let settings = self.common.settings()?;
        require_database(&settings)?;
        let (filter, format) =
            (self.filter(&settings)?, ExportFormat::from_name(&self.format).unwrap_or(ExportFormat::Csv));
        let runtime = runtime()?;
        let (place, mode) = (location(&settings), mode(&settings));
        let known = is_key_of_log(&place, mode, ChainKeys::new(&settings.sealing_keys()));
        if runtime.block_on(known).is_ok_and(|known| known == Some(false)) {
            let _ = writeln!(io::stderr(), "{OTHER_KEY}");
        }
        let mut out = BufWriter::new(io::stdout());
        let written = match format.write_heading(&mut out) {
            Ok(()) => {
                let write = move |rows: Vec<LogRow>| format.write_rows(&rows, &mut out).and_then(|()| out.flush());
                runtime.block_on(read_log(&place, mode, filter, write))
            }
            Err(error) => Ok(Err(error)),
        };
        match written.map_err(|error| unreadable(&error)) {
            // A reader that closes the pipe is no error.
            Ok(Err(error)) if error.kind() != ErrorKind::BrokenPipe => Err(format!("cannot write: {error}").into()),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn filter(&self, settings: &Settings) -> Result<LogFilter, CliError> {
        let home = CorpId::parse(&settings.platform.corp_id).map_err(|error| format!("platform.corp_id {error}"))?;
        let corp = self.corp.as_deref().map(CorpId::parse).transpose().map_err(|error| format!("--corp {error}"))?;
        let corp = corp.unwrap_or_else(|| home.clone());
        let id = self.employee.as_deref().map(EmployeeId::parse).transpose();
        let id = id.map_err(|error| format!("--employee {error}"))?;
        let employee = id.map(|id| EmployeeKey::new(&corp, &id, &home).id().to_owned());
        let (from, to) = (self.from, self.to);
        let reference = self.reference.map(|reference| reference.to_string());
        let key = Some(ChainKeys::new(&settings.sealing_keys()));
        Ok(LogFilter { corp: corp.as_str().to_owned(), employee, reference, from, to, key, ..LogFilter::default() })
    }
}

/// Parses a reference as a page shows it.
fn reference(text: &str) -> Result<Reference, &'static str> {
    Reference::parse(text).ok_or("give the eight characters that the page showed, such as 1a2b3c4d")
}
