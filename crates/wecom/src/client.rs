//! The client for the platform.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskpass_core::Clock;
use tokio::time::Instant;

use crate::access_token::{AccessToken, Credentials, TokenProvider};
use crate::api::{Api, ApiCall};
use crate::department::DepartmentNames;
use crate::http_transport::{HttpTransport, ObservedDate};
use crate::response::ApiResponse;
use crate::sanitize::{is_visible_ascii, sanitize};
use crate::shared_task::SharedTask;
use crate::token_cache::{NoSharedCache, TokenCache};
use crate::{CallReport, Circuit, Error, Hosts, Identity, SettingsError, WecomSettings};

/// The platform rejects the access token, or no longer accepts it. 40001 refers to the secret in a token request, and to the
/// token in all other calls.
const TOKEN_REFUSED: [i64; 3] = [40001, 40014, 42001];
/// The platform's error code for a missing agent id.
pub(crate) const NO_AGENT_ID: i64 = 41011;

type CallResult = Result<ApiResponse, Error>;

/// The client for the platform. Clones share the access token, the circuit breakers and the connections.
#[derive(Clone)]
pub struct Wecom(pub(crate) Arc<ClientInner>);

pub(crate) struct ClientInner {
    pub(crate) corp_id: String,
    pub(crate) agent_id: Option<String>,
    pub(crate) hosts: Hosts,
    pub(crate) transport: Arc<HttpTransport>,
    pub(crate) tokens: TokenProvider,
    pub(crate) departments: DepartmentNames,
    /// The outage probe in progress, if any.
    outage_probe: Mutex<Option<SharedTask<bool>>>,
}

/// The application as registered on the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Whether an administrator disabled it.
    pub closed: bool,
    /// The domain that may receive codes; empty if none is set.
    pub redirect_domain: String,
}

impl Wecom {
    /// Creates a client with these settings.
    pub fn new(settings: WecomSettings, clock: Clock) -> Result<Self, SettingsError> {
        Self::with_token_cache(settings, clock, Arc::new(NoSharedCache))
    }

    /// Creates a client that shares its access token with the other nodes that use this token cache.
    pub fn with_token_cache(
        settings: WecomSettings,
        clock: Clock,
        cache: Arc<dyn TokenCache>,
    ) -> Result<Self, SettingsError> {
        settings.check()?;
        let transport = Arc::new(HttpTransport::new(&settings, clock.clone())?);
        let credentials = Credentials { corp_id: settings.corp_id.clone(), secret: settings.secret };
        Ok(Self(Arc::new(ClientInner {
            corp_id: settings.corp_id,
            agent_id: settings.agent_id,
            hosts: settings.hosts,
            tokens: TokenProvider::new(Arc::clone(&transport), clock.clone(), credentials, cache),
            transport,
            departments: DepartmentNames::new(clock),
            outage_probe: Mutex::default(),
        })))
    }

    /// Returns the identity of the user to whom a code belongs. A malformed code is not sent.
    pub async fn exchange_code(&self, code: &str) -> Result<Identity, Error> {
        if !is_visible_ascii(code) {
            return Err(Error::BadCode);
        }
        let call = ApiCall::get(Api::UserInfo, &[("code", code)]);
        let response = self.request(&call, self.deadline()).await?;
        Ok(Identity::read(&response)?)
    }

    /// Returns the application as registered on the platform. This call fails where a sign-in would fail, unlike the token
    /// call, which the platform answers for any address. Needs an agent id.
    pub async fn application(&self) -> Result<Application, Error> {
        let agent_id = self.0.agent_id.as_deref().ok_or(Error::refused(NO_AGENT_ID))?;
        let response = self.request(&ApiCall::get(Api::Agent, &[("agentid", agent_id)]), self.deadline()).await?;
        let text = |name| sanitize(response.text(name).unwrap_or_default(), 128);
        let closed = response.number("close") == Some(1);
        Ok(Application { name: text("name"), closed, redirect_domain: text("redirect_domain") })
    }

    /// Checks whether the platform accepts the corporation and its secret; a valid token is sufficient proof.
    pub async fn check_credentials(&self) -> Result<(), Error> {
        self.0.tokens.get(self.deadline()).await.map(drop)
    }

    /// Returns the time of the platform's clock, as the platform writes it.
    pub async fn date(&self) -> Result<Option<String>, Error> {
        self.0.transport.date().await
    }

    /// The newest date in a response of the platform, without a call.
    #[must_use]
    pub fn last_date(&self) -> Option<ObservedDate> {
        self.0.transport.last_date()
    }

    /// The state of the circuit breakers.
    #[must_use]
    pub fn circuit(&self) -> Circuit {
        self.0.transport.breakers.status(self.0.tokens.has_valid_token())
    }

    /// Calls `listener` with a report of each call to the platform. There is one listener.
    pub fn observe_calls(&self, listener: impl Fn(CallReport) + Send + Sync + 'static) {
        self.0.transport.observer.set(Box::new(listener));
    }

    /// Makes a call with the access token, and retries once with a new token if the platform rejects it. The same code may be
    /// sent again: a call that failed because of its token does not consume it.
    pub(crate) async fn request(&self, call: &ApiCall<'_>, deadline: Instant) -> Result<ApiResponse, Error> {
        let tokens = &self.0.tokens;
        let (token, outcome) = self.request_once(call, deadline).await?;
        let Some(dropped_at) = token_refused(&outcome).then(|| tokens.drop_token(&token)).flatten() else {
            return outcome;
        };
        let (token, mut again) = self.request_once(call, deadline).await?;
        // A token that another node already had is not new: the platform may have dropped both together.
        let old = token.borrowed && token.cached.asked_at < dropped_at;
        if token_refused(&again) && old && tokens.drop_token(&token).is_some() {
            (_, again) = self.request_once(call, deadline).await?;
        }
        if token_refused(&again) {
            tokens.pause_renewals();
        }
        again
    }

    async fn request_once(
        &self,
        call: &ApiCall<'_>,
        deadline: Instant,
    ) -> Result<(Arc<AccessToken>, CallResult), Error> {
        let token = self.0.tokens.get(deadline).await?;
        let outcome = self.0.transport.request(&call.with_token(&token.cached.value), deadline).await;
        Ok((token, outcome))
    }

    pub(crate) fn running_probe(&self) -> MutexGuard<'_, Option<SharedTask<bool>>> {
        self.0.outage_probe.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.0.transport.deadline()
    }
}

fn token_refused(outcome: &CallResult) -> bool {
    matches!(outcome, Err(Error::Refused { errcode, .. }) if TOKEN_REFUSED.contains(errcode))
}

impl fmt::Debug for Wecom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wecom")
            .field("corp_id", &self.0.corp_id)
            .field("agent_id", &self.0.agent_id)
            .field("circuit", &self.circuit())
            .finish_non_exhaustive()
    }
}
