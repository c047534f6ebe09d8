//! The circuit breakers: they stop calls that the platform punishes or has no capacity for.
//!
//! Written here instead of using a crate: whether a breaker opens, and for how long, depends on the platform's error code and
//! not on a number of failures.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};

use crate::api::Api;
use crate::errcode::{FixableBy, explain};
use crate::{Error, InvalidResponse, Unreachable};

/// The state of the platform, as far as sign-in needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// Calls are made and succeed.
    Closed,
    /// The platform refused in a way that further calls would make worse.
    Open {
        /// The time of the next call.
        until: Timestamp,
        /// The error code of the refusal.
        errcode: i64,
    },
    /// Calls are made, but the last ones failed.
    Failing,
    /// The platform responds, but refuses all sign-ins until an administrator fixes the cause.
    Refused {
        /// The error code of the refusal.
        errcode: i64,
    },
    /// No call has been made yet.
    Untried,
}

/// The number of consecutive failures after which the platform counts as failing.
const FAILURE_THRESHOLD: u32 = 3;
/// The period for which these failures count.
const FAILURE_MEMORY: Duration = Duration::from_mins(5);
/// The period for which a known outage, or its absence, remains valid.
const OUTAGE_KNOWLEDGE_TTL: Duration = Duration::from_secs(10);

/// One breaker for each API: a limit on reading records must not prevent sign-ins.
pub(crate) struct Breakers {
    clock: Clock,
    state: Mutex<BreakerState>,
}

struct BreakerState {
    open: BTreeMap<Api, OpenBreaker>,
    failures: u32,
    failed_at: Timestamp,
    /// Whether the platform has ever responded.
    answered: bool,
    /// The error code that prevents all sign-ins, from the last attempt.
    refused: Option<i64>,
    /// Whether the platform is down, and when that was determined.
    seen: Option<(bool, Timestamp)>,
}

impl BreakerState {
    /// Discards the knowledge that the platform is reachable.
    fn forget_reachable(&mut self) {
        self.seen = self.seen.filter(|(out, _)| *out);
    }
}

#[derive(Clone, Copy)]
struct OpenBreaker {
    until: Timestamp,
    errcode: i64,
    repeats: u32,
}

impl Breakers {
    pub(crate) fn new(clock: Clock) -> Self {
        let (open, failed_at) = (BTreeMap::new(), clock.now());
        let state = BreakerState { open, failures: 0, failed_at, answered: false, refused: None, seen: None };
        Self { clock, state: Mutex::new(state) }
    }

