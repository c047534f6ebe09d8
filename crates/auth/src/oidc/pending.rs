//! Requests that wait for the user: what the page shows, and how the user answers.

use std::time::Duration;

use deskpass_core::oidc::{OAuthError, OAuthErrorCode, OidcScopes, PendingAuthorization, PendingLogout};
use deskpass_core::{AuthorizationRequestId, ClientInfo, Digest, PersonPreview, Secret, SingleSignOn, Timestamp};
use deskpass_store::AuditEvent;

use crate::audit::Attempt;
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
    /// Whether the caller may see and answer the request. A request that is bound to a browser is valid only there, and a browser
    /// accepts no other: otherwise an attacker could send a link that continues the attacker's request.
    fn may_use(&self, pending: &PendingAuthorization) -> bool {
        match pending.browser {
            Some(browser) => self.browser == Some(browser),
            None => !self.from_browser,
        }
    }

    /// Whether the caller is a page of this service in the browser that began the request.
    fn is_own_page(&self, pending: &PendingAuthorization) -> bool {
        self.same_origin && pending.browser.is_some() && self.browser == pending.browser
    }
}

/// What the page shows.
#[derive(Clone, Debug)]
pub struct AuthorizationPrompt {
    /// The client's identifier.
    pub client_id: String,
    /// The client's name.
    pub client: String,
    /// The host that the browser is sent to.
    pub host: String,
    /// The granted scopes.
    pub scopes: OidcScopes,
    /// What the user must do.
    pub needs: Needs,
    /// The user who is signed in, if pressing the button is enough.
    pub user: Option<PersonPreview>,
    /// The employee who is expected to sign in, as the client writes it.
    pub login_hint: Option<String>,
    /// How long the request still waits.
    pub expires_in: Duration,
}

/// What the user must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Sign in.
    SignIn,
    /// Press the button to continue.
    Press,
    /// Confirm the sign-out.
    SignOut,
}

impl Needs {
    /// All values.
    pub const ALL: [Self; 3] = [Self::SignIn, Self::Press, Self::SignOut];

    /// The names of all values.
    pub const NAMES: [&'static str; 3] = ["sign_in", "press", "sign_out"];

    /// The name, as the page sees it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Press => "press",
            Self::SignOut => "sign_out",
        }
    }
}

/// A request that was answered with a code.
#[derive(Clone, Debug)]
pub struct Continued {
    /// The client's address, with the code.
    pub redirect_to: String,
    /// The browser's new single sign-on cookie.
    pub sso: Secret<SingleSignOn>,
}

impl Auth {
    /// What the page shows about a request for a sign-in or a sign-out. Changes nothing.
    pub async fn authorization_prompt(
        &self,
        request: &str,
        caller: &RequestOrigin,
    ) -> Result<AuthorizationPrompt, Error> {
        let (id, now) = (request_id(request)?, self.clock.now());
        if let Some(leaving) = self.shared.oidc_logouts.read_with(&id, now, PendingLogout::clone).await? {
            return self.sign_out_prompt(leaving, now).await;
        }
        let (_, pending) = self.pending_authorization(request, caller).await?;
        let client = self.oidc_client(&pending.request.client_id).await?.ok_or(Refusal::OidcRequestGone)?;
        let known = match pending.session.filter(|_| caller.is_own_page(&pending)) {
            Some(session) => self.valid_holder(session, None).await?,
            None => None,
        };
        let user = known.as_ref().map(preview);
        Ok(AuthorizationPrompt {
            client: client.registration.name.clone(),
            client_id: client.id,
            host: host_of(&pending.request.redirect_uri).to_owned(),
            scopes: pending.request.scopes,
            needs: if user.is_some() { Needs::Press } else { Needs::SignIn },
            user,
            login_hint: pending.request.login_hint,
            expires_in: pending.until.since(now),
        })
    }

