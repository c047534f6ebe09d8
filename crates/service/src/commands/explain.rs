//! Admin commands that explain the current state and change nothing.

mod absent;
mod access;
mod advice;
mod describe;
mod known;
mod login;
mod oidc_token;
mod origins;
mod reference;
mod refused_client;
mod request_rows;
mod request_words;
mod story;
mod token;
mod token_kind;

use deskpass_core::{Digest, SecretKindName};
use serde::{Deserialize, Serialize};

use super::{CommandResult, EmployeeSelector};
use crate::App;
use crate::config::Language;
use crate::platform_name::with_platform_name;

/// The subject of an explanation. It contains only the digest of a token, because admin commands are logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum ExplainRequest {
    /// Why an employee can or cannot sign in.
    Login(EmployeeSelector),
    /// What an employee may do.
    Access(access::AccessQuery),
    /// The state of a token.
    Token { kind: SecretKindName, digest: Digest },
    /// The story of the request with this reference, as text or as JSON.
    Reference { reference: String, json: bool },
}

pub(crate) use access::AccessQuery;
pub(crate) use token_kind::{describe_token_kind, space_before};

impl ExplainRequest {
    pub(super) async fn answer(&self, app: &App, language: Language) -> CommandResult {
        let answer = match self {
            Self::Login(who) => login::explain(app, who, language).await,
            Self::Access(query) => query.explain(app, language).await,
            Self::Token { kind, digest } => token::explain(app, *kind, *digest, language).await,
            Self::Reference { reference, json } => reference::explain(app, reference, *json, language).await,
        };
        // The explanations are written once for all platforms; here the whole text gets the name of this one.
        let named = |text| with_platform_name(text, app.settings.platform.kind, language);
        answer.map(named).map_err(named)
    }
}
