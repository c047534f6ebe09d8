//! Authorization requests and codes, as they are kept between the steps.

use serde::{Deserialize, Serialize};

use super::pkce::CodeChallenge;
use super::redirect_uri::with_parameters;
use super::scope::OidcScopes;
use crate::{Digest, Timestamp, opaque_debug};

// The values that a client sent, such as the state, may be secrets of it.
opaque_debug!(AuthorizationRequest, PendingLogout, AuthorizationCodeRecord);

/// What a client asked for, after every parameter was checked.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// The client.
    pub client_id: String,
    /// The registered address that the code is sent to.
    pub redirect_uri: String,
    /// The granted scopes.
    pub scopes: OidcScopes,
    /// Returned to the client as it is.
    pub state: Option<String>,
    /// Copied into the ID token.
    pub nonce: Option<String>,
    /// The PKCE challenge.
    pub challenge: Option<CodeChallenge>,
    /// How the user is to be asked.
    pub prompts: Prompts,
    /// The age of the sign-in, in seconds, that the client still accepts.
    pub max_age: Option<u64>,
    /// An ID token that names the expected user. It is used when the request arrives, and never stored.
    #[serde(skip)]
    pub id_token_hint: Option<String>,
    /// The employee who is expected to sign in, as the client writes it.
    pub login_hint: Option<String>,
    /// The languages that the client prefers.
    pub ui_locales: Option<String>,
}

/// The values of the `prompt` parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the values are independent of each other")]
pub struct Prompts {
    /// No page may be shown.
    pub none: bool,
    /// The user must sign in again.
    pub login: bool,
    /// The user must choose an account.
    pub select_account: bool,
    /// The user must confirm.
    pub consent: bool,
}

/// What the session must fulfil before the client gets a code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInRequirement {
    /// The session must not have begun before this time.
    pub not_before: Option<Timestamp>,
    /// The session must be of the employee with this subject.
    pub subject: Option<String>,
    /// The user must press a button even if they did so before.
    pub press: bool,
}

/// An authorization request that waits for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingAuthorization {
    /// The request.
    pub request: AuthorizationRequest,
    /// What the session must fulfil.
    pub requirement: SignInRequirement,
    /// The browser's cookie, if a browser sent the request: it continues only there.
    pub browser: Option<Digest>,
    /// The session of the browser's single sign-on cookie, if it fulfils the requirement except for the press.
    pub session: Option<Digest>,
    /// When the request arrived.
    pub asked_at: Timestamp,
    /// When it expires.
    pub until: Timestamp,
}

/// A sign-out that a client asked for and the user has not confirmed yet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingLogout {
    /// The client, if the request named one.
    pub client_id: Option<String>,
    /// The identifier of the session that the client means, from its ID token.
    pub sid: Option<String>,
    /// The session of the browser's single sign-on cookie, once that was read.
    pub session: Option<Digest>,
    /// The browser's cookie, if a browser sent the request: it is confirmed only there.
    pub browser: Option<Digest>,
    /// The registered address that the browser is sent to afterwards. Nodes of version 0.2.0 add
    /// the state to it.
    pub redirect_to: Option<String>,
    /// The state that the client gets there. In the address it would take three times as much
    /// memory.
    #[serde(default, with = "text_of_any_length")]
    pub state: Option<String>,
    /// When the request expires.
    pub until: Timestamp,
}

impl PendingLogout {
    /// The address that the browser is sent to afterwards, with the state.
    #[must_use]
    pub fn destination(self) -> Option<String> {
        let address = self.redirect_to?;
        Some(match self.state {
            Some(state) => with_parameters(&address, &[("state", &state)]),
            None => address,
        })
    }
}

/// Text whose record is a third longer than itself, whatever it consists of: JSON writes some
/// characters as six.
mod text_of_any_length {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "the form in which serde calls it")]
    pub(super) fn serialize<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
        text.as_ref().map(|text| URL_SAFE_NO_PAD.encode(text)).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
        let Some(encoded) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(D::Error::custom)?;
        String::from_utf8(bytes).map(Some).map_err(D::Error::custom)
    }
}

/// An authorization code that was not redeemed yet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationCodeRecord {
    /// The client.
    pub client_id: String,
    /// The address that the code was sent to.
    pub redirect_uri: String,
    /// The granted scopes.
    pub scopes: OidcScopes,
    /// Copied into the ID token.
    pub nonce: Option<String>,
    /// The PKCE challenge.
    pub challenge: Option<CodeChallenge>,
    /// The session that the code belongs to.
    pub session: Digest,
    /// The decided address of the browser.
    pub address: std::net::IpAddr,
    /// When it expires.
    pub until: Timestamp,
}
