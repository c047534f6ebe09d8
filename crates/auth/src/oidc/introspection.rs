//! Introspection (RFC 7662) for clients: only their own tokens are active to them.

use deskpass_core::{RefreshToken, Secret, Timestamp};
use deskpass_store::GrantRecord;
use serde::Serialize;

use super::claims::preferred_username;
use super::client::ResolvedClient;
use super::error::{OidcError, invalid_client};
use crate::{Auth, Error};

/// The answer about a token. Of a token that is not active, nothing is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IntrospectedToken {
    /// Whether the token is valid and of the asking client.
    pub active: bool,
    /// The rest.
    #[serde(flatten)]
    pub details: Option<TokenDetails>,
}

/// What is told about an active token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenDetails {
    /// The granted scopes.
    pub scope: String,
    /// The client.
    pub client_id: String,
    /// The user's name.
    pub username: String,
    /// The type, of an access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_type: Option<&'static str>,
    /// When it expires, in seconds since 1970.
    pub exp: i64,
    /// The subject.
    pub sub: String,
    /// The client, for which it is meant.
    pub aud: String,
    /// The issuer.
    pub iss: String,
    /// The session.
    pub sid: String,
}

impl Auth {
    /// Tells a client about one of its tokens.
    pub async fn introspect_oidc(&self, client: &ResolvedClient, token: &str) -> Result<IntrospectedToken, OidcError> {
        if !client.registration.has_secret() {
            return Err(invalid_client("introspection is for clients with a secret"));
        }
        let details = match self.access_token(token).await? {
            Some(record) => self.token_details(client, &record.grant, Some("Bearer"), record.expires_at).await?,
            None => match self.unused_refresh_token(token).await? {
                Some(grant) => self.token_details(client, &grant, None, grant.expires_at).await?,
                None => None,
            },
        };
        Ok(IntrospectedToken { active: details.is_some(), details })
    }

    /// The grant of a refresh token that was not used.
    async fn unused_refresh_token(&self, token: &str) -> Result<Option<GrantRecord>, Error> {
        let Ok(token) = Secret::<RefreshToken>::parse(token) else { return Ok(None) };
        if self.store.refresh_used_at(token.digest()).await?.is_some() {
            return Ok(None);
        }
        Ok(self.store.grant_of_refresh(token.digest()).await?)
    }

    async fn token_details(
        &self,
        client: &ResolvedClient,
        grant: &GrantRecord,
        token_type: Option<&'static str>,
        expires_at: Timestamp,
    ) -> Result<Option<TokenDetails>, Error> {
        if grant.client_id != client.id {
            return Ok(None);
        }
        let Some(live) = self.live_grant(grant).await? else { return Ok(None) };
        Ok(Some(TokenDetails {
            scope: grant.scopes.intersection(client.registration.scopes).to_string(),
            client_id: client.id.clone(),
            username: preferred_username(&live.holder.person().to_person(), self.policy.home_corp.as_str()),
            token_type,
            exp: self.client_seconds(expires_at),
            sub: grant.subject.clone(),
            aud: client.id.clone(),
            iss: self.policy.oidc.issuer.clone(),
            sid: grant.sid.clone(),
        }))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_told_about_a_token_that_is_not_active() {
        assert_eq!(serde_json::to_string(&IntrospectedToken::default()).unwrap(), r#"{"active":false}"#);
    }
}
