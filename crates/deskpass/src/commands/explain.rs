//! Admin commands that explain the current state and change nothing.

mod access;
mod describe;
mod login;
mod token;

use deskpass_core::{Digest, SecretKindName};
use serde::{Deserialize, Serialize};

use super::{CommandResult, EmployeeSelector};
use crate::App;

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
pub(crate) use token::describe_token_kind;

impl ExplainRequest {
    pub(super) async fn answer(&self, app: &App) -> CommandResult {
        match self {
            Self::Login(who) => login::explain(&app.auth, who).await,
            Self::Access(query) => query.explain(app).await,
            Self::Token { kind, digest } => token::explain(&app.auth, *kind, *digest).await,
        }
    }
}
