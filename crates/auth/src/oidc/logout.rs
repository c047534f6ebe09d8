//! Sign-out that a client asks for (RP-initiated logout). It ends the whole session, with all of its clients.

use deskpass_core::oidc::{Parameters, PendingLogout, with_parameters};
use deskpass_core::{AuthorizationRequestId, ClientInfo, Secret, SingleSignOn};

use super::authorize::REQUEST_LIFETIME;
use super::id_token_hint::IdTokenHint;
use super::pending::RequestOrigin;
use crate::{Auth, Error, Refusal, TokenHolder};

/// What a browser gets that a client sent here to sign out.
#[derive(Clone, Debug)]
pub enum LogoutStep {
    /// The session has ended, or there is none.
    SignedOut {
        /// The registered address that the browser is sent to.
        redirect_to: Option<String>,
    },
    /// A page asks the user: the request may come from a link.
    Ask {
        /// Identifies the request to the page.
        request: Secret<AuthorizationRequestId>,
    },
}

/// A valid request to sign out.
#[derive(Debug)]
struct CheckedLogout {
    client_id: Option<String>,
    /// The session that the client means, as the client knows it.
    sid: Option<String>,
    redirect_to: Option<String>,
}

impl Auth {
    /// Signs the browser's session out if the client proves with its ID token that it means this session; otherwise asks the user.
    pub async fn check_logout(
        &self,
        parameters: &Parameters,
        sso: Option<Secret<SingleSignOn>>,
        visitor: &ClientInfo,
    ) -> Result<LogoutStep, Error> {
        let checked = self.read_logout(parameters).await?;
        let Some(holder) = self.browser_holder(sso, None).await? else {
            return Ok(LogoutStep::SignedOut { redirect_to: checked.redirect_to });
        };
        let own_sid = checked.client_id.as_deref().map(|client| self.session_sid(&holder.digest(), client));
        if checked.sid.is_some() && checked.sid == own_sid {
            self.end_if_valid(&holder, visitor).await?;
            return Ok(LogoutStep::SignedOut { redirect_to: checked.redirect_to });
        }
        let (request, now) = (Secret::generate(&self.entropy)?, self.clock.now());
        let CheckedLogout { client_id, redirect_to, .. } = checked;
        let pending = PendingLogout { client_id, session: holder.digest(), redirect_to, until: now + REQUEST_LIFETIME };
        self.shared.oidc_logouts.put(request.digest(), pending, now).await?;
        Ok(LogoutStep::Ask { request })
    }

    /// Signs out the session that a page asked about; returns the registered address that the browser is sent to.
    pub async fn confirm_logout(
        &self,
        request: &str,
        caller: &RequestOrigin,
        sso: Option<Secret<SingleSignOn>>,
        visitor: &ClientInfo,
    ) -> Result<Option<String>, Error> {
        let id = Secret::<AuthorizationRequestId>::parse(request).map_err(|_| Refusal::OidcRequestGone)?.digest();
        if caller.from_browser && !caller.same_origin {
            return Err(Refusal::OidcRequestGone.into());
        }
        let now = self.clock.now();
        let own = match sso {
            Some(cookie) => self.store.browser_session(cookie.digest(), now).await?,
            None => None,
        };
        let asked = self.shared.oidc_logouts.read_with(&id, now, |pending| pending.session).await?;
        let session = asked.ok_or(Refusal::OidcRequestGone)?;
        // Only in the browser that was asked, and not if another user has signed in there meanwhile.
        if own.map_or(caller.from_browser, |own| own != session) {
            return Err(Refusal::OidcRequestGone.into());
        }
        if let Some(holder) = self.valid_holder(session, None).await? {
            self.end_if_valid(&holder, visitor).await?;
        }
        // Taken last: if the session could not be ended, the user may try again.
        Ok(self.shared.oidc_logouts.take(&id, now).await?.and_then(|pending| pending.redirect_to))
    }

    async fn end_if_valid(&self, holder: &TokenHolder, visitor: &ClientInfo) -> Result<(), Error> {
        match self.logout(holder, visitor).await {
            // It has ended meanwhile.
            Ok(()) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads the parameters. What is not valid counts as missing: then the user is asked, and the browser is sent nowhere.
    async fn read_logout(&self, parameters: &Parameters) -> Result<CheckedLogout, Error> {
        let text = |name: &'static str| parameters.get(name).ok().flatten();
        let hint = match text("id_token_hint") {
            Some(token) => self.read_hint(token).await?,
            None => None,
        };
        let named = text("client_id").map(str::to_owned);
        let (client_id, sid) = match (named, hint) {
            (None, Some(IdTokenHint { client_id, sid, .. })) => (Some(client_id), sid),
            (Some(named), Some(hint)) if named == hint.client_id => (Some(named), hint.sid),
            // The ID token is of another client, so nothing of the request can be trusted.
            (Some(_), Some(_)) => (None, None),
            (named, None) => (named, None),
        };
        let client = match &client_id {
            Some(id) => self.oidc_client(id).await?,
            None => None,
        };
        let Some(client) = client else {
            return Ok(CheckedLogout { client_id: None, sid: None, redirect_to: None });
        };
        let registered = &client.registration.post_logout_redirect_uris;
        let address =
            text("post_logout_redirect_uri").filter(|address| registered.iter().any(|known| known == address));
        let redirect_to = address.map(|address| match text("state") {
            Some(state) => with_parameters(address, &[("state", state)]),
            None => address.to_owned(),
        });
        Ok(CheckedLogout { client_id, sid, redirect_to })
    }
}
