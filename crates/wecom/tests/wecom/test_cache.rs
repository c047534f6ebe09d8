//! A vault in memory, that can be told to fail in the ways a vault fails.

use std::sync::{Arc, Mutex};

use deskpass_core::{Clock, Timestamp};
use deskpass_wecom::{CacheFuture, CachedToken, FETCH_LEASE, TokenCache};
use tokio::sync::watch;

/// How the vault is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CacheMode {
    #[default]
    Well,
    /// It cannot be reached, and knows it.
    Unreachable,
    /// It never answers.
    Hangs,
}

#[derive(Debug, Default)]
struct State {
    mood: CacheMode,
    token: Option<CachedToken>,
    claimed_until: Option<Timestamp>,
    /// CachedToken by somebody else at the moment of the next claim.
    in_between: Option<CachedToken>,
}

/// A vault in memory; claims lapse by the test's clock.
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

    /// Another node keeps a token.
    pub(crate) fn put(&self, token: CachedToken) {
        self.state.lock().unwrap().token = Some(token);
    }

    /// Another node keeps a token just before the next claim.
    pub(crate) fn put_in_between(&self, token: CachedToken) {
        self.state.lock().unwrap().in_between = Some(token);
    }

    pub(crate) fn token(&self) -> Option<CachedToken> {
        self.state.lock().unwrap().token.clone()
    }

    /// Another node claims, and is never heard of again.
    pub(crate) fn claim_and_die(&self) {
        self.state.lock().unwrap().claimed_until = Some(self.clock.now() + FETCH_LEASE);
    }

    pub(crate) fn is_claimed(&self) -> bool {
        self.state.lock().unwrap().claimed_until.is_some_and(|until| self.clock.now() < until)
    }

    /// How many claims were turned down.
    pub(crate) fn refusals(&self) -> usize {
        *self.turned_away.borrow()
    }

    /// Waits until claims were turned down so often.
    pub(crate) async fn turned_away(&self, times: usize) {
        self.turned_away.subscribe().wait_for(|count| *count >= times).await.unwrap();
    }

    /// Answers, unless it is in no mood to.
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
