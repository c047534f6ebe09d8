//! The authorization endpoint: a client sends a browser, which gets a code, an error, or a page that asks the user.

use std::fmt;
use std::time::Duration;

use deskpass_core::oidc::{
    AuthorizationRequest, ClientRegistration, OAuthError, OAuthErrorCode, Parameters, PendingAuthorization,
    RepeatedParameter, SignInRequirement, SsoMode, authorization_request, is_registered, with_parameters,
};
use deskpass_core::{AuthorizationRequestId, ClientInfo, Digest, Secret, SingleSignOn, Timestamp};
use deskpass_store::AuditEvent;

use super::client::ResolvedClient;
use crate::audit::Attempt;
use crate::{Auth, Error, Refusal, TokenHolder};

/// How long a request waits for the user.
pub(super) const REQUEST_LIFETIME: Duration = Duration::from_mins(10);
/// The longest `state` that is returned with an error, or after a logout.
pub(super) const MAX_STATE_BYTES: usize = 2_048;

/// A request whose client, redirect URI and parameters are valid.
#[derive(Clone, Debug)]
pub struct CheckedAuthorization(AuthorizationRequest);

impl CheckedAuthorization {
    /// Whether the user may be asked. If not (`prompt=none`), the answer is never a page and sets no cookie.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        !self.0.prompts.none
    }
}

/// Why a request is not valid.
#[derive(Clone)]
pub enum AuthorizationFailure {
    /// The client or the redirect URI is not valid, so the browser stays here and sees a page of this service.
    Page(AuthorizationPageError),
    /// The browser returns to the client with an error.
    Redirect {
        /// The complete address, with the error.
        address: String,
        /// The error. It repeats nothing that the client sent.
        error: OAuthError,
    },
    /// The request could not be checked.
    Internal(Error),
}

/// Does not print the address, which contains the client's `state`.
impl fmt::Debug for AuthorizationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(error) => f.debug_tuple("Page").field(error).finish(),
            Self::Redirect { .. } => f.write_str("Redirect"),
            Self::Internal(error) => f.debug_tuple("Internal").field(error).finish(),
        }
    }
}

/// Why a browser is not sent back to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationPageError {
    /// There is no such client, or it is disabled.
    UnknownClient,
    /// The redirect URI is missing or not registered.
    BadRedirectUri,
    /// The client or the redirect URI is given more than once.
    InvalidRequest,
}

impl AuthorizationPageError {
    /// All errors.
    pub const ALL: [Self; 3] = [Self::UnknownClient, Self::BadRedirectUri, Self::InvalidRequest];

    /// The name, for the page.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnknownClient => "unknown_client",
            Self::BadRedirectUri => "bad_redirect_uri",
            Self::InvalidRequest => "invalid_request",
        }
    }
}

impl From<AuthorizationPageError> for AuthorizationFailure {
    fn from(error: AuthorizationPageError) -> Self {
        Self::Page(error)
    }
}

impl From<RepeatedParameter> for AuthorizationFailure {
    fn from(_: RepeatedParameter) -> Self {
        Self::Page(AuthorizationPageError::InvalidRequest)
    }
}

impl From<Error> for AuthorizationFailure {
    fn from(error: Error) -> Self {
        Self::Internal(error)
    }
}

/// What a browser gets that a client sent here.
#[derive(Clone)]
pub enum AuthorizationStep {
    /// It returns to the client at this address, with a code or an error.
    Redirect(String),
    /// It returns to the client at this address with an error that shows a mistake of the client.
    Refuse {
        /// The complete address, with the error.
        address: String,
        /// The error. It repeats nothing that the client sent.
        error: OAuthError,
    },
    /// A page asks the user.
    Ask {
        /// Identifies the request to the page.
        request: Secret<AuthorizationRequestId>,
        /// The languages that the client prefers.
        locales: Option<String>,
    },
}

