//! `deskpass ip-rule`: manages the networks from which roles may be active.

use clap::Subcommand;

use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, IpRuleAdminCommand};

const INSPECT_COMMAND: &str = "deskpass ip-rule list";

#[derive(Debug, Subcommand)]
pub(super) enum IpRuleCommand {
    /// List every role with its allowed networks.
    #[command(after_help = "Example:\n  deskpass ip-rule list")]
    List(CommonArgs),
    /// Replace a role's list of networks; without any network, remove the list.
    ///
    /// Takes effect immediately, also for signed-in users. Sessions do not end: they work again from an allowed network.
    #[command(
        after_help = "Examples:\n  deskpass ip-rule set admin 10.0.0.0/8 2001:db8::/32 192.0.2.7\n  deskpass ip-rule set agent    remove the list: allowed from anywhere"
    )]
    Set {
        /// Role: admin, agent, user, supervisor or security.
        #[arg(value_name = "ROLE")]
        role: String,
        /// Networks such as 10.0.0.0/8, or single addresses; at most 200.
        #[arg(value_name = "NETWORK")]
        networks: Vec<String>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Remove a role's list, so that the role may be active from anywhere. Use this after locking yourself out.
    #[command(after_help = "Example:\n  deskpass ip-rule clear admin")]
    Clear {
        /// Role: admin, agent, user, supervisor or security.
        #[arg(value_name = "ROLE")]
        role: String,
        #[command(flatten)]
        common: CommonArgs,
    },
}

impl IpRuleCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (command, common) = match self {
            Self::List(common) => (IpRuleAdminCommand::List, common),
            Self::Set { role, networks, common } => (IpRuleAdminCommand::Set { role, networks }, common),
            Self::Clear { role, common } => (IpRuleAdminCommand::Set { role, networks: Vec::new() }, common),
        };
        common.run_or_forward(&AdminCommand::IpRule(command), INSPECT_COMMAND)
    }
}
