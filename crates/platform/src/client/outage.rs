//! Detects whether the platform is down: from the users' sign-ins, and where they are inconclusive, from a probe.
//!
//! An outage enables another way to sign in, so no client may be able to cause one. The results of users' codes can only show
//! that the platform is up, or trigger a probe; only calls of this service itself decide that it is down.

use tokio::time::{Instant, sleep};

use super::Client;
use super::api::ApiCall;
use super::breakers::is_for_administrators;
use super::shared_task::{ReadyOrRunning, SharedTask};
use super::transport::RETRY_PAUSE;
use crate::{Error, FixableBy, Meaning, Unreachable};

/// The number of attempts without a response that count as an outage.
const MAX_PROBE_ATTEMPTS: u32 = 3;

impl Client {
    /// Whether users cannot sign in through the platform at this moment: it does not respond, or refuses all sign-ins until an
    /// administrator fixes the cause. A rate limit is not an outage, because any client can trigger it. A result of the last
    /// seconds is reused, so this rarely calls the platform, and it takes no longer than one operation.
    pub async fn is_down(&self) -> bool {
        // A probe that ended without a result, for example on shutdown, is no reason to enable another way to sign in.
        self.known_or_probe().get().await.unwrap_or(false)
    }

    /// Returns the known state or the probe that determines it.
    fn known_or_probe(&self) -> ReadyOrRunning<bool> {
        let mut running = self.running_probe();
        if let Some(out) = self.0.transport.breakers.known_outage() {
            return ReadyOrRunning::Ready(out);
        }
        let probe = running.clone().filter(SharedTask::is_running);
        ReadyOrRunning::Running(probe.unwrap_or_else(|| running.insert(self.start_probe()).clone()))
    }

    fn start_probe(&self) -> SharedTask<bool> {
        let this = self.clone();
        SharedTask::spawn(async move {
            let out = this.probe().await;
            this.0.transport.breakers.record_probe(out);
            *this.running_probe() = None;
            out
        })
    }

    async fn probe(&self) -> bool {
        let deadline = self.deadline();
        let mut calls = self.0.transport.protocol.probe_calls();
        for attempt in 1..=MAX_PROBE_ATTEMPTS {
            if let Some(out) = self.attempt(&mut calls, deadline).await {
                return out;
            }
            if attempt == MAX_PROBE_ATTEMPTS || Instant::now() + RETRY_PAUSE >= deadline {
                break;
            }
            sleep(RETRY_PAUSE).await;
        }
        self.0.transport.breakers.probe_failed();
        true
    }

    /// Makes the calls that a sign-in makes, and removes those that were answered. Returns `None` for an inconclusive one: an
    /// unreadable response or a busy platform is as inconclusive as no response.
    async fn attempt(&self, calls: &mut Vec<ApiCall>, deadline: Instant) -> Option<bool> {
        if self.token_is_out(deadline).await? {
            return Some(true);
        }
        while let Some(call) = calls.first() {
            if self.call_is_out(call, deadline).await? {
                return Some(true);
            }
            calls.remove(0);
        }
        Some(false)
    }

    /// Whether no sign-in succeeds because there is no access token.
    async fn token_is_out(&self, deadline: Instant) -> Option<bool> {
        let protocol = &self.0.transport.protocol;
        if !protocol.sign_in_needs_token() {
            return Some(false);
        }
        match self.0.tokens.get(deadline).await {
            Ok(_) => Some(false),
            Err(error) => {
                let out = self.is_out(&error)?;
                Some(out || (protocol.is_every_token_refusal_an_outage() && !is_local_error(&error)))
            }
        }
    }

    async fn call_is_out(&self, call: &ApiCall, deadline: Instant) -> Option<bool> {
        let outcome = self.request(&call.clone().urgent(), deadline).await;
        let protocol = &self.0.transport.protocol;
        match outcome.and_then(|response| Ok(protocol.read_probe(call.api, &response)?)) {
            Ok(()) => Some(false),
            // Not the access token was refused, but the one that was made up.
            Err(error) if !call.needs_token && error.is_refused_as(Meaning::Refresh) => Some(false),
            Err(error) => self.is_out(&error),
        }
    }

    /// Whether users cannot sign in until an administrator acts; `None` if the error is inconclusive.
    fn is_out(&self, error: &Error) -> Option<bool> {
        if is_local_error(error) {
            return Some(false);
        }
        is_answer(error).then(|| match error {
            // The earlier refusal counts, of a token for instance, and not that there is a pause.
            Error::CircuitOpen { code, .. } => {
                self.0.transport.protocol.explain(code).fixable_by == FixableBy::Administrator
            }
            other => is_for_administrators(other.meaning()),
        })
    }
}

/// Whether the missing response says nothing about the platform.
fn is_local_error(error: &Error) -> bool {
    matches!(error, Error::Unreachable(Unreachable::NoLocalSockets))
}

/// Whether the platform examined the request, now or before the circuit breaker opened.
fn is_answer(error: &Error) -> bool {
    error.code().is_some() && error.meaning() != Meaning::Retry
}
