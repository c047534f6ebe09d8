//! A vault in memory, that can be told to fail in the ways a vault fails.

use std::sync::{Arc, Mutex};

use deskpass_core::{Clock, Timestamp};
use deskpass_wecom::{CLAIM, Kept, Pending, Vault};
use tokio::sync::{Notify, watch};

/// How the vault is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mood {
    #[default]
    Well,
    /// It cannot be reached, and knows it.
    Unreachable,
    /// It never answers.
    Hangs,
}

#[derive(Debug, Default)]
struct State {
    mood: Mood,
    token: Option<Kept>,
    claimed_until: Option<Timestamp>,
    /// Kept by somebody else at the moment of the next claim.
    in_between: Option<Kept>,
    /// While this is closed nobody hears whether a claim was granted.
    gate: Option<watch::Receiver<bool>>,
}

/// A vault in memory; claims lapse by the test's clock.
#[derive(Debug)]
pub(crate) struct Safe {
    clock: Clock,
    state: Mutex<State>,
    turned_away: watch::Sender<usize>,
    changed: Notify,
}

impl Safe {
    pub(crate) fn new(clock: &Clock) -> Arc<Self> {
        let (turned_away, changed) = (watch::Sender::new(0), Notify::new());
        Arc::new(Self { clock: clock.clone(), state: Mutex::default(), turned_away, changed })
    }

    pub(crate) fn fails(&self, mood: Mood) {
        self.state.lock().unwrap().mood = mood;
    }

    /// Another node keeps a token.
    pub(crate) fn put(&self, token: Kept) {
        self.state.lock().unwrap().token = Some(token);
    }

    /// Another node keeps a token just before the next claim.
    pub(crate) fn put_in_between(&self, token: Kept) {
        self.state.lock().unwrap().in_between = Some(token);
    }

    pub(crate) fn token(&self) -> Option<Kept> {
        self.state.lock().unwrap().token.clone()
    }

    /// Waits until this token is kept.
    pub(crate) async fn keeps(&self, value: &str) {
        loop {
            let changed = self.changed.notified();
            if self.token().is_some_and(|token| token.value == value) {
                return;
            }
            changed.await;
        }
    }

    /// Another node claims, and is never heard of again.
    pub(crate) fn claim_and_die(&self) {
        self.state.lock().unwrap().claimed_until = Some(self.clock.now() + CLAIM);
    }

    pub(crate) fn is_claimed(&self) -> bool {
        self.state.lock().unwrap().claimed_until.is_some_and(|until| self.clock.now() < until)
    }

    /// Holds back what becomes of claims until the gate is opened.
    pub(crate) fn hold_claims(&self) -> watch::Sender<bool> {
        let (gate, open) = watch::channel(false);
        self.state.lock().unwrap().gate = Some(open);
        gate
    }

    /// Waits until claims were turned down so often.
    pub(crate) async fn turned_away(&self, times: usize) {
        self.turned_away.subscribe().wait_for(|count| *count >= times).await.unwrap();
    }

    /// Answers, unless it is in no mood to.
    fn answer<'a, T: Send + 'a>(&'a self, unreachable: T, answer: impl FnOnce(&mut State) -> T) -> Pending<'a, T> {
        let mut state = self.state.lock().unwrap();
        let answer = match state.mood {
            Mood::Well => answer(&mut state),
            Mood::Unreachable => unreachable,
            Mood::Hangs => return Box::pin(std::future::pending()),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Vault for Safe {
    fn recall(&self) -> Pending<'_, Option<Kept>> {
        self.answer(None, |state| state.token.clone())
    }

    fn claim(&self) -> Pending<'_, bool> {
        let now = self.clock.now();
        let gate = self.state.lock().unwrap().gate.clone();
        let granted = self.answer(true, |state| {
            state.token = state.in_between.take().or(state.token.take());
            let granted = state.claimed_until.is_none_or(|until| until <= now);
            if granted {
                state.claimed_until = Some(now + CLAIM);
            }
            granted
        });
        Box::pin(async move {
            if let Some(mut gate) = gate {
                gate.wait_for(|open| *open).await.unwrap();
            }
            let granted = granted.await;
            self.turned_away.send_modify(|count| *count += usize::from(!granted));
            granted
        })
    }

    fn keep(&self, token: Kept) -> Pending<'_, ()> {
        let kept = self.answer((), |state| {
            state.token = Some(token);
            state.claimed_until = None;
        });
        self.changed.notify_waiters();
        kept
    }

    fn release(&self) -> Pending<'_, ()> {
        self.answer((), |state| state.claimed_until = None)
    }
}
