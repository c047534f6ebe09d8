//! What the clients of all platforms share: calls with limits and few retries, one access token for all callers on all nodes,
//! circuit breakers, the detection of outages, and the lenient parsing of responses.
//!
//! A client describes its platform by a [`Protocol`] and makes its calls with a [`Client`].

mod access_token;
mod api;
mod breakers;
mod call_report;
mod department_names;
mod error_message;
mod outage;
mod protocol;
mod response;
mod sanitize;
mod settings;
mod shared_task;
mod tls;
mod token_cache;
mod transport;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskpass_core::Clock;
use tokio::time::Instant;

use access_token::{AccessToken, TokenProvider};
use shared_task::SharedTask;
use transport::HttpTransport;

pub use api::{Api, ApiCall, ApiPurpose};
pub use breakers::Circuit;
pub use call_report::{CallListener, CallOutcome, CallReport};
pub use department_names::{DepartmentName, DepartmentNames};
pub use protocol::{PlatformRefusal, Protocol, ResponseHeaders};
pub use response::ApiResponse;
pub use sanitize::{avatar_url, email_address, is_visible_ascii, sanitize, sanitize_name};
pub use settings::{ClientSettings, SettingsError, Timeouts};
pub use tls::tls_config;
pub use token_cache::{CacheFuture, CachedToken, FETCH_LEASE, NoSharedCache, TokenCache};
pub use transport::ObservedDate;

use crate::{Error, Meaning};

type CallResult = Result<ApiResponse, Error>;

/// Makes the calls to a platform. Clones share the access token, the circuit breakers and the connections.
#[derive(Clone)]
pub struct Client(Arc<ClientInner>);

struct ClientInner {
    transport: Arc<HttpTransport>,
    tokens: TokenProvider,
    /// The outage probe in progress, if any.
    outage_probe: Mutex<Option<SharedTask<bool>>>,
}

impl Client {
    /// Creates a client that shares its access token with the other nodes that use this token cache.
    pub fn new(
        protocol: Arc<dyn Protocol>,
        settings: &ClientSettings,
        clock: Clock,
        cache: Arc<dyn TokenCache>,
    ) -> Result<Self, SettingsError> {
        let transport = Arc::new(HttpTransport::new(protocol, settings, clock.clone())?);
        let tokens = TokenProvider::new(Arc::clone(&transport), clock, cache);
        Ok(Self(Arc::new(ClientInner { transport, tokens, outage_probe: Mutex::default() })))
    }

    /// The deadline of an operation that begins now.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.0.transport.deadline()
    }

    /// Makes a call, with the access token unless the call needs none. If the platform rejects the token, the call is repeated
    /// once with a new one. The same code may be sent again: a call that failed because of its token does not consume it.
    pub async fn request(&self, call: &ApiCall, deadline: Instant) -> Result<ApiResponse, Error> {
        if !call.needs_token {
            return self.0.transport.request(call, deadline).await;
        }
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

    async fn request_once(&self, call: &ApiCall, deadline: Instant) -> Result<(Arc<AccessToken>, CallResult), Error> {
        let token = self.0.tokens.get(deadline).await?;
        let call = self.0.transport.protocol.with_token(call.clone(), &token.cached.value);
        let outcome = self.0.transport.request(&call, deadline).await;
        Ok((token, outcome))
    }

    /// Checks whether the platform accepts the credentials; a valid token is sufficient proof.
    pub async fn check_credentials(&self) -> Result<(), Error> {
        self.0.tokens.get(self.deadline()).await.map(drop)
    }

    /// The time of the platform's clock, as the platform writes it.
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
    pub fn observe_calls(&self, listener: CallListener) {
        self.0.transport.observer.set(listener);
    }

    fn running_probe(&self) -> MutexGuard<'_, Option<SharedTask<bool>>> {
        self.0.outage_probe.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn token_refused(outcome: &CallResult) -> bool {
    outcome.as_ref().is_err_and(|error| error.is_refused_as(Meaning::Refresh))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("circuit", &self.circuit()).finish_non_exhaustive()
    }
}
