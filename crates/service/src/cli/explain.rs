//! `deskpass explain`: explains the state of sign-ins, permissions and tokens, and the requests behind references.

use std::ffi::OsString;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::net::IpAddr;

use clap::Subcommand;
use clap::error::ErrorKind;
use deskpass_core::{Reference, SecretKindName};

use super::employee::EmployeeArgs;
use super::language::LanguageArgs;
use super::{CliError, CommonArgs, output};
use crate::commands::{AccessQuery, AdminCommand, ExplainRequest, describe_token_kind, space_before};
use crate::config::Language;

/// The commands change nothing, so there is no other command that shows a result.
const INSPECT_COMMAND: &str = "deskpass explain";

/// The maximum size of the input, far above the length of any token.
const MAX_INPUT_BYTES: u64 = 4096;

#[derive(Debug, Subcommand)]
pub(super) enum ExplainCommand {
    /// Explain an employee's sign-in status, and why each recent attempt to sign in succeeded or failed.
    #[command(after_help = "Example:\n  deskpass explain login zhangsan")]
    Login {
        #[command(flatten)]
        target: EmployeeArgs,
        #[command(flatten)]
        language: LanguageArgs,
    },
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
        #[command(flatten)]
        language: LanguageArgs,
    },
    /// Explain the kind, owner, expiry and validity of a token, which is read from standard input.
    ///
    /// Never prints the token, and does not accept it as an argument, where other users could read it.
    #[command(after_help = "Example:\n  deskpass explain token < token.txt")]
    Token {
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        language: LanguageArgs,
    },
    /// Explain the request with a reference that a page or an answer showed: what was attempted, by whom, why it was refused,
    /// and what to do now.
    #[command(
        after_help = "Examples:\n  deskpass explain ref 1a2b3c4d\n  deskpass explain ref 'Reference: 1A2B3C4D' --language zh\n  deskpass explain ref 1a2b3c4d --json"
    )]
    Ref {
        /// Reference: eight digits, 0-9 and a-f. Words that were copied along are ignored.
        #[arg(value_name = "REF", required = true, num_args = 1..)]
        words: Vec<String>,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        common: CommonArgs,
        #[command(flatten)]
        language: LanguageArgs,
    },
}

impl ExplainCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Login { target, language } => {
                let (who, common) = target.split();
                ask(&common, &language, ExplainRequest::Login(who))
            }
            Self::Access { target, resource, operation, scope, role, from, language } => {
                let (who, common) = target.split();
                let query = AccessQuery { who, resource, operation, scope, role, from };
                ask(&common, &language, ExplainRequest::Access(query))
            }
            Self::Token { common, language } => token(&common, &language),
            Self::Ref { words, json, common, language } => reference(&words.join(" "), json, &common, &language),
        }
    }
}

fn ask(common: &CommonArgs, language: &LanguageArgs, request: ExplainRequest) -> Result<(), CliError> {
    let requested = language.requested(&environment());
    common.run_or_forward_in(requested, &AdminCommand::Explain(request), INSPECT_COMMAND)
}

/// Finds the reference in what the operator typed or pasted.
fn reference(text: &str, json: bool, common: &CommonArgs, language: &LanguageArgs) -> Result<(), CliError> {
    let Some(reference) = Reference::find(text) else {
        let spoken = language.requested(&environment()).unwrap_or_default();
        let why = spoken.of([
            "REF must contain one reference: the eight characters that the page showed, 0-9 and a-f, such as 1a2b3c4d\n",
            "REF 须包含一个参考编号，即页面显示的八位字符（0-9 和 a-f），例如 1a2b3c4d\n",
        ]);
        let wrong_usage: clap::Error = clap::Error::raw(ErrorKind::ValueValidation, why);
        wrong_usage.exit()
    };
    ask(common, language, ExplainRequest::Reference { reference: reference.to_string(), json })
}

fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Identifies the token's kind here and sends only its digest to the service. The token itself is not sent.
fn token(common: &CommonArgs, language: &LanguageArgs) -> Result<(), CliError> {
    // What is no token is refused before the settings, which may have another language, are read.
    let spoken = language.requested(&environment()).unwrap_or_default();
    let text = read(spoken)?;
    let unknown = ["this is not a deskpass token: its prefix is unknown", "这不是 deskpass 的令牌：前缀无法识别"];
    let signed = [
        "this is an ID or logout token: a proof for a client, not a deskpass token",
        "这是 ID 令牌或退出令牌：供客户端验证的凭证，不是 deskpass 的令牌",
    ];
    let foreign = spoken.of(if is_signed_token(&text) { signed } else { unknown });
    let kind = SecretKindName::of(&text).ok_or(foreign)?;
    let Ok(digest) = kind.digest(&text) else {
        let kind = describe_token_kind(kind, spoken);
        let texts = [
            format!("this begins like {kind}, but is incomplete or mistyped; copy it again"),
            format!("开头像是{}{kind}，但不完整或有误；请重新复制", space_before(kind)),
        ];
        return Err(spoken.of(texts).into());
    };
    ask(common, language, ExplainRequest::Token { kind, digest })
}

/// Whether this looks like a JSON Web Token: three parts in base64url, the first of which is a JSON object.
fn is_signed_token(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    text.starts_with("eyJ") && text.split('.').count() == 3 && text.split('.').all(is_part)
}

/// Reads the first line of standard input, without surrounding characters that are often copied along.
fn read(language: Language) -> Result<String, CliError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        output::note(language.of(["paste the token and press Enter:", "请粘贴令牌并按回车："]));
    }
    let mut line = String::new();
    let read = stdin.lock().take(MAX_INPUT_BYTES).read_line(&mut line);
    read.map_err(|_| language.of(["standard input does not contain a token", "标准输入中没有令牌"]))?;
    let text = line.trim();
    let text = text.strip_prefix("Authorization:").unwrap_or(text).trim_start();
    let text = text.strip_prefix("Bearer ").unwrap_or(text).trim();
    if text.is_empty() {
        let texts = [
            "there is no token on standard input; try `deskpass explain token < token.txt`",
            "标准输入中没有令牌；请使用 `deskpass explain token < token.txt`",
        ];
        return Err(language.of(texts).into());
    }
    Ok(text.to_owned())
}
