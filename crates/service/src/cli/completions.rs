//! `deskpass completions`: prints what makes a shell complete commands and options.

use clap::{Args, CommandFactory as _};
use clap_complete::aot::{Shell, generate};

use super::{Cli, CliError, output};

#[derive(Args, Debug)]
pub(super) struct Completions {
    /// Shell that reads them.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "deskpass", &mut script);
        Ok(output::print(String::from_utf8_lossy(&script))?)
    }
}
