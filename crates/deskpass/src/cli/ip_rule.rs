//! `deskpass ip-rule`: from where roles may be active.

use clap::{Args, Subcommand};

use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, IpRuleAdminCommand};

/// What shows how things stand.
const INSPECT_COMMAND: &str = "deskpass ip-rule list";

/// Say from which networks each role may be active.
#[derive(Debug, Subcommand)]
pub(super) enum IpRuleCommand {
    /// List every role with the networks from which it may be active.
    #[command(after_help = "Example:\n  deskpass ip-rule list")]
    List(CommonArgs),
    /// Give a role a list of networks in place of the one it has; without any network it has no list.
    ///
    /// It counts at once, for those who are signed in too. Sessions do not end: they act again from a network that is listed.
    #[command(
        after_help = "Examples:\n  deskpass ip-rule set admin 10.0.0.0/8 2001:db8::/32 192.0.2.7\n  deskpass ip-rule set agent    no list: from anywhere"
    )]
    Set(Set),
    /// Take a role's list away: it may be active from anywhere. The way out for whoever locked themself out.
    #[command(after_help = "Example:\n  deskpass ip-rule clear admin")]
    Clear(Clear),
}

/// A role and its networks.
#[derive(Args, Debug)]
pub(super) struct Set {
    /// admin, agent, user, supervisor or security.
    #[arg(value_name = "ROLE")]
    role: String,
    /// Networks such as 10.0.0.0/8, or single addresses; at most 200.
    #[arg(value_name = "NETWORK")]
    networks: Vec<String>,
    #[command(flatten)]
    common: CommonArgs,
}

/// A role.
#[derive(Args, Debug)]
pub(super) struct Clear {
    /// admin, agent, user, supervisor or security.
    #[arg(value_name = "ROLE")]
    role: String,
    #[command(flatten)]
    common: CommonArgs,
}

impl IpRuleCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (command, common) = match self {
            Self::List(common) => (IpRuleAdminCommand::List, common),
            Self::Set(Set { role, networks, common }) => (IpRuleAdminCommand::Set { role, networks }, common),
            Self::Clear(Clear { role, common }) => (IpRuleAdminCommand::Set { role, networks: Vec::new() }, common),
        };
        common.run_or_forward(&AdminCommand::IpRule(command), INSPECT_COMMAND)
    }
}
