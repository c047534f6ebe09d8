//! The access token: fetched once for all callers on all nodes, renewed before it expires, dropped when the platform drops it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use tokio::time::{Instant, sleep, timeout_at};

use super::sanitize::is_visible_ascii;
use super::shared_task::{ReadyOrRunning, SharedTask};
use super::token_cache::{CachedToken, TokenCache, with_timeout};
use super::transport::HttpTransport;
use crate::{Error, InvalidResponse, Unreachable};

/// The time before its expiry at which a token is renewed; a short-lived token is renewed at two thirds of its lifetime.
const RENEWAL_LEAD: Duration = Duration::from_mins(5);
/// The pause after a renewal that failed or did not help.
const RENEWAL_BACKOFF: Duration = Duration::from_secs(10);
/// The interval at which a node checks whether another node has stored a token.
const LEASE_POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct AccessToken {
    pub(super) cached: CachedToken,
    renew_at: Timestamp,
    /// Whether another node fetched it.
    pub(super) borrowed: bool,
}

impl AccessToken {
    fn new(cached: CachedToken) -> Self {
        let life = cached.expires_at.since(cached.asked_at);
        Self { renew_at: cached.expires_at - RENEWAL_LEAD.min(life / 3), cached, borrowed: false }
    }

    /// A token that the platform has just issued.
    fn issued((value, life): (String, Duration), asked_at: Timestamp) -> Result<Self, InvalidResponse> {
        if !is_visible_ascii(&value) || life.is_zero() {
            return Err(InvalidResponse::MissingField("access token"));
        }
        tracing::info!(expires_in = life.as_secs(), "fetched an access token from the platform");
        Ok(Self::new(CachedToken { value, asked_at, expires_at: asked_at + life }))
    }
}

type TokenResult = Result<Arc<AccessToken>, Error>;

/// The decision of a node that needs a token.
enum FetchDecision {
    /// Use the token that another node has fetched.
    UseCached(AccessToken),
    /// Fetch a token from the platform.
    Fetch,
    /// Wait: another node is fetching a token.
    Wait,
}

/// The token of an application, shared by all callers.
#[derive(Clone)]
pub(super) struct TokenProvider {
    transport: Arc<HttpTransport>,
    clock: Clock,
    cache: Arc<dyn TokenCache>,
    state: Arc<Mutex<ProviderState>>,
}

#[derive(Default)]
struct ProviderState {
    token: Option<Arc<AccessToken>>,
    /// The last token that the platform rejected; the token cache may still hold it.
    refused: Option<Arc<AccessToken>>,
    /// The fetch in progress.
    fetch: Option<SharedTask<TokenResult>>,
    backoff_until: Option<Timestamp>,
    no_renewal_until: Option<Timestamp>,
}

impl ProviderState {
    fn valid_token(&self, now: Timestamp) -> Option<&Arc<AccessToken>> {
        self.token.as_ref().filter(|token| now < token.cached.expires_at)
    }

    /// Whether a cached token is useful. A node without a token also uses one that is due for renewal, and renews it in time.
    fn wants(&self, token: &AccessToken, now: Timestamp) -> bool {
        let refused = self.refused.as_ref().is_some_and(|refused| refused.cached == token.cached);
        let until = if self.valid_token(now).is_some() { token.renew_at } else { token.cached.expires_at };
        now < until && !refused && is_visible_ascii(&token.cached.value)
    }
}

impl TokenProvider {
    pub(super) fn new(transport: Arc<HttpTransport>, clock: Clock, cache: Arc<dyn TokenCache>) -> Self {
        Self { transport, clock, cache, state: Arc::default() }
    }

    /// Returns the token, from the state or from the platform.
    pub(super) async fn get(&self, deadline: Instant) -> TokenResult {
        let token = timeout_at(deadline, self.cached_or_fetch().get()).await;
        token.map_err(|_| Unreachable::TimedOut)?.ok_or(Unreachable::ConnectionLost)?
    }

    /// Whether there is a token that has not expired.
    pub(super) fn has_valid_token(&self) -> bool {
        self.state().valid_token(self.clock.now()).is_some()
    }

    /// Drops a token that the platform rejected; keeps a newer one. Returns the current time if a better token may exist.
    pub(super) fn drop_token(&self, refused: &Arc<AccessToken>) -> Option<Timestamp> {
        let now = self.clock.now();
        let mut state = self.state();
        if state.no_renewal_until.is_some_and(|until| now < until) {
            return None;
        }
        if state.token.as_ref().is_some_and(|token| Arc::ptr_eq(token, refused)) {
            state.refused = state.token.take();
        }
        Some(now)
    }

