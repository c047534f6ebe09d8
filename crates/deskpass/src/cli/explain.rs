//! `deskpass explain`: why something is as it is.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::net::IpAddr;

use clap::{Args, Subcommand};
use deskpass_core::SecretKindName;

use super::employee::EmployeeArgs;
use super::{CliError, CommonArgs};
use crate::commands::{AccessQuery, AdminCommand, ExplainRequest, describe_token_kind};

/// Nothing changes, so there is nothing to look at.
const INSPECT_COMMAND: &str = "deskpass explain";

/// No token is longer by far.
const MAX_INPUT_BYTES: u64 = 4096;

/// Say why somebody can or cannot sign in, what they may do, and what became of a token. Changes nothing.
#[derive(Debug, Subcommand)]
pub(super) enum ExplainCommand {
    /// Say how somebody stands, and why each of their last attempts to sign in succeeded or failed.
    #[command(after_help = "Example:\n  deskpass explain login zhangsan")]
    Login(EmployeeArgs),
    /// Say what somebody may do in each of their roles, and which rule decides.
    #[command(
        after_help = "RESOURCE   conversation, approval, knowledge, account\nOPERATION  read, create, update, delete\nSCOPE      own, department, all\n\nExamples:\n  deskpass explain access zhangsan conversation read all\n  deskpass explain access zhangsan account update all --role admin --from 203.0.113.9"
    )]
    Access(Access),
    /// Say what a token is, whose, until when, and why it is good or not. Reads it from standard input.
    ///
    /// It never prints the token, and takes none on the command line, where others could read it.
    #[command(after_help = "Example:\n  deskpass explain token < token.txt")]
    Token(CommonArgs),
}

/// What somebody wants to do.
#[derive(Args, Debug)]
pub(super) struct Access {
    #[command(flatten)]
    target: EmployeeArgs,
    /// Of what.
    #[arg(value_name = "RESOURCE")]
    resource: String,
    /// What.
    #[arg(value_name = "OPERATION")]
    operation: String,
    /// How far.
    #[arg(value_name = "SCOPE")]
    scope: String,
    /// In this role alone; without it in each that they hold.
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// From this address; without it from wherever the role may be active.
    #[arg(long, value_name = "ADDRESS")]
    from: Option<IpAddr>,
}

impl ExplainCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Login(target) => target
                .common
                .run_or_forward(&AdminCommand::Explain(ExplainRequest::Login(target.selector())), INSPECT_COMMAND),
            Self::Access(Access { target, resource, operation, scope, role, from }) => {
                let query = AccessQuery { who: target.selector(), resource, operation, scope, role, from };
                target.common.run_or_forward(&AdminCommand::Explain(ExplainRequest::Access(query)), INSPECT_COMMAND)
            }
            Self::Token(common) => token(&common),
        }
    }
}

/// Looks at a token here, and has the service look up what it hashes to: the token itself goes nowhere.
fn token(common: &CommonArgs) -> Result<(), CliError> {
    let text = read()?;
    let kind = SecretKindName::of(&text).ok_or("this is no token of this program: none begins so")?;
    match kind.digest(&text) {
        Ok(digest) => {
            common.run_or_forward(&AdminCommand::Explain(ExplainRequest::Token { kind, digest }), INSPECT_COMMAND)
        }
        Err(_) => Err(format!(
            "this begins like {}, but it is not whole: something is missing, too much or mistyped; copy it again",
            describe_token_kind(kind)
        )
        .into()),
    }
}

/// The first line of standard input, without what is often copied along.
fn read() -> Result<String, CliError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        eprintln!("paste the token and press Enter:");
    }
    let mut line = String::new();
    let read = stdin.lock().take(MAX_INPUT_BYTES).read_line(&mut line);
    read.map_err(|_| "standard input has something else than a token")?;
    let text = line.trim();
    let text = text.strip_prefix("Authorization:").unwrap_or(text).trim_start();
    let text = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    if text.is_empty() {
        return Err("there is no token on standard input; try `deskpass explain token < token.txt`".into());
    }
    Ok(text.to_owned())
}
