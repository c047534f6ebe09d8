//! `deskpass config`: checks and prints the settings.

use clap::Subcommand;
use deskpass_core::{Clock, Timestamp};

use super::{CliError, ServeArgs, output};
use crate::app::StartError;
use crate::app::own_pages::{self, OwnPages};
use crate::app::platform::verify_file;
use crate::config;
use crate::secret_files::exposed_files;
use crate::server_tls::ServerTls;
use crate::site::Brand;

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Check the settings without starting the service. Does not touch the data directory or the port.
    #[command(after_help = "Example:\n  deskpass config check --config /etc/deskpass/deskpass.toml")]
    Check(ServeArgs),
    /// Print every setting with its source, secrets masked, and the problems found.
    #[command(after_help = "Example:\n  DESKPASS_SESSION__LIFETIME=4h deskpass config show")]
    Show(ServeArgs),
    /// Print a settings file that explains every key.
    #[command(after_help = "Example:\n  deskpass config example > deskpass.toml")]
    Example,
    /// Print the access matrix in force, in the format of the file that `access.matrix_file` names.
    #[command(after_help = "Example:\n  deskpass config matrix > /etc/deskpass/matrix.toml")]
    Matrix(ServeArgs),
}

impl ConfigCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Check(serving) => {
                let settings = serving.settings()?;
                verify_file(&settings)?;
                OwnPages::open(&settings)?;
                Brand::read(&settings.branding).map_err(StartError::from)?;
                let (tls, now) = (ServerTls::open(&settings.server)?, Clock::steady(Timestamp::from_millis(0)).now());
                let expiry = tls.and_then(|tls| tls.expiry_warning(now));
                let mode = if settings.development.enabled { "development" } else { "production" };
                let files = exposed_files(&settings.secret_files).into_iter().map(|file| file.warning());
                let files = files.chain(own_pages::warning(&settings)).chain(expiry);
                for warning in settings.warnings().into_iter().chain(files) {
                    output::note(format_args!("warning: {warning}"));
                }
                output::line(format_args!("the settings are valid ({mode} mode)"))?;
            }
            Self::Show(serving) => {
                let resolved = serving.with_sources(config::resolve);
                output::print(resolved.show())?;
                resolved.check()?;
            }
            Self::Example => output::print(config::example())?,
            Self::Matrix(serving) => {
                let resolved = serving.with_sources(config::resolve);
                output::print(config::matrix_file(resolved.matrix()?))?;
            }
        }
        Ok(())
    }
}