    pub(crate) fn admit(&self, api: Api) -> Result<(), Error> {
        let now = self.clock.now();
        match self.state().open.get(&api) {
            Some(OpenBreaker { until, errcode, .. }) if now < *until => {
                Err(Error::CircuitOpen { errcode: *errcode, until: *until })
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn record<T>(&self, api: Api, outcome: &Result<T, Error>) {
        // Messages can wait: their outcome says nothing about sign-in.
        if api != Api::Message {
            self.record_reachability(api, outcome);
        }
        match outcome {
            Ok(_) => self.succeeded(api),
            Err(Error::Refused { errcode, .. }) => self.refused(api, *errcode),
            Err(_) => {}
        }
    }

    fn record_reachability<T>(&self, api: Api, outcome: &Result<T, Error>) {
        match outcome {
            Ok(_) | Err(Error::Refused { .. }) => self.reached(),
            // No call was made.
            Err(Error::Unreachable(Unreachable::NoLocalSockets)) => {}
            Err(Error::Unreachable(_) | Error::InvalidResponse(InvalidResponse::Status(500..))) => self.failed(),
            Err(_) => self.state().answered = true,
        }
        if api == Api::UserInfo {
            self.record_sign_in(outcome);
        }
    }

    /// Records whether users can sign in. An invalid code does not prevent sign-ins: the platform examined it.
    fn record_sign_in<T>(&self, outcome: &Result<T, Error>) {
        let now = self.clock.now();
        let mut state = self.state();
        let errcode = match outcome {
            Ok(_) => None,
            Err(Error::Refused { errcode, .. }) => Some(*errcode),
            Err(_) => return,
        };
        state.refused = errcode.filter(|errcode| explain(*errcode).fixable_by == FixableBy::Administrator);
        match errcode.map(|errcode| explain(errcode).fixable_by) {
            None | Some(FixableBy::Person) => state.seen = Some((false, now)),
            Some(FixableBy::Administrator) => state.forget_reachable(),
            // Busy, or a limit: neither proves nor disproves that users can sign in.
            Some(FixableBy::Developer | FixableBy::Nobody) => {}
        }
    }

    /// Records that the platform responded, with any result.
    pub(crate) fn reached(&self) {
        let mut state = self.state();
        state.answered = true;
        state.failures = 0;
    }

    /// Records that a call did not get through.
    pub(crate) fn failed(&self) {
        let now = self.clock.now();
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        state.failed_at = now;
        state.forget_reachable();
    }

    /// Whether the platform is down, if that was determined recently.
    pub(crate) fn known_outage(&self) -> Option<bool> {
        let now = self.clock.now();
        self.state().seen.filter(|(_, at)| now.since(*at) < OUTAGE_KNOWLEDGE_TTL).map(|(out, _)| out)
    }

    pub(crate) fn record_probe(&self, out: bool) {
        let now = self.clock.now();
        let before = self.state().seen.replace((out, now));
        let was_out = before.is_some_and(|(out, _)| out);
        match (was_out, out) {
            (false, true) => tracing::warn!("sign-in through the platform fails"),
            (true, false) => tracing::info!("sign-in through the platform works again"),
            _ => {}
        }
    }

    /// Records that a probe got no conclusive response in all its attempts.
    pub(crate) fn probe_failed(&self) {
        let now = self.clock.now();
        let mut state = self.state();
        state.failures = state.failures.max(FAILURE_THRESHOLD);
        state.failed_at = now;
    }

    fn succeeded(&self, api: Api) {
        let now = self.clock.now();
        let mut state = self.state();
        // A success while the circuit is open belongs to a call made before it opened.
        if state.open.get(&api).is_some_and(|open| open.until <= now) {
            state.open.remove(&api);
            tracing::info!(api = api.name(), "circuit breaker closed: calls to the platform resume");
        }
    }

    fn refused(&self, api: Api, errcode: i64) {
        let now = self.clock.now();
        let mut state = self.state();
        let repeats = state.open.get(&api).map_or(0, |open| open.repeats);
        let Some(pause) = open_duration(api, errcode, repeats) else { return };
        state.open.insert(api, OpenBreaker { until: now + pause, errcode, repeats: repeats.saturating_add(1) });
        tracing::warn!(
            api = api.name(),
            errcode,
            seconds = pause.as_secs(),
            "circuit breaker open: calls to the platform are paused"
        );
    }

    /// The current state; a valid token outlives a refusal to issue another.
    pub(crate) fn status(&self, token_in_hand: bool) -> Circuit {
        let now = self.clock.now();
        let state = self.state();
        let of = |api| state.open.get(&api).copied();
        let token = of(Api::Token).filter(|_| !token_in_hand);
        let waits = [of(Api::UserInfo), token].into_iter().flatten().find(|open| now < open.until);
        if let Some(OpenBreaker { until, errcode, .. }) = waits {
            return Circuit::Open { until, errcode };
        }
        let recently = now.since(state.failed_at) < FAILURE_MEMORY;
        let missing = state.failures >= FAILURE_THRESHOLD && recently;
        match state.refused {
            // There is no token, and the last attempt to get one failed.
            _ if missing || token.is_some() => Circuit::Failing,
            Some(errcode) => Circuit::Refused { errcode },
            None if state.answered => Circuit::Closed,
            // A single call may fail by chance if others succeeded; here no call has ever succeeded.
            None if state.failures > 0 && recently => Circuit::Failing,
            None => Circuit::Untried,
        }
    }

    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long the circuit stays open after a refusal. Repeated wrong secrets block the caller's address for an hour.
fn open_duration(api: Api, errcode: i64, repeats: u32) -> Option<Duration> {
    match errcode {
        40001 | 40013 | 40091 | 41002 | 41004 if api == Api::Token => {
            Some(Duration::from_secs(60 << repeats.min(4)).min(Duration::from_mins(10)))
        }
        45009 => Some(Duration::from_mins(1)),
        45033 => Some(Duration::from_secs(5)),
        _ => None,
    }
}
