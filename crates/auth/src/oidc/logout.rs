//! Sign-out that a client asks for (RP-initiated logout). It ends the whole session, with all of its clients.

use std::fmt;

use deskpass_core::oidc::{Parameters, PendingLogout};
use deskpass_core::{AuthorizationRequestId, ClientInfo, Digest, Secret, SingleSignOn, Timestamp};
use deskpass_store::{AuditEvent, LogEntry};

use super::authorize::{MAX_STATE_BYTES, REQUEST_LIFETIME};
use super::client::ResolvedClient;
use super::id_token_hint::IdTokenHint;
use super::pending::{RequestOrigin, request_id};
use crate::{Auth, Error, Refusal, TokenHolder};

/// What a browser gets that a client sent here to sign out.
#[derive(Clone)]
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

/// Prints neither the address, which contains the client's `state`, nor the identifier of the request.
impl fmt::Debug for LogoutStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SignedOut { .. } => "SignedOut",
            Self::Ask { .. } => "Ask",
        })
    }
}

/// A post-logout address that the client did not register. The browser is not sent there.
#[derive(Clone, Debug)]
pub struct UnregisteredAddress {
    /// The client, if the request names one that exists.
    pub client_id: Option<String>,
    /// The address, as it was sent.
    pub address: String,
}

/// The client of a request to sign out, and the session that it means, as the client knows it.
#[derive(Default)]
struct LogoutClient {
    client: Option<ResolvedClient>,
    sid: Option<String>,
}

/// A valid request to sign out.
struct CheckedLogout {
    client_id: Option<String>,
    /// The session that the client means, as the client knows it.
    sid: Option<String>,
    /// The registered address that the browser is sent to.
    redirect_to: Option<String>,
    /// The state that the client gets there.
    state: Option<String>,
}

impl CheckedLogout {
    /// The request as it is kept until a browser or its user continues it.
    fn pending(self, session: Option<Digest>, browser: Option<Digest>, until: Timestamp) -> PendingLogout {
        let Self { client_id, sid, redirect_to, state } = self;
        PendingLogout { client_id, sid, session, browser, redirect_to, state, until }
    }

    /// The step of a browser that needs no question.
    fn signed_out(self, now: Timestamp) -> LogoutStep {
        LogoutStep::SignedOut { redirect_to: self.pending(None, None, now).destination() }
    }
}

impl Auth {
    /// Signs the browser's session out if the client proves with its ID token that it means this session; otherwise asks the user. In
    /// a browser without a session, it ends only what the client got in the session that it means.
    pub async fn check_logout(
        &self,
        parameters: &Parameters,
        sso: Option<Secret<SingleSignOn>>,
        browser: Option<Digest>,
        visitor: &ClientInfo,
    ) -> Result<LogoutStep, Error> {
        let checked = self.read_logout(parameters).await?;
        self.answer_logout(checked, sso, browser, visitor).await
    }

    /// Keeps a request that came without the browser's cookies: a form that another site sent. The browser comes back with them.
    pub async fn keep_logout(
        &self,
        parameters: &Parameters,
        visitor: &ClientInfo,
    ) -> Result<Secret<AuthorizationRequestId>, Error> {
        let checked = self.read_logout(parameters).await?;
        self.store_logout(checked, None, None, visitor).await
    }

    /// Continues a request that was kept, once.
    pub async fn resume_logout(
        &self,
        request: &str,
        sso: Option<Secret<SingleSignOn>>,
        browser: Option<Digest>,
        visitor: &ClientInfo,
    ) -> Result<LogoutStep, Error> {
        let (id, now) = (request_id(request)?, self.clock.now());
        // A request that the user was asked about stays where it is.
        let is_kept = self.shared.oidc_logouts.read_with(&id, now, |pending| pending.session.is_none()).await?;
        let address = visitor.address.decided;
        let take = self.shared.oidc_logouts.take_for(address, &id, now);
        let kept = if is_kept == Some(true) { take.await? } else { None };
        let PendingLogout { client_id, sid, redirect_to, state, .. } = kept.ok_or(Refusal::OidcRequestGone)?;
        self.answer_logout(CheckedLogout { client_id, sid, redirect_to, state }, sso, browser, visitor).await
    }

