//! A token cache in memory that can simulate failures.

use std::sync::{Arc, Mutex};

use deskpass_core::{Clock, Timestamp};
use deskpass_platform::{CacheFuture, CachedToken, FETCH_LEASE, TokenCache};
use tokio::sync::watch;

/// The availability of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CacheMode {
    #[default]
    Well,
    /// The cache cannot be reached and reports that.
    Unreachable,
    /// The cache never responds.
    Hangs,
}

#[derive(Debug, Default)]
struct State {
    mood: CacheMode,
    token: Option<CachedToken>,
    claimed_until: Option<Timestamp>,
    /// A token that another node stores at the moment of the next lease request.
    in_between: Option<CachedToken>,
}

/// A token cache in memory; leases expire by the test's clock.
#[derive(Debug)]
pub(crate) struct TestCache {
    clock: Clock,
    state: Mutex<State>,
    turned_away: watch::Sender<usize>,
}

impl TestCache {
    pub(crate) fn new(clock: &Clock) -> Arc<Self> {
        let turned_away = watch::Sender::new(0);
        Arc::new(Self { clock: clock.clone(), state: Mutex::default(), turned_away })
    }

    pub(crate) fn fails(&self, mood: CacheMode) {
        self.state.lock().unwrap().mood = mood;
    }

    /// Stores a token as another node.
    pub(crate) fn put(&self, token: CachedToken) {
        self.state.lock().unwrap().token = Some(token);
    }

    /// Stores a token as another node just before the next lease request.
    pub(crate) fn put_in_between(&self, token: CachedToken) {
        self.state.lock().unwrap().in_between = Some(token);
    }

    pub(crate) fn token(&self) -> Option<CachedToken> {
        self.state.lock().unwrap().token.clone()
    }

    /// Acquires the lease as another node that then dies.
    pub(crate) fn claim_and_die(&self) {
        self.state.lock().unwrap().claimed_until = Some(self.clock.now() + FETCH_LEASE);
    }

    pub(crate) fn is_claimed(&self) -> bool {
        self.state.lock().unwrap().claimed_until.is_some_and(|until| self.clock.now() < until)
    }

    /// The number of rejected lease requests.
    pub(crate) fn refusals(&self) -> usize {
        *self.turned_away.borrow()
    }

    /// Waits until lease requests were rejected `times` times.
    pub(crate) async fn turned_away(&self, times: usize) {
        self.turned_away.subscribe().wait_for(|count| *count >= times).await.unwrap();
    }

    /// Responds according to the mode.
    fn answer<'a, T: Send + 'a>(&'a self, unreachable: T, answer: impl FnOnce(&mut State) -> T) -> CacheFuture<'a, T> {
        let mut state = self.state.lock().unwrap();
        let answer = match state.mood {
            CacheMode::Well => answer(&mut state),
            CacheMode::Unreachable => unreachable,
            CacheMode::Hangs => return Box::pin(std::future::pending()),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl TokenCache for TestCache {
    fn load(&self) -> CacheFuture<'_, Option<CachedToken>> {
        self.answer(None, |state| state.token.clone())
    }

    fn acquire_lease(&self) -> CacheFuture<'_, bool> {
        let now = self.clock.now();
        self.answer(true, |state| {
            state.token = state.in_between.take().or(state.token.take());
            let granted = state.claimed_until.is_none_or(|until| until <= now);
            if granted {
                state.claimed_until = Some(now + FETCH_LEASE);
            }
            self.turned_away.send_modify(|count| *count += usize::from(!granted));
            granted
        })
    }

    fn store(&self, token: CachedToken) -> CacheFuture<'_, ()> {
        self.answer((), |state| {
            state.token = Some(token);
            state.claimed_until = None;
        })
    }

    fn release_lease(&self) -> CacheFuture<'_, ()> {
        self.answer((), |state| state.claimed_until = None)
    }
}
