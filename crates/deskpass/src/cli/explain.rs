//! `deskpass explain`: explains the state of sign-ins, permissions and tokens.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::net::IpAddr;

use clap::Subcommand;
use deskpass_core::SecretKindName;

use super::employee::EmployeeArgs;
use super::{CliError, CommonArgs};
use crate::commands::{AccessQuery, AdminCommand, ExplainRequest, describe_token_kind};

/// The commands change nothing, so there is no other command that shows a result.
const INSPECT_COMMAND: &str = "deskpass explain";

/// The maximum size of the input, far above the length of any token.
const MAX_INPUT_BYTES: u64 = 4096;

#[derive(Debug, Subcommand)]
pub(super) enum ExplainCommand {
    /// Explain an employee's sign-in status, and why each recent attempt to sign in succeeded or failed.
    #[command(after_help = "Example:\n  deskpass explain login zhangsan")]
    Login(EmployeeArgs),
    /// Explain what an employee may do in each of their roles, and which rule decides.
    #[command(
        after_help = "RESOURCE   conversation, approval, knowledge, account\nOPERATION  read, create, update, delete\nSCOPE      own, department, all\n\nExamples:\n  deskpass explain access zhangsan conversation read all\n  deskpass explain access zhangsan account update all --role admin --from 203.0.113.9"
    )]
    Access {
        #[command(flatten)]
        target: EmployeeArgs,
        /// Resource.
        #[arg(value_name = "RESOURCE")]
        resource: String,
        /// Operation.
        #[arg(value_name = "OPERATION")]
        operation: String,
        /// Scope.
        #[arg(value_name = "SCOPE")]
        scope: String,
        /// Check only this role [default: each role that the employee holds].
        #[arg(long, value_name = "ROLE")]
        role: Option<String>,
        /// Client address [default: any address from which the role may be active].
        #[arg(long, value_name = "ADDRESS")]
        from: Option<IpAddr>,
    },
    /// Explain the kind, owner, expiry and validity of a token, which is read from standard input.
    ///
    /// Never prints the token, and does not accept it as an argument, where other users could read it.
    #[command(after_help = "Example:\n  deskpass explain token < token.txt")]
    Token(CommonArgs),
}

impl ExplainCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Login(target) => {
                target.run_or_forward(|who| AdminCommand::Explain(ExplainRequest::Login(who)), INSPECT_COMMAND)
            }
            Self::Access { target, resource, operation, scope, role, from } => {
                let access = |who| ExplainRequest::Access(AccessQuery { who, resource, operation, scope, role, from });
                target.run_or_forward(|who| AdminCommand::Explain(access(who)), INSPECT_COMMAND)
            }
            Self::Token(common) => token(&common),
        }
    }
}

/// Identifies the token's kind here and sends only its digest to the service. The token itself is not sent.
fn token(common: &CommonArgs) -> Result<(), CliError> {
    let text = read()?;
    let kind = SecretKindName::of(&text).ok_or("this is not a deskpass token: its prefix is unknown")?;
    match kind.digest(&text) {
        Ok(digest) => {
            common.run_or_forward(&AdminCommand::Explain(ExplainRequest::Token { kind, digest }), INSPECT_COMMAND)
        }
        Err(_) => {
            Err(format!("this begins like {}, but is incomplete or mistyped; copy it again", describe_token_kind(kind))
                .into())
        }
    }
}

/// Reads the first line of standard input, without surrounding characters that are often copied along.
fn read() -> Result<String, CliError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        eprintln!("paste the token and press Enter:");
    }
    let mut line = String::new();
    let read = stdin.lock().take(MAX_INPUT_BYTES).read_line(&mut line);
    read.map_err(|_| "standard input does not contain a token")?;
    let text = line.trim();
    let text = text.strip_prefix("Authorization:").unwrap_or(text).trim_start();
    let text = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    if text.is_empty() {
        return Err("there is no token on standard input; try `deskpass explain token < token.txt`".into());
    }
    Ok(text.to_owned())
}