    async fn answer_logout(
        &self,
        logout: CheckedLogout,
        sso: Option<Secret<SingleSignOn>>,
        browser: Option<Digest>,
        visitor: &ClientInfo,
    ) -> Result<LogoutStep, Error> {
        let meant = self.meant_holder(logout.sid.as_deref()).await?;
        let Some(own) = self.browser_holder(sso, None).await? else {
            if let Some(meant) = meant {
                self.end_at_client(&logout, &meant, None, visitor).await?;
            }
            return Ok(logout.signed_out(self.clock.now()));
        };
        if meant.is_some_and(|meant| meant.digest() == own.digest()) {
            self.end_if_valid(&own, visitor).await?;
            return Ok(logout.signed_out(self.clock.now()));
        }
        Ok(LogoutStep::Ask { request: self.store_logout(logout, Some(own.digest()), browser, visitor).await? })
    }

    async fn store_logout(
        &self,
        logout: CheckedLogout,
        session: Option<Digest>,
        browser: Option<Digest>,
        visitor: &ClientInfo,
    ) -> Result<Secret<AuthorizationRequestId>, Error> {
        let (request, now) = (Secret::generate(&self.entropy)?, self.clock.now());
        let mut pending = logout.pending(session, browser, now + REQUEST_LIFETIME);
        if self.shared.hears_older_nodes() {
            // The browser may come back to a node of version 0.2.0, which expects it in the
            // address.
            pending.redirect_to = pending.clone().destination();
            pending.state = None;
        }
        let (address, rate) = (visitor.address.decided, self.policy.kept_requests.oidc);
        self.shared.oidc_logouts.put_for(address, rate, request.digest(), pending, now).await?;
        Ok(request)
    }

    /// Signs out the session that a page asked about, and the one that the client means if it is of the same user; returns the
    /// registered address that the browser is sent to.
    pub async fn confirm_logout(
        &self,
        request: &str,
        caller: &RequestOrigin,
        sso: Option<Secret<SingleSignOn>>,
        visitor: &ClientInfo,
    ) -> Result<Option<String>, Error> {
        let (id, now) = (request_id(request)?, self.clock.now());
        if caller.from_browser && !caller.same_origin {
            return Err(Refusal::OidcRequestGone.into());
        }
        let own = match sso {
            Some(cookie) => self.store.browser_session(cookie.digest(), now).await?,
            None => None,
        };
        let asked = self.shared.oidc_logouts.read_with(&id, now, PendingLogout::clone).await?;
        let asked = asked.filter(|asked| caller.may_use(asked.browser)).ok_or(Refusal::OidcRequestGone)?;
        let session = asked.session.ok_or(Refusal::OidcRequestGone)?;
        // Not if another user has signed in there meanwhile.
        if own.map_or(caller.from_browser, |own| own != session) {
            return Err(Refusal::OidcRequestGone.into());
        }
        let (meant, own) = (self.meant_holder(asked.sid.as_deref()).await?, self.untouched_holder(session).await?);
        let logout = CheckedLogout { client_id: asked.client_id, sid: asked.sid, redirect_to: None, state: None };
        if let Some(meant) = &meant {
            self.end_meant(&logout, meant, own.as_ref(), visitor).await?;
        }
        if let Some(own) = &own {
            self.end_if_valid(own, visitor).await?;
        }
        // Taken last: if the session could not be ended, the user may try again.
        let taken = self.shared.oidc_logouts.take_for(visitor.address.decided, &id, now).await?;
        Ok(taken.and_then(PendingLogout::destination))
    }

    /// The holder of the session that a client means by its ID token, if the session is valid. What the client got may have ended.
    pub(super) async fn meant_holder(&self, sid: Option<&str>) -> Result<Option<TokenHolder>, Error> {
        let Some(sid) = sid else { return Ok(None) };
        match self.store.session_of_sid(sid.to_owned()).await? {
            Some(session) => self.untouched_holder(session).await,
            None => Ok(None),
        }
    }

    /// Ends the session that a client means, which is not the browser's. Of a session of another user than the browser's, only what
    /// the client got ends: an ID token is no proof that its user wants to sign out.
    async fn end_meant(
        &self,
        logout: &CheckedLogout,
        meant: &TokenHolder,
        own: Option<&TokenHolder>,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        if own.is_some_and(|own| own.session().employee == meant.session().employee) {
            return self.end_if_valid(meant, visitor).await;
        }
        self.end_at_client(logout, meant, own, visitor).await
    }

