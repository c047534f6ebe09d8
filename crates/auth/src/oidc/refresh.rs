//! Refresh tokens: each is used once, and gives the same answer again for a few seconds.

use std::time::Duration;

use deskpass_core::oidc::{OAuthError, OAuthErrorCode, OidcScopes};
use deskpass_core::{ClientInfo, Digest, OidcAccess, RefreshToken, Roles, Secret, Timestamp};
use deskpass_store::{AuditEvent, GrantRecord, LogEntry, RefreshOutcome, RefreshRequest};

use super::client::{Admission, ResolvedClient};
use super::error::{OidcError, invalid_grant};
use super::id_token::{ACCESS_TOKEN_LIFETIME, IdTokenContent, IssuedTokens};
use crate::audit::Attempt;
use crate::limit::LimitedWrite;
use crate::{Auth, Error, TokenGrant, TokenHolder};

/// How long a used refresh token gives the same answer again: two tabs of a program may use it at once. By the clocks of the nodes: if
/// these differ by more, a repetition on another node counts as a second use, and ends the grant.
const REPEAT_WINDOW: Duration = Duration::from_secs(10);

/// The tokens that follow a refresh token. They are derived from it, so that the same answer can be given again, on any node, without
/// being stored.
#[derive(Debug)]
struct Successors {
    refresh: Secret<RefreshToken>,
    access: Secret<OidcAccess>,
}

impl Successors {
    /// From the token itself and not from its digest, which is stored: database and key together must not give tokens.
    fn of(token: &Secret<RefreshToken>, key: &[u8; 32]) -> Self {
        let token = token.expose().as_bytes();
        Self { refresh: Secret::derive(key, &[b"refresh", token]), access: Secret::derive(key, &[b"access", token]) }
    }
}

impl Auth {
    /// Exchanges a refresh token for new tokens. The person, the roles, the client and the scopes are checked again. A narrower `scope`
    /// narrows this ID token only: access tokens and later ID tokens have all scopes of the grant, which alone are stored.
    pub async fn refresh(
        &self,
        client: &ResolvedClient,
        token: &str,
        scope: Option<&str>,
        visitor: &ClientInfo,
    ) -> Result<IssuedTokens, OidcError> {
        let answer = self.refresh_uncounted(client, token, scope, visitor).await;
        self.count_tokens(TokenGrant::RefreshToken, &answer);
        answer
    }

    async fn refresh_uncounted(
        &self,
        client: &ResolvedClient,
        token: &str,
        scope: Option<&str>,
        visitor: &ClientInfo,
    ) -> Result<IssuedTokens, OidcError> {
        let token = Secret::<RefreshToken>::parse(token).map_err(|_| invalid_grant())?;
        let grant = self.store.grant_of_refresh(token.digest()).await?.ok_or_else(invalid_grant)?;
        if grant.client_id != client.id || !self.is_current(&grant) {
            return Err(invalid_grant());
        }
        if let Err(limited) = self.limit_write(LimitedWrite::Refresh, grant.id.as_bytes()).await
            // A used one writes nothing, and gives the same answer again.
            && self.store.refresh_used_at(token.digest()).await?.is_none()
        {
            return Err(Error::from(limited).into());
        }
        let scopes = answered_scopes(scope, grant.scopes.intersection(client.registration.scopes))?;
        let (holder, admission) = self.readmit(&grant, visitor).await?;
        let next = Successors::of(&token, &self.credential_vault.oidc_token_key());
        let rotation = self.rotation(token.digest(), client, &next, &holder, visitor)?;
        let (grant, issued_at, next) = match self.store.refresh_grant(rotation).await? {
            RefreshOutcome::Rotated(grant, at) => (grant, at, next),
            RefreshOutcome::Repeated(grant, at) => (grant, at, self.given_before(&token).await?),
            RefreshOutcome::Reused(grant) => {
                tracing::warn!(
                    client = grant.client_id.as_str(),
                    employee = %grant.employee,
                    "a refresh token was used twice; its grant has ended"
                );
                return Err(invalid_grant());
            }
            RefreshOutcome::Invalid => return Err(invalid_grant()),
        };
        // If a role was revoked meanwhile, this ends the grant.
        if admission.relied_on != grant.roles
            && !self.store.set_told_roles(grant.id.clone(), admission.relied_on).await?
        {
            return Err(invalid_grant());
        }
        Ok(self.refreshed_tokens(client, &holder, (&grant, admission.told, scopes), next, issued_at).await?)
    }