/// Prints neither the code nor the identifier of the request.
impl fmt::Debug for AuthorizationStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redirect(_) => "Redirect",
            Self::Refuse { .. } => "Refuse",
            Self::Ask { .. } => "Ask",
        })
    }
}

impl Auth {
    /// Checks a request: the client, then the redirect URI, and only then anything else. Until both are valid, the browser is sent
    /// nowhere.
    pub async fn check_authorization(
        &self,
        parameters: &Parameters,
    ) -> Result<CheckedAuthorization, AuthorizationFailure> {
        let id = parameters.get("client_id")?.ok_or(AuthorizationPageError::UnknownClient)?;
        let client = self.oidc_client(id).await?.ok_or(AuthorizationPageError::UnknownClient)?;
        let redirect_uri = parameters.get("redirect_uri")?.ok_or(AuthorizationPageError::BadRedirectUri)?;
        let registration = &client.registration;
        if !is_registered(&registration.redirect_uris, registration.kind, redirect_uri) {
            return Err(AuthorizationPageError::BadRedirectUri.into());
        }
        if !client.enabled && parameters.get("prompt") != Ok(Some("none")) {
            return Err(AuthorizationPageError::UnknownClient.into());
        }
        let request = if client.enabled {
            authorization_request(parameters, id, redirect_uri, registration)
        } else {
            Err(OAuthError::new(OAuthErrorCode::UnauthorizedClient, "the client is disabled"))
        };
        request.map(CheckedAuthorization).map_err(|error| {
            let state = parameters.get("state").ok().flatten().filter(|state| state.len() <= MAX_STATE_BYTES);
            // Text that is not UTF-8 cannot be returned as it is.
            let state = state.filter(|_| parameters.is_utf8());
            AuthorizationFailure::Redirect { address: self.error_redirect(redirect_uri, state, &error), error }
        })
    }

    /// Answers a request of a frame of another site, whose browser sends no cookies: it gets no session, and no page is shown there.
    /// `None` if the request wants a page.
    #[must_use]
    pub fn answer_foreign_frame(
        &self,
        CheckedAuthorization(request): &CheckedAuthorization,
    ) -> Option<AuthorizationStep> {
        let text = "frames of other sites have no session; sign in by a redirect of the whole page";
        request.prompts.none.then(|| self.error_step(request, OAuthErrorCode::LoginRequired, text))
    }

    /// Answers a request: with a code where the browser's session is enough, or else by asking the user.
    pub async fn begin_authorization(
        &self,
        checked: CheckedAuthorization,
        sso: Option<Secret<SingleSignOn>>,
        browser: Option<Digest>,
        visitor: &ClientInfo,
    ) -> Result<AuthorizationStep, Error> {
        let pending = self.new_pending(checked, browser).await?;
        self.answer_authorization(pending, sso, visitor).await
    }

    /// Keeps a request that came without the browser's cookies: a form that another site sent. The browser comes back with them.
    pub async fn keep_authorization(
        &self,
        checked: CheckedAuthorization,
        visitor: &ClientInfo,
    ) -> Result<Secret<AuthorizationRequestId>, Error> {
        let pending = self.new_pending(checked, None).await?;
        self.store_pending(pending, visitor).await
    }

    /// Continues a request that was kept, once.
    pub async fn resume_authorization(
        &self,
        request: &str,
        sso: Option<Secret<SingleSignOn>>,
        browser: Option<Digest>,
        visitor: &ClientInfo,
    ) -> Result<AuthorizationStep, Error> {
        let id = Secret::<AuthorizationRequestId>::parse(request).map_err(|_| Refusal::OidcRequestGone)?.digest();
        let now = self.clock.now();
        // The request of another browser stays where it is.
        let is_kept = self.shared.oidc_requests.read_with(&id, now, |pending| pending.browser.is_none()).await?;
        let kept = if is_kept == Some(true) { self.take_request(id, visitor).await? } else { None };
        let PendingAuthorization { request, requirement, until, .. } = kept.ok_or(Refusal::OidcRequestGone)?;
        let client = self.permitting_client(&request).await?;
        // Counted again from now on: a session that began while the request was kept is none that the client asked for.
        let requirement =
            SignInRequirement { not_before: not_before(&request, &client.registration, now), ..requirement };
        let pending = PendingAuthorization { request, requirement, browser, session: None, asked_at: now, until };
        self.answer_authorization(pending, sso, visitor).await
    }

