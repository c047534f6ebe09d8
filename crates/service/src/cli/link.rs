//! `deskpass link`: manages which users of a connected corporation may act as which employee.

use clap::Subcommand;

use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, EmployeeSelector};

const INSPECT_COMMAND: &str = "deskpass link list";

#[derive(Debug, Subcommand)]
pub(super) enum LinkCommand {
    /// Let an external user act as an employee. Replaces the user's previous link.
    #[command(
        after_help = "Examples:\n  deskpass link approve wwpartner/lisi zhangsan\n  deskpass link approve wwpartner/lisi wangwu --corp wwother"
    )]
    Approve {
        /// External user: the connected corporation and the user's identifier in it, as the platform writes them.
        #[arg(value_name = "CORP/USER")]
        identity: String,
        /// Identifier of the employee to act as.
        #[arg(value_name = "EMPLOYEE")]
        employee: String,
        /// The employee's corporation [default: the configured main one].
        #[arg(long, value_name = "TARGET_CORP")]
        corp: Option<String>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// List links, with the times of approval and of first use.
    #[command(after_help = "Example:\n  deskpass link list")]
    List(CommonArgs),
    /// Remove a link; sessions that began through it continue until they expire.
    #[command(after_help = "Example:\n  deskpass link remove wwpartner/lisi")]
    Remove {
        /// External user: the connected corporation and the user's identifier in it, as the platform writes them.
        #[arg(value_name = "CORP/USER")]
        identity: String,
        #[command(flatten)]
        common: CommonArgs,
    },
}

impl LinkCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::List(common) => common.run_or_forward(&AdminCommand::Links, INSPECT_COMMAND),
            Self::Remove { identity, common } => {
                common.run_or_forward(&AdminCommand::RemoveLink { identity }, INSPECT_COMMAND)
            }
            Self::Approve { identity, employee, corp, common } => common.run_or_forward(
                &AdminCommand::ApproveLink { identity, target: EmployeeSelector { employee, corp } },
                INSPECT_COMMAND,
            ),
        }
    }
}
