//! `deskpass link`: who of a connected corporation may act as which employee.

use clap::{Args, Subcommand};

use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, EmployeeSelector};

/// Shows what became of it.
const INSPECT_COMMAND: &str = "deskpass link list";

/// Say who of a connected corporation may act as which employee.
#[derive(Debug, Subcommand)]
pub(super) enum LinkCommand {
    /// Approve that somebody may act as an employee, in place of whomever they could act as before.
    #[command(
        after_help = "Examples:\n  deskpass link approve wwpartner/lisi zhangsan\n  deskpass link approve wwpartner/lisi wangwu --corp wwother"
    )]
    Approve(Approve),
    /// List who may act as whom, when that was approved, and when it was used first.
    #[command(after_help = "Example:\n  deskpass link list")]
    List(CommonArgs),
    /// Take an approval back; sessions that stand on it go on to their end.
    #[command(after_help = "Example:\n  deskpass link remove wwpartner/lisi")]
    Remove(Remove),
}

/// Somebody, and as whom they may act.
#[derive(Args, Debug)]
pub(super) struct Approve {
    /// Who: a connected corporation and the person's identifier in it, as the platform writes them.
    #[arg(value_name = "CORP/USER")]
    identity: String,
    /// As whom: the employee's identifier.
    #[arg(value_name = "EMPLOYEE")]
    employee: String,
    /// The employee's corporation; without it the configured main one.
    #[arg(long, value_name = "TARGET_CORP")]
    corp: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

/// Somebody.
#[derive(Args, Debug)]
pub(super) struct Remove {
    /// Who: a connected corporation and the person's identifier in it, as the platform writes them.
    #[arg(value_name = "CORP/USER")]
    identity: String,
    #[command(flatten)]
    common: CommonArgs,
}

impl LinkCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::List(common) => common.run_or_forward(&AdminCommand::Links, INSPECT_COMMAND),
            Self::Remove(Remove { identity, common }) => {
                common.run_or_forward(&AdminCommand::RemoveLink { identity }, INSPECT_COMMAND)
            }
            Self::Approve(Approve { identity, employee, corp, common }) => common.run_or_forward(
                &AdminCommand::ApproveLink { identity, target: EmployeeSelector { employee, corp } },
                INSPECT_COMMAND,
            ),
        }
    }
}