    async fn new_pending(
        &self,
        CheckedAuthorization(request): CheckedAuthorization,
        browser: Option<Digest>,
    ) -> Result<PendingAuthorization, Error> {
        let now = self.clock.now();
        let requirement = self.sign_in_requirement(&request, now).await?;
        // Read already, and large.
        let request = AuthorizationRequest { id_token_hint: None, ..request };
        let until = now + REQUEST_LIFETIME;
        Ok(PendingAuthorization { request, requirement, browser, session: None, asked_at: now, until })
    }

    /// What a request requires of the session. The time is fixed here: a session that begins afterwards always fulfils it. The nodes'
    /// clocks are compared: if the node where the user signs in is behind by more than the sign-in takes, the user is asked again. A
    /// tolerance would let a session pass that began before the request.
    async fn sign_in_requirement(
        &self,
        request: &AuthorizationRequest,
        now: Timestamp,
    ) -> Result<SignInRequirement, Error> {
        let client = self.oidc_client(&request.client_id).await?.ok_or(Refusal::OidcRequestGone)?;
        let subject = match &request.id_token_hint {
            None => None,
            Some(token) => {
                let hint = self.read_hint(token).await?.filter(|hint| hint.client_id == request.client_id);
                // The expected user is unknown. Without a page, no user is the right one: the subject of no employee is empty.
                hint.map(|hint| hint.subject).or_else(|| request.prompts.none.then(String::new))
            }
        };
        let presses_always = client.registration.always_presses(&request.redirect_uri);
        let press = request.prompts.select_account || request.prompts.consent || presses_always;
        Ok(SignInRequirement { not_before: not_before(request, &client.registration, now), subject, press })
    }

    async fn answer_authorization(
        &self,
        pending: PendingAuthorization,
        sso: Option<Secret<SingleSignOn>>,
        visitor: &ClientInfo,
    ) -> Result<AuthorizationStep, Error> {
        let client = self.permitting_client(&pending.request).await?;
        let address = visitor.address.decided;
        if let Some(holder) = self.browser_holder(sso, Some(address)).await?
            && self.shortfall(&holder, &pending.requirement).await?.is_none()
        {
            return self.answer_in_session(pending, &client, &holder, visitor).await;
        }
        if pending.request.prompts.none {
            return Ok(self.error_step(&pending.request, OAuthErrorCode::LoginRequired, "the user must sign in"));
        }
        self.ask(pending, visitor).await
    }

