//! `deskpass session`: ends the sessions of one employee, or of all.

use clap::{Args, Subcommand};
use deskpass_core::Timestamp;

use super::employee::EmployeeArgs;
use super::moment::moment_or_ago;
use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, EndAllSessions};

const INSPECT_COMMAND: &str = "deskpass audit export --format jsonl";

#[derive(Debug, Subcommand)]
pub(super) enum SessionCommand {
    /// End the sessions of all employees, on every node within a second. Everyone must sign in again.
    ///
    /// For data that went back in time, such as after a failover that lost commits: sessions that had ended may be valid again.
    /// Also ends, whenever they began: sign-ins with a password that lack their one-time password, unused bind tickets, setup codes,
    /// setups of authenticators, and one-time passwords of the current minute. Service keys and recovery codes stay valid: review
    /// them. The audit log gets a row for each thousand sessions. An interrupted command can be repeated.
    #[command(
        after_help = "Examples:\n  deskpass session end-all --yes --config /etc/deskpass/deskpass.toml\n  deskpass session end-all --before 2026-07-01T08:00:00+08:00 --yes\n  deskpass session end-all --before 2h --yes --json"
    )]
    EndAll(EndAll),
    /// End all sessions of an employee, on every node within a second, and what programs got in them.
    ///
    /// For a lost phone or a stolen browser. The employee can sign in again: to prevent that, disable them.
    #[command(after_help = "Example:\n  deskpass session end zhangsan")]
    End(EmployeeArgs),
}

#[derive(Args, Debug)]
pub(super) struct EndAll {
    /// End only sessions that began before this time: a date, which begins at midnight UTC, a time with its offset such as
    /// 2026-07-01T08:00:00+08:00, or how long ago, such as 2h. The time is that of the nodes' clocks, so add a
    /// minute to that of a failover.
    #[arg(long, value_name = "TIME", value_parser = moment_or_ago)]
    before: Option<Timestamp>,
    /// Confirm that everyone concerned must sign in again.
    #[arg(long)]
    yes: bool,
    /// Print the result as a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: CommonArgs,
}

const CONFIRM: &str =
    "nothing was changed; everyone whose session ends must sign in again: run the command again with --yes";

impl SessionCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::End(target) => target.run_or_forward(AdminCommand::EndSessions, INSPECT_COMMAND),
            Self::EndAll(EndAll { yes: false, .. }) => Err(CONFIRM.into()),
            Self::EndAll(EndAll { before, json, common, .. }) => {
                common.run_or_forward(&AdminCommand::EndAllSessions(EndAllSessions { before, json }), INSPECT_COMMAND)
            }
        }
    }
}