    /// The tokens that a used refresh token has given. The encryption key may have been replaced since, or this node may not know of the
    /// replacement yet. If no known key derives them, the token is not valid, but its use is no sign of theft.
    async fn given_before(&self, token: &Secret<RefreshToken>) -> Result<Successors, OidcError> {
        for key in self.credential_vault.oidc_token_keys() {
            let given = Successors::of(token, &key);
            if self.store.oidc_access(&given.access.digest()).await?.is_some() {
                return Ok(given);
            }
        }
        Err(invalid_grant())
    }

    /// The user of a grant, and the roles that admit them. Refused if the user may not use the client any more.
    async fn readmit(&self, grant: &GrantRecord, visitor: &ClientInfo) -> Result<(TokenHolder, Admission), Error> {
        let holder = self.authenticate_untouched(grant.session).await?;
        let rules = self.store.access_rules().await?;
        let admitted = self.admit_to_client(&rules, &grant.client_id, &holder, grant.address);
        let attempt = Attempt::in_session(holder.session(), AuditEvent::OidcRefused, visitor);
        let admission = self.audit_outcome(attempt, admitted.map_err(Error::from)).await?;
        Ok((holder, admission))
    }

    fn rotation(
        &self,
        token: Digest,
        client: &ResolvedClient,
        next: &Successors,
        holder: &TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<RefreshRequest, Error> {
        let now = self.clock.now();
        let entry = self.entry(AuditEvent::OidcReused, holder.session(), now, visitor)?;
        Ok(RefreshRequest {
            token,
            client_id: client.id.clone(),
            now,
            successor: next.refresh.digest(),
            access: next.access.digest(),
            access_lifetime: ACCESS_TOKEN_LIFETIME,
            repeat_window: REPEAT_WINDOW,
            reuse_entry: LogEntry { detail: format!("client {}, refresh token", client.id), ..entry },
        })
    }

    async fn refreshed_tokens(
        &self,
        client: &ResolvedClient,
        holder: &TokenHolder,
        (grant, roles, scopes): (&GrantRecord, Roles, OidcScopes),
        next: Successors,
        issued_at: Timestamp,
    ) -> Result<IssuedTokens, Error> {
        let content = IdTokenContent {
            client,
            holder,
            subject: &grant.subject,
            sid: &grant.sid,
            scopes,
            roles,
            // Only the first ID token answers the request with the nonce.
            nonce: None,
            issued_at,
            access_token: &next.access,
        };
        let id_token = self.sign_id_token(&content).await?;
        Ok(IssuedTokens {
            access_token: next.access,
            // From the first answer on, so that a repeated one is the same.
            expires_in: (issued_at + ACCESS_TOKEN_LIFETIME).min(grant.expires_at).since(issued_at),
            refresh_token: Some(next.refresh),
            id_token,
            scopes,
        })
    }
}

/// The scopes of an answer: those that the client asks for, or else all that it was granted. It must not ask for more.
fn answered_scopes(scope: Option<&str>, granted: OidcScopes) -> Result<OidcScopes, OAuthError> {
    let asked = scope.map(OidcScopes::parse).unwrap_or_default();
    match asked {
        OidcScopes::NONE => Ok(granted),
        _ if asked.intersection(granted) == asked => Ok(asked),
        _ => Err(OAuthError::new(OAuthErrorCode::InvalidScope, "scope must not contain more than was granted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_scope_is_added_at_a_refresh() {
        let granted = OidcScopes::parse("openid email offline_access");
        assert_eq!(answered_scopes(None, granted), Ok(granted));
        assert_eq!(answered_scopes(Some("openid email"), granted), Ok(OidcScopes::parse("openid email")));
        assert!(answered_scopes(Some("openid groups"), granted).is_err());
    }

    #[test]
    fn the_same_token_has_the_same_successors_under_one_key_only() {
        let [token, other] = [1, 2].map(|seed| Secret::<RefreshToken>::derive(&[seed; 32], &[]));
        let of = |token: &Secret<RefreshToken>, key: u8| Successors::of(token, &[key; 32]).refresh.digest();
        assert_eq!(of(&token, 1), of(&token, 1));
        assert_ne!(of(&token, 1), of(&other, 1));
        assert_ne!(of(&token, 1), of(&token, 2));
    }
}