    async fn sign_out_prompt(&self, leaving: PendingLogout, now: Timestamp) -> Result<AuthorizationPrompt, Error> {
        let client = match &leaving.client_id {
            Some(id) => self.oidc_client(id).await?,
            None => None,
        };
        let user = self.valid_holder(leaving.session, None).await?.as_ref().map(preview);
        let (client_id, client) =
            client.map_or_else(Default::default, |client| (client.id, client.registration.name.clone()));
        Ok(AuthorizationPrompt {
            client_id,
            client,
            host: leaving.redirect_to.as_deref().map(host_of).unwrap_or_default().to_owned(),
            scopes: OidcScopes::NONE,
            needs: Needs::SignOut,
            user,
            login_hint: None,
            expires_in: leaving.until.since(now),
        })
    }

    /// Continues a request in a session: that of the token, or else that of the browser which pressed the button. Refused if the
    /// session does not fulfil what the client requires, or the user may not use the client.
    pub async fn continue_authorization(
        &self,
        request: &str,
        holder: Option<&TokenHolder>,
        caller: &RequestOrigin,
        visitor: &ClientInfo,
    ) -> Result<Continued, Error> {
        let refused = AuditEvent::OidcRefused;
        let unnamed = Attempt { refused, who: None, claimed: false, method: None, source: None, visitor };
        let attempt = holder.map_or(unnamed, |holder| Attempt::in_session(holder.session(), refused, visitor));
        let found = self.pending_authorization(request, caller).await;
        let (id, pending) = self.audit_outcome(attempt, found).await?;
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
            Some(session) => self.authenticate_digest(session, Some(visitor.address.decided)).await,
            None => Err(Refusal::Token(TokenError::Missing).into()),
        }
    }

    async fn require_continuable(
        &self,
        pending: &PendingAuthorization,
        holder: &TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        if !self.fulfils(holder, &pending.requirement).await? {
            return Err(Refusal::NewSignInNeeded.into());
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
        let taken = self.shared.oidc_requests.take(&id, self.clock.now()).await?;
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
        Ok(Continued { redirect_to, sso })
    }

    /// Ends a request because the user does not continue; returns the client's address with the error.
    pub async fn deny_authorization(&self, request: &str, caller: &RequestOrigin) -> Result<String, Error> {
        let (id, _) = self.pending_authorization(request, caller).await?;
        let taken = self.shared.oidc_requests.take(&id, self.clock.now()).await?;
        let PendingAuthorization { request, .. } = taken.ok_or(Refusal::OidcRequestGone)?;
        let error = OAuthError::new(OAuthErrorCode::AccessDenied, "the user did not continue");
        Ok(self.error_redirect(&request.redirect_uri, request.state.as_deref(), &error))
    }

    /// The request and the digest of its id, if the caller may use it.
    async fn pending_authorization(
        &self,
        request: &str,
        caller: &RequestOrigin,
    ) -> Result<(Digest, PendingAuthorization), Error> {
        let (id, now) = (request_id(request)?, self.clock.now());
        let pending = self.shared.oidc_requests.read_with(&id, now, PendingAuthorization::clone).await?;
        let pending = pending.filter(|pending| caller.may_use(pending)).ok_or(Refusal::OidcRequestGone)?;
        Ok((id, pending))
    }
}

fn request_id(request: &str) -> Result<Digest, Refusal> {
    let id = Secret::<AuthorizationRequestId>::parse(request).map_err(|_| Refusal::OidcRequestGone)?;
    Ok(id.digest())
}

fn preview(holder: &TokenHolder) -> PersonPreview {
    PersonPreview { employee_id: holder.person().employee_id.clone(), name: holder.person().name.clone() }
}

/// The host and port of a registered address, as a user reads them.
fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_shown_with_its_port() {
        for (address, host) in [
            ("https://help.example.com/auth/callback", "help.example.com"),
            ("https://help.example.com?tenant=1", "help.example.com"),
            ("http://127.0.0.1:3000/cb", "127.0.0.1:3000"),
            ("http://[::1]/cb", "[::1]"),
            ("https://help.example.com", "help.example.com"),
        ] {
            assert_eq!(host_of(address), host);
        }
    }

    #[test]
    fn names_are_complete() {
        assert_eq!(Needs::ALL.map(Needs::name), Needs::NAMES);
    }
}
