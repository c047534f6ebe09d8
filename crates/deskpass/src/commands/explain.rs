//! Admin commands that explain the current state and change nothing.

mod access;
mod advice;
mod describe;
mod login;
mod token;
mod token_kind;

use deskpass_core::{Digest, SecretKindName};
use serde::{Deserialize, Serialize};

use super::{CommandResult, EmployeeSelector};
use crate::App;
use crate::config::Language;

/// The subject of an explanation. It contains only the digest of a token, because admin commands are logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum ExplainRequest {
    /// Why an employee can or cannot sign in.
    Login(EmployeeSelector),
    /// What an employee may do.
    Access(access::AccessQuery),
    /// The state of a token.
    Token { kind: SecretKindName, digest: Digest },
}

pub(crate) use access::AccessQuery;
pub(crate) use token_kind::describe_token_kind;

impl ExplainRequest {
    pub(super) async fn answer(&self, app: &App, language: Language) -> CommandResult {
        match self {
            Self::Login(who) => login::explain(&app.auth, who, language).await,
            Self::Access(query) => query.explain(app, language).await,
            Self::Token { kind, digest } => token::explain(&app.auth, *kind, *digest, language).await,
        }
    }
}
