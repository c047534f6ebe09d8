//! `deskpass config`: what the settings are and whether they hold.

use clap::Subcommand;

use super::{Common, Failed};
use crate::config;

/// Look at the settings.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Say whether the service would start with these settings, without starting it.
    #[command(after_help = "Example:\n  deskpass config check --config /etc/deskpass.toml")]
    Check(Common),
    /// Print the settings in force, each with where it comes from; secrets are masked.
    #[command(after_help = "Example:\n  DESKPASS_SESSION__LIFETIME=4h deskpass config show")]
    Show(Common),
    /// Print a settings file with every key explained.
    #[command(after_help = "Example:\n  deskpass config example > deskpass.toml")]
    Example,
}

impl ConfigCommand {
    pub(super) fn run(self) -> Result<(), Failed> {
        match self {
            Self::Check(common) => {
                let settings = common.settings()?;
                let mode = if settings.development { "development" } else { "production" };
                println!("the settings are good ({mode} mode)");
            }
            Self::Show(common) => {
                print!("{}", common.with_sources(Vec::new(), |sources| config::resolve(sources).show()));
            }
            Self::Example => print!("{}", config::example()),
        }
        Ok(())
    }
}