    /// Records that a new token did not help either: the cause is different, and the platform bans callers that fetch one token
    /// after another.
    pub(super) fn pause_renewals(&self) {
        self.state().no_renewal_until = Some(self.clock.now() + RENEWAL_BACKOFF);
    }

    /// Returns a valid token or the fetch in progress. Starts a fetch if one is due and none is in progress.
    fn cached_or_fetch(&self) -> ReadyOrRunning<TokenResult> {
        let now = self.clock.now();
        let mut state = self.state();
        let fetch = state.fetch.clone().filter(SharedTask::is_running);
        let Some(token) = state.valid_token(now).cloned() else {
            return ReadyOrRunning::Running(fetch.unwrap_or_else(|| state.fetch.insert(self.start_fetch()).clone()));
        };
        let resting = state.backoff_until.is_some_and(|until| now < until);
        if now >= token.renew_at && !resting && fetch.is_none() {
            state.fetch = Some(self.start_fetch());
        }
        ReadyOrRunning::Ready(Ok(token))
    }

    fn start_fetch(&self) -> SharedTask<TokenResult> {
        let this = self.clone();
        SharedTask::spawn(async move {
            let outcome = this.obtain().await.map(Arc::new);
            this.finish_fetch(&outcome);
            outcome
        })
    }

    /// Obtains a token from another node or from the platform.
    async fn obtain(&self) -> Result<AccessToken, Error> {
        let deadline = self.transport.deadline();
        loop {
            match self.decide().await.unwrap_or(FetchDecision::Fetch) {
                FetchDecision::UseCached(token) => {
                    tracing::info!("using another node's access token");
                    return Ok(token);
                }
                FetchDecision::Fetch => return self.fetch().await,
                FetchDecision::Wait if Instant::now() + LEASE_POLL_INTERVAL >= deadline => {
                    tracing::warn!("timed out waiting for another node to fetch an access token");
                    return Err(Unreachable::TimedOut.into());
                }
                FetchDecision::Wait => sleep(LEASE_POLL_INTERVAL).await,
            }
        }
    }

    /// Decides which node fetches; `None` if the cache does not respond.
    async fn decide(&self) -> Option<FetchDecision> {
        if let Some(token) = self.load_cached().await? {
            return Some(FetchDecision::UseCached(token));
        }
        if !with_timeout(self.cache.acquire_lease()).await? {
            return Some(FetchDecision::Wait);
        }
        // The node that held the lease before may have stored a token after the first load.
        let Some(token) = self.load_cached().await? else { return Some(FetchDecision::Fetch) };
        with_timeout(self.cache.release_lease()).await;
        Some(FetchDecision::UseCached(token))
    }

    async fn load_cached(&self) -> Option<Option<AccessToken>> {
        let cached = with_timeout(self.cache.load()).await?;
        let token = cached.map(|cached| AccessToken { borrowed: true, ..AccessToken::new(cached) });
        let now = self.clock.now();
        Some(token.filter(|token| self.state().wants(token, now)))
    }

    async fn fetch(&self) -> Result<AccessToken, Error> {
        let fetched = self.request_token().await;
        // Stored before a caller gets the token: if the platform then rejects it, the cache must not still hold an older one.
        match &fetched {
            Ok(token) => with_timeout(self.cache.store(token.cached.clone())).await,
            Err(_) => with_timeout(self.cache.release_lease()).await,
        };
        fetched
    }

    async fn request_token(&self) -> Result<AccessToken, Error> {
        let asked_at = self.clock.now();
        let call = self.transport.protocol.token_call().urgent();
        let response = self.transport.request(&call, self.transport.deadline()).await?;
        Ok(AccessToken::issued(self.transport.protocol.read_token(&response)?, asked_at)?)
    }

    fn finish_fetch(&self, outcome: &TokenResult) {
        let now = self.clock.now();
        let mut state = self.state();
        state.fetch = None;
        match outcome {
            Ok(token) => state.token = Some(Arc::clone(token)),
            Err(_) => state.backoff_until = Some(now + RENEWAL_BACKOFF),
        }
    }

    fn state(&self) -> MutexGuard<'_, ProviderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
