//! ID tokens, and the answer of the token endpoint.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::oidc::OidcScopes;
use deskpass_core::{ClockTrust, OidcAccess, RefreshToken, Roles, Secret, Timestamp};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::claims::{UserClaims, authentication_claims, seconds};
use super::client::ResolvedClient;
use super::error::OidcError;
use super::jwt;
use crate::{Auth, AuthEvent, Error, TokenGrant, TokenHolder, TokenOutcome};

/// The lifetime of an access token.
pub(super) const ACCESS_TOKEN_LIFETIME: Duration = Duration::from_mins(15);
/// The lifetime of an ID token.
pub(super) const ID_TOKEN_LIFETIME: Duration = Duration::from_mins(5);

/// The tokens that a client gets.
#[derive(Clone)]
pub struct IssuedTokens {
    /// The access token.
    pub access_token: Secret<OidcAccess>,
    /// How long the access token is valid.
    pub expires_in: Duration,
    /// The refresh token, if the client asked for one and may have it.
    pub refresh_token: Option<Secret<RefreshToken>>,
    /// The ID token.
    pub id_token: String,
    /// The granted scopes.
    pub scopes: OidcScopes,
}

/// Prints no token.
impl fmt::Debug for IssuedTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedTokens").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// What an ID token is made from.
#[derive(Debug)]
pub(super) struct IdTokenContent<'a> {
    pub(super) client: &'a ResolvedClient,
    pub(super) holder: &'a TokenHolder,
    pub(super) subject: &'a str,
    pub(super) sid: &'a str,
    pub(super) scopes: OidcScopes,
    /// The roles that the client is told.
    pub(super) roles: Roles,
    pub(super) nonce: Option<&'a str>,
    pub(super) issued_at: Timestamp,
    pub(super) access_token: &'a Secret<OidcAccess>,
}

impl Auth {
    pub(super) async fn sign_id_token(&self, content: &IdTokenContent<'_>) -> Result<String, Error> {
        let key = self.signing_key(content.client.registration.algorithm).await?;
        let mut claims = self.id_token_claims(content);
        if content.client.registration.id_token_claims {
            let person = content.holder.person().to_person();
            let email = self.email_of(&person).await?;
            let client = &*content.client.registration;
            let claimed = UserClaims {
                subject: content.subject,
                person: &person,
                email: email.as_deref(),
                tells_department_name: self.tells_department_name(&person, client).await?,
                roles: content.roles,
                scopes: content.scopes,
                client,
                home_corp: self.policy.home_corp.as_str(),
            };
            claims.append(&mut claimed.to_map());
        }
        jwt::sign(&key, "JWT", &Value::Object(claims))
    }

    /// The claims about the token and the sign-in.
    fn id_token_claims(&self, content: &IdTokenContent<'_>) -> Map<String, Value> {
        let session = content.holder.session();
        let expires_at = (content.issued_at + ID_TOKEN_LIFETIME).min(session.expires_at);
        let mut claims = authentication_claims(session, self.platform.kind().name());
        let mut add = |claim: &str, value: Value| claims.insert(claim.to_owned(), value);
        add("iss", self.policy.oidc.issuer.as_str().into());
        add("sub", content.subject.into());
        add("aud", content.client.id.as_str().into());
        add("iat", self.client_seconds(content.issued_at).into());
        add("exp", self.client_seconds(expires_at).into());
        add("auth_time", self.client_seconds(session.created_at).into());
        add("sid", content.sid.into());
        add("at_hash", at_hash(content.access_token).into());
        if let Some(nonce) = content.nonce {
            add("nonce", nonce.into());
        }
        claims
    }

    /// A time for clients, which compare it with their own clocks: these do not know that this clock runs from the newest record while
    /// the machine's time is doubted.
    pub(super) fn client_seconds(&self, at: Timestamp) -> i64 {
        let ahead = match self.clock.trust() {
            ClockTrust::Trusted => 0,
            ClockTrust::Doubted(_) => self.clock.wall().millis().saturating_sub(self.clock.now().millis()),
        };
        seconds(Timestamp::from_millis(at.millis().saturating_add(ahead)))
    }

    /// Counts an answer of the token endpoint.
    pub(super) fn count_tokens(&self, grant: TokenGrant, answer: &Result<IssuedTokens, OidcError>) {
        let outcome = match answer {
            Ok(_) => TokenOutcome::Issued,
            Err(OidcError::OAuth(_) | OidcError::Limited(_)) => TokenOutcome::Refused,
            Err(OidcError::Internal(_)) => TokenOutcome::Failed,
        };
        self.observer.notify(AuthEvent::OidcTokens(grant, outcome));
    }
}

/// Binds the ID token to the access token: the first half of its SHA-256.
fn at_hash(access_token: &Secret<OidcAccess>) -> String {
    let hash: [u8; 32] = Sha256::digest(access_token.expose().as_bytes()).into();
    let (half, _) = hash.split_at(16);
    URL_SAFE_NO_PAD.encode(half)
}