    /// Ends what a client got in the session that it means. The client has proven with its ID token that it got it; the session itself
    /// may be in use in another browser.
    async fn end_at_client(
        &self,
        logout: &CheckedLogout,
        meant: &TokenHolder,
        by: Option<&TokenHolder>,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let (Some(client), Some(sid)) = (&logout.client_id, &logout.sid) else { return Ok(()) };
        let now = self.clock.now();
        let plain = self.entry(AuditEvent::OidcEnded, meant.session(), now, visitor)?;
        let actor = by.map(|by| by.session().employee.clone());
        let entry = LogEntry { actor, detail: format!("client {client}, signed out at the client"), ..plain };
        // It is told: the request may have come from a link.
        self.store.end_grants_of_sid(sid.clone(), now, true, Some(entry)).await?;
        Ok(())
    }

    async fn end_if_valid(&self, holder: &TokenHolder, visitor: &ClientInfo) -> Result<(), Error> {
        match self.logout(holder, visitor).await {
            // It has ended meanwhile.
            Ok(()) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The post-logout address of a request if it is not registered: for the log, since neither the user nor the client is told.
    pub async fn unregistered_logout_address(
        &self,
        parameters: &Parameters,
    ) -> Result<Option<UnregisteredAddress>, Error> {
        let Some(address) = text(parameters, "post_logout_redirect_uri") else { return Ok(None) };
        let client = self.logout_client(parameters).await?.client;
        if client.as_ref().is_some_and(|client| client.returns_to(address)) {
            return Ok(None);
        }
        let client_id = client.map(|client| client.id);
        Ok(Some(UnregisteredAddress { client_id, address: address.to_owned() }))
    }

    /// Reads the parameters. What is not valid counts as missing: then the user is asked, and the browser is sent nowhere.
    async fn read_logout(&self, parameters: &Parameters) -> Result<CheckedLogout, Error> {
        let LogoutClient { client, sid } = self.logout_client(parameters).await?;
        let Some(client) = client else {
            return Ok(CheckedLogout { client_id: None, sid: None, redirect_to: None, state: None });
        };
        let address = text(parameters, "post_logout_redirect_uri").filter(|address| client.returns_to(address));
        // Text that is not UTF-8 cannot be returned as it is, and the address may be kept until the user has answered.
        let is_returnable = |state: &&str| parameters.is_utf8() && state.len() <= MAX_STATE_BYTES;
        let state = address.and_then(|_| text(parameters, "state")).filter(is_returnable).map(str::to_owned);
        let redirect_to = address.map(str::to_owned);
        Ok(CheckedLogout { client_id: Some(client.id), sid, redirect_to, state })
    }

    /// The client that the parameters name by its identifier or its ID token; or else the only one that registered the post-logout
    /// address, since some programs send nothing but that.
    async fn logout_client(&self, parameters: &Parameters) -> Result<LogoutClient, Error> {
        let (named, token) = (text(parameters, "client_id"), text(parameters, "id_token_hint"));
        let hint = match token {
            Some(token) => self.read_hint(token).await?,
            None => None,
        };
        let (id, sid) = match (named, hint) {
            (None, None) if token.is_none() => {
                return Ok(LogoutClient { client: self.only_client_to_return_to(parameters).await?, sid: None });
            }
            (None, Some(IdTokenHint { client_id, sid, .. })) => (client_id, sid),
            (Some(named), Some(hint)) if named == hint.client_id => (hint.client_id, hint.sid),
            (Some(named), None) => (named.to_owned(), None),
            // The ID token is invalid or of another client, so nothing of the request can be trusted.
            (None, None) | (Some(_), Some(_)) => return Ok(LogoutClient::default()),
        };
        let client = self.oidc_client(&id).await?;
        Ok(LogoutClient { sid: sid.filter(|_| client.is_some()), client })
    }

    /// The client that registered the post-logout address, if there is exactly one.
    async fn only_client_to_return_to(&self, parameters: &Parameters) -> Result<Option<ResolvedClient>, Error> {
        let Some(address) = text(parameters, "post_logout_redirect_uri") else { return Ok(None) };
        let all = self.oidc_client_list().await?;
        let mut found = all.into_iter().filter(|client| client.enabled && client.returns_to(address));
        let only = found.next();
        Ok(only.filter(|_| found.next().is_none()))
    }
}

/// A parameter; a repeated one counts as missing.
fn text<'a>(parameters: &'a Parameters, name: &'static str) -> Option<&'a str> {
    parameters.get(name).ok().flatten()
}
