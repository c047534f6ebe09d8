//! `deskpass migrate`: migrates the data without starting the service.

use clap::Args;
use deskpass_store::newest_version;

use super::{CliError, CommonArgs, output, require_database, runtime};
use crate::App;
use crate::app::installation::NewData;

/// Migrate the data to the current version.
#[derive(Args, Debug)]
pub(super) struct Migrate {
    /// Create the embedded database where there is none. `deskpass serve` always does.
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl Migrate {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let (runtime, settings) = (runtime()?, self.common.settings()?);
        if !self.create {
            // A mistyped directory must not become a second, empty database.
            require_database(&settings).map_err(|error| format!("{error}; to create it: --create"))?;
        }
        let new_data = if self.create { NewData::Claim } else { NewData::Leave };
        let app = runtime.block_on(App::open_with(settings, new_data))?;
        runtime.block_on(app.require_encryption_key())?;
        let (place, known) = (app.settings.data_location(), newest_version());
        let found = runtime.block_on(app.auth.store.schema_version())?;
        let text = if found > known {
            format!("{place} has the later version {found}, which this deskpass (version {known}) can use")
        } else {
            format!("{place} is up to date (version {known})")
        };
        Ok(output::line(text)?)
    }
}
