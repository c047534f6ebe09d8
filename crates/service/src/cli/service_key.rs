//! `deskpass service-key`: manages the keys that identify other services.

use clap::Subcommand;

use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, ServiceKeyAdminCommand};

const INSPECT_COMMAND: &str = "deskpass service-key list";

#[derive(Debug, Subcommand)]
pub(super) enum ServiceKeyCommand {
    /// Create a key for a service and print it once.
    #[command(
        after_help = "SCOPE       permits\nintrospect  inspecting a token: POST /api/auth/introspect\nmessages    sending messages to connected users\n\nExample:\n  deskpass service-key create billing --scope introspect --days 90"
    )]
    Create {
        /// Name of the key: 1 to 64 characters.
        #[arg(value_name = "NAME")]
        name: String,
        /// Scope: introspect or messages. Can be repeated.
        #[arg(long = "scope", value_name = "SCOPE", required = true)]
        scopes: Vec<String>,
        /// Validity in days, at most 3650.
        #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// List keys with their scopes, expiry and status. The keys themselves are not stored.
    #[command(after_help = "Example:\n  deskpass service-key list")]
    List(CommonArgs),
    /// Revoke a key, on every node within a second.
    #[command(after_help = "Example:\n  deskpass service-key revoke 019f3c6be5404f1f9d0a7c1f2b3c4d5e")]
    Revoke {
        /// The key's id, as shown by the list; not the key itself.
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        common: CommonArgs,
    },
}

impl ServiceKeyCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (command, common) = match self {
            Self::Create { name, scopes, days, common } => {
                (ServiceKeyAdminCommand::Create { name, scopes, days }, common)
            }
            Self::List(common) => (ServiceKeyAdminCommand::List, common),
            Self::Revoke { id, .. } if id.starts_with("dpk_") => {
                return Err(
                    "ID is the key's id, which `deskpass service-key list` shows; never put the key itself on \
                            a command line"
                        .into(),
                );
            }
            Self::Revoke { id, common } => (ServiceKeyAdminCommand::Revoke { id }, common),
        };
        common.run_or_forward(&AdminCommand::ServiceKey(command), INSPECT_COMMAND)
    }
}
