//! `deskpass man`: writes a manual page for every command.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use super::{Cli, CliError};

#[derive(Args, Debug)]
pub(super) struct Man {
    /// Directory for the pages; it is created if it does not exist.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let fail = |error: io::Error| CliError::from(format!("cannot write to {}: {error}", self.directory.display()));
        fs::create_dir_all(&self.directory).map_err(fail)?;
        clap_mangen::generate_to(Cli::command(), &self.directory).map_err(fail)
    }
}
