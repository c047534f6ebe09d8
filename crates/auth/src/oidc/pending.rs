//! Requests that wait for the user, and how the user answers.

use std::fmt;

use deskpass_core::oidc::{OAuthError, OAuthErrorCode, PendingAuthorization};
use deskpass_core::{AuthorizationRequestId, ClientInfo, Digest, Secret, SingleSignOn};
use deskpass_store::AuditEvent;

use super::client::ResolvedClient;
use crate::audit::Attempt;
use crate::limit::LimitedWrite;
use crate::{Auth, Error, Refusal, TokenError, TokenHolder};

/// The caller that answers a request, as far as its browser describes it.
#[derive(Clone, Debug, Default)]
pub struct RequestOrigin {
    /// The digest of the browser's cookie.
    pub browser: Option<Digest>,
    /// Whether a browser sent the call.
    pub from_browser: bool,
    /// Whether a page of this service sent it.
    pub same_origin: bool,
}

impl RequestOrigin {
    /// Whether the caller may see and answer the request of this browser. A request that is bound to a browser is valid only there, and
    /// a browser accepts no other: otherwise an attacker could send a link that continues the attacker's request.
    pub(super) fn may_use(&self, browser: Option<Digest>) -> bool {
        match browser {
            Some(browser) => self.browser == Some(browser),
            None => !self.from_browser,
        }
    }

    /// Whether the caller is a page of this service in the browser that began the request.
    pub(super) fn is_own_page(&self, pending: &PendingAuthorization) -> bool {
        self.same_origin && pending.browser.is_some() && self.browser == pending.browser
    }
}

/// A request that was answered with a code.
#[derive(Clone)]
pub struct Continued {
    /// The client's address, with the code.
    pub redirect_to: String,
    /// The browser's new single sign-on cookie.
    pub sso: Secret<SingleSignOn>,
    /// The session that the cookie belongs to.
    pub session: Digest,
}

/// Prints neither the code nor the cookie.
impl fmt::Debug for Continued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Continued").finish_non_exhaustive()
    }
}

impl Auth {
    /// Continues a request in a session: that of the token, or else that of the browser which pressed the button. Refused if the
    /// session does not fulfil what the client requires, or the user may not use the client.
    pub async fn continue_authorization(
        &self,
        request: &str,
        holder: Option<&TokenHolder>,
        caller: &RequestOrigin,
        visitor: &ClientInfo,
    ) -> Result<Continued, Error> {
        if let Some(holder) = holder {
            self.limit_write(LimitedWrite::ContinueToClient, holder.digest().bytes()).await?;
        }
        let refused = AuditEvent::OidcRefused;
        let unnamed = Attempt::unnamed(refused, visitor);
        let attempt = holder.map_or(unnamed, |holder| Attempt::in_session(holder.session(), refused, visitor));
        let found = self.pending_authorization(request, caller).await;
        let (id, pending, _) = self.audit_outcome(attempt, found).await?;
        let holder = match holder {
            Some(holder) => holder.clone(),
            None => self.pressing_holder(&pending, caller, visitor).await?,
        };
        let attempt = Attempt::in_session(holder.session(), refused, visitor);
        self.audit_outcome(attempt, self.require_continuable(&pending, &holder, visitor).await).await?;
        self.finish_authorization(id, &holder, visitor).await
    }

    /// The holder of the browser's session, for a button that was pressed without a token.
    async fn pressing_holder(
        &self,
        pending: &PendingAuthorization,
        caller: &RequestOrigin,
        visitor: &ClientInfo,
    ) -> Result<TokenHolder, Error> {
        match pending.session.filter(|_| caller.is_own_page(pending)) {
            Some(session) => {
                self.limit_write(LimitedWrite::ContinueToClient, session.bytes()).await?;
                self.authenticate_digest(session, Some(visitor.address.decided)).await
            }
            None => Err(Refusal::Token(TokenError::Missing).into()),
        }
    }

    async fn require_continuable(
        &self,
        pending: &PendingAuthorization,
        holder: &TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        if let Some(refusal) = self.shortfall(holder, &pending.requirement).await? {
            return Err(refusal.into());
        }
        let rules = self.store.access_rules().await?;
        self.admit_to_client(&rules, &pending.request.client_id, holder, visitor.address.decided)?;
        Ok(())
    }

    /// Issues the code, once.
    async fn finish_authorization(
        &self,
        id: Digest,
        holder: &TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<Continued, Error> {
        let taken = self.take_request(id, visitor).await?;
        let pending = taken.ok_or(Refusal::OidcRequestGone)?;
        let issued = self.issue_code_and_cookie(&pending, holder, visitor).await;
        if issued.is_err() {
            // The failure may be transient, so the user may try again. If this fails, too, the user starts again.
            drop(self.shared.oidc_requests.put(id, pending, self.clock.now()).await);
        }
        issued
    }

    async fn issue_code_and_cookie(
        &self,
        pending: &PendingAuthorization,
        holder: &TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<Continued, Error> {
        let sso = self.issue_sso_cookie(holder).await?;
        let redirect_to = self.issue_code(&pending.request, holder.digest(), visitor.address.decided).await?;
        Ok(Continued { redirect_to, sso, session: holder.digest() })
    }

    /// Ends a request because the user does not continue, or may not; returns the client's address with the error.
    pub async fn deny_authorization(
        &self,
        request: &str,
        holder: Option<&TokenHolder>,
        caller: &RequestOrigin,
        visitor: &ClientInfo,
    ) -> Result<String, Error> {
        let (id, ..) = self.pending_authorization(request, caller).await?;
        let taken = self.take_request(id, visitor).await?;
        let pending = taken.ok_or(Refusal::OidcRequestGone)?;
        let known = match holder {
            Some(holder) => Some(holder.clone()),
            None => self.pressing_holder(&pending, caller, visitor).await.ok(),
        };
        let request = pending.request;
        let is_refused = match known {
            Some(holder) => self.is_refused_at_client(&request.client_id, &holder, visitor).await?,
            None => false,
        };
        let text = if is_refused { "the user may not use this client" } else { "the user did not continue" };
        let error = OAuthError::new(OAuthErrorCode::AccessDenied, text);
        Ok(self.error_redirect(&request.redirect_uri, request.state.as_deref(), &error))
    }

    /// Whether this user cannot continue to a client. The client is told, since its page can say so.
    async fn is_refused_at_client(
        &self,
        client_id: &str,
        holder: &TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<bool, Error> {
        let rules = self.store.access_rules().await?;
        Ok(self.admit_to_client(&rules, client_id, holder, visitor.address.decided).is_err())
    }

    /// The digest of its id, the request and its client, if the caller may use it and the client still permits it.
    pub(super) async fn pending_authorization(
        &self,
        request: &str,
        caller: &RequestOrigin,
    ) -> Result<(Digest, PendingAuthorization, ResolvedClient), Error> {
        let (id, now) = (request_id(request)?, self.clock.now());
        let pending = self.shared.oidc_requests.read_with(&id, now, PendingAuthorization::clone).await?;
        let pending = pending.filter(|pending| caller.may_use(pending.browser)).ok_or(Refusal::OidcRequestGone)?;
        let client = self.permitting_client(&pending.request).await?;
        Ok((id, pending, client))
    }
}

/// The digest of the id of a request.
pub(super) fn request_id(request: &str) -> Result<Digest, Refusal> {
    let id = Secret::<AuthorizationRequestId>::parse(request).map_err(|_| Refusal::OidcRequestGone)?;
    Ok(id.digest())
}