    /// Answers a request of a browser whose session fulfils the requirement.
    async fn answer_in_session(
        &self,
        pending: PendingAuthorization,
        client: &ResolvedClient,
        holder: &TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<AuthorizationStep, Error> {
        let (address, may_ask) = (visitor.address.decided, !pending.request.prompts.none);
        let rules = self.store.access_rules().await?;
        let admitted = self.admit_to_client(&rules, &client.id, holder, address);
        let is_silent = client.registration.sso == SsoMode::Silent;
        let is_pressed = is_silent || self.store.has_met(holder.digest(), client.id.clone()).await?;
        match admitted {
            Ok(_) if is_pressed && !pending.requirement.press => {
                self.enter_silently(&pending.request, holder, address).await
            }
            // The page says why, once the user has pressed the button.
            _ if may_ask => self.ask(PendingAuthorization { session: Some(holder.digest()), ..pending }, visitor).await,
            Ok(_) => {
                let text = "the user must confirm that they continue to this client";
                Ok(self.error_step(&pending.request, OAuthErrorCode::InteractionRequired, text))
            }
            Err(refusal) => {
                let attempt = Attempt::in_session(holder.session(), AuditEvent::OidcRefused, visitor);
                self.record_refusal(attempt, &refusal).await?;
                let text = "the user may not use this client";
                Ok(self.error_step(&pending.request, OAuthErrorCode::AccessDenied, text))
            }
        }
    }

    async fn ask(&self, pending: PendingAuthorization, visitor: &ClientInfo) -> Result<AuthorizationStep, Error> {
        let locales = pending.request.ui_locales.clone();
        Ok(AuthorizationStep::Ask { request: self.store_pending(pending, visitor).await?, locales })
    }

    async fn store_pending(
        &self,
        pending: PendingAuthorization,
        visitor: &ClientInfo,
    ) -> Result<Secret<AuthorizationRequestId>, Error> {
        let (id, now) = (Secret::generate(&self.entropy)?, self.clock.now());
        let (address, rate) = (visitor.address.decided, self.policy.kept_requests.oidc);
        self.shared.oidc_requests.put_for(address, rate, id.digest(), pending, now).await?;
        Ok(id)
    }

    /// Takes a request that was kept, once.
    pub(super) async fn take_request(
        &self,
        id: Digest,
        visitor: &ClientInfo,
    ) -> Result<Option<PendingAuthorization>, Error> {
        Ok(self.shared.oidc_requests.take_for(visitor.address.decided, &id, self.clock.now()).await?)
    }

    fn error_step(
        &self,
        request: &AuthorizationRequest,
        code: OAuthErrorCode,
        text: &'static str,
    ) -> AuthorizationStep {
        let error = OAuthError::new(code, text);
        AuthorizationStep::Redirect(self.error_redirect(&request.redirect_uri, request.state.as_deref(), &error))
    }

    /// The address that takes an error to a client.
    pub(super) fn error_redirect(&self, redirect_uri: &str, state: Option<&str>, error: &OAuthError) -> String {
        let told = [("error", error.code.name()), ("error_description", &*error.description)];
        self.client_redirect(redirect_uri, state, &told)
    }

    /// The address of a client with an answer, the client's `state` and the issuer (RFC 9207).
    pub(super) fn client_redirect(&self, redirect_uri: &str, state: Option<&str>, answer: &[(&str, &str)]) -> String {
        let mut parameters = answer.to_vec();
        parameters.extend(state.map(|state| ("state", state)));
        parameters.push(("iss", self.policy.oidc.issuer.as_str()));
        with_parameters(redirect_uri, &parameters)
    }
}

/// When the session must have begun at the earliest.
fn not_before(request: &AuthorizationRequest, client: &ClientRegistration, now: Timestamp) -> Option<Timestamp> {
    let again = (request.prompts.login || client.sso == SsoMode::Off).then_some(now);
    let oldest = request.max_age.map(|age| now - Duration::from_secs(age));
    again.max(oldest)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_new_sign_in_is_asked_for_by_prompt_by_age_or_by_the_registration() {
        let now = Timestamp::from_millis(100_000);
        let required = |more: &str, sso: SsoMode| {
            let challenge = "A".repeat(43);
            let query =
                format!("response_type=code&scope=openid&code_challenge_method=S256&code_challenge={challenge}{more}");
            let (parameters, client) =
                (Parameters::parse(query.as_bytes()), ClientRegistration { sso, ..Default::default() });
            let request = authorization_request(&parameters, "a", "https://a/cb", &client).unwrap();
            not_before(&request, &client, now)
        };
        assert_eq!(required("", SsoMode::Ask), None);
        assert_eq!(required("", SsoMode::Off), Some(now));
        assert_eq!(required("&prompt=login&max_age=30", SsoMode::Ask), Some(now));
        assert_eq!(required("&max_age=30", SsoMode::Silent), Some(now - Duration::from_secs(30)));
    }
}
