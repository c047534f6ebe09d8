//! Admin commands that change nothing and say why something is as it is.

mod access;
mod describe;
mod login;
mod reason;
mod token;

use deskpass_core::{Digest, SecretKindName};
use serde::{Deserialize, Serialize};

use super::{CommandResult, EmployeeSelector};
use crate::App;

/// What is to be explained. Of a token only what it hashes to travels here: admin commands are logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum ExplainRequest {
    /// Why somebody can or cannot sign in.
    Login(EmployeeSelector),
    /// What somebody may do.
    Access(access::AccessQuery),
    /// What became of a token.
    Token { kind: SecretKindName, digest: Digest },
}

pub(crate) use access::AccessQuery;
pub(crate) use token::describe_token_kind;

impl ExplainRequest {
    /// Answers it.
    pub(super) async fn answer(&self, app: &App) -> CommandResult {
        match self {
            Self::Login(who) => login::explain(&app.auth, who).await,
            Self::Access(query) => query.explain(app).await,
            Self::Token { kind, digest } => token::explain(&app.auth, *kind, *digest).await,
        }
    }
}
