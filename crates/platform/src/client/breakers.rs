//! The circuit breakers: they stop calls that the platform punishes or has no capacity for.
//!
//! Written here instead of using a crate: whether a breaker opens, and for how long, depends on the platform's error code and
//! not on a number of failures.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};

use super::api::{Api, ApiCall, ApiPurpose};
use crate::{Error, ErrorCode, InvalidResponse, Meaning, Refused, Unreachable};

/// The state of the platform, as far as sign-in needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// Calls are made and succeed.
    Closed,
    /// The platform refused in a way that further calls would make worse.
    Open {
        /// The time of the next call.
        until: Timestamp,
        /// The error code of the refusal.
        code: ErrorCode,
    },
    /// Calls are made, but the last ones failed.
    Failing,
    /// The platform responds, but refuses all sign-ins until an administrator fixes the cause.
    Refused {
        /// The error code of the refusal.
        code: ErrorCode,
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
/// The same where calls are metered; also the shortest time between two probes.
const METERED_KNOWLEDGE_TTL: Duration = Duration::from_secs(30);
/// The period for which a success makes probes unnecessary where calls are metered, unless a call failed meanwhile.
const METERED_SUCCESS_MEMORY: Duration = Duration::from_mins(2);

/// One breaker for each API: a limit on reading records must not prevent sign-ins.
pub(super) struct Breakers {
    clock: Clock,
    /// Whether probes cost something.
    metered: bool,
    state: Mutex<BreakerState>,
}

struct BreakerState {
    open: BTreeMap<Api, OpenBreaker>,
    failures: u32,
    failed_at: Timestamp,
    /// Whether the platform has ever responded.
    answered: bool,
    /// The error codes that prevent all sign-ins, from the last attempt of each API.
    refused: BTreeMap<Api, ErrorCode>,
    /// Whether the platform is down, and when that was determined.
    seen: Option<(bool, Timestamp)>,
    /// The result of the last probe, which no failure discards.
    probed: Option<(bool, Timestamp)>,
    /// The last proof that users can sign in.
    worked_at: Option<Timestamp>,
    /// The last failure of a call that a sign-in needs.
    trouble_at: Option<Timestamp>,
}

impl BreakerState {
    /// Discards the knowledge that the platform is reachable.
    fn forget_reachable(&mut self) {
        self.seen = self.seen.filter(|(out, _)| *out);
    }

    /// Whether the platform is down where probes cost something: they are rare, and none is made while all goes well.
    fn metered_outage(&self, now: Timestamp) -> Option<bool> {
        let within = |at: Timestamp, period: Duration| now.since(at) < period;
        let troubled = self.trouble_at.is_some_and(|at| within(at, FAILURE_MEMORY));
        if !troubled && self.worked_at.is_some_and(|at| within(at, METERED_SUCCESS_MEMORY)) {
            return Some(false);
        }
        let known = self.seen.filter(|(_, at)| within(*at, METERED_KNOWLEDGE_TTL));
        known.or_else(|| self.probed.filter(|(_, at)| within(*at, METERED_KNOWLEDGE_TTL))).map(|(out, _)| out)
    }
}

#[derive(Clone)]
struct OpenBreaker {
    until: Timestamp,
    code: ErrorCode,
    repeats: u32,
}

impl Breakers {
    pub(super) fn new(clock: Clock, metered: bool) -> Self {
        let (open, failed_at) = (BTreeMap::new(), clock.now());
        let refused = BTreeMap::new();
        let state = BreakerState {
            open,
            failures: 0,
            failed_at,
            answered: false,
            refused,
            seen: None,
            probed: None,
            worked_at: None,
            trouble_at: None,
        };
        Self { clock, metered, state: Mutex::new(state) }
    }

    pub(super) fn admit(&self, api: Api) -> Result<(), Error> {
        let now = self.clock.now();
        match self.state().open.get(&api) {
            Some(OpenBreaker { until, code, .. }) if now < *until => {
                Err(Error::CircuitOpen { code: code.clone(), until: *until })
            }
            _ => Ok(()),
        }
    }

    /// Records the outcome of a call; `pause` returns how long calls pause after a refusal that repeated so often.
    pub(super) fn record<T>(
        &self,
        call: &ApiCall,
        outcome: &Result<T, Error>,
        pause: impl FnOnce(&Refused, u32) -> Option<Duration>,
    ) {
        let api = call.api;
        // Messages can wait: their outcome says nothing about sign-in.
        if api.purpose != ApiPurpose::Message {
            self.record_reachability(call, outcome);
        }
        match outcome {
            Ok(_) => self.succeeded(api),
            Err(Error::Refused(refused)) => self.refused(api, refused, pause),
            Err(_) => {}
        }
    }

    fn record_reachability<T>(&self, call: &ApiCall, outcome: &Result<T, Error>) {
        match outcome {
            Ok(_) | Err(Error::Refused(_)) => self.reached(),
            // No call was made.
            Err(Error::Unreachable(Unreachable::NoLocalSockets)) => {}
            Err(Error::Unreachable(_) | Error::InvalidResponse(InvalidResponse::Status(500..))) => self.failed(),
            Err(_) => self.state().answered = true,
        }
        if (is_for_sign_in(call.api) || call.api.purpose == ApiPurpose::Token) && is_trouble(outcome) {
            self.state().trouble_at = Some(self.clock.now());
        }
        if is_for_sign_in(call.api) {
            self.record_sign_in(call, outcome);
        }
    }

    /// Records whether users can sign in. An invalid code does not prevent sign-ins: the platform examined it. Only the call that
    /// completes a sign-in proves that users can sign in, and only an answer of the same API lifts its refusal.
    fn record_sign_in<T>(&self, call: &ApiCall, outcome: &Result<T, Error>) {
        let now = self.clock.now();
        let mut state = self.state();
        let refused = match outcome {
            Ok(_) => None,
            Err(Error::Refused(refused)) => Some(&**refused),
            Err(_) => return,
        };
        match refused.map(|refused| (refused.meaning, &refused.code)) {
            // Made-up parameters are refused before anything else is examined.
            Some((Meaning::StartAgain | Meaning::Gone | Meaning::OutOfRange, _)) if call.once => {}
            // The platform examined the code, and the user behind it.
            None | Some((Meaning::StartAgain | Meaning::Gone | Meaning::OutOfRange, _)) => {
                state.refused.remove(&call.api);
                if call.api.purpose == ApiPurpose::SignIn {
                    state.seen = Some((false, now));
                    state.worked_at = Some(now);
                }
            }
            Some((meaning, code)) if is_for_administrators(meaning) => {
                state.refused.insert(call.api, code.clone());
                state.forget_reachable();
            }
            // Busy, or a limit: neither proves nor disproves that users can sign in.
            Some(_) => {}
        }
    }

    /// Records that the platform responded, with any result.
    pub(super) fn reached(&self) {
        let mut state = self.state();
        state.answered = true;
        state.failures = 0;
    }

    /// Records that a call did not get through.
    pub(super) fn failed(&self) {
        let now = self.clock.now();
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        state.failed_at = now;
        state.forget_reachable();
    }

    /// Whether the platform is down, if that was determined recently.
    pub(super) fn known_outage(&self) -> Option<bool> {
        let now = self.clock.now();
        let state = self.state();
        if self.metered {
            return state.metered_outage(now);
        }
        state.seen.filter(|(_, at)| now.since(*at) < OUTAGE_KNOWLEDGE_TTL).map(|(out, _)| out)
    }

    pub(super) fn record_probe(&self, out: bool) {
        let now = self.clock.now();
        let mut state = self.state();
        let before = state.seen.replace((out, now));
        state.probed = Some((out, now));
        if out {
            state.trouble_at = Some(now);
        } else {
            state.worked_at = Some(now);
        }
        drop(state);
        let was_out = before.is_some_and(|(out, _)| out);
        match (was_out, out) {
            (false, true) => tracing::warn!("sign-in through the platform fails"),
            (true, false) => tracing::info!("sign-in through the platform works again"),
            _ => {}
        }
    }

    /// Records that a probe got no conclusive response in all its attempts.
    pub(super) fn probe_failed(&self) {
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
            tracing::info!(api = api.name, "circuit breaker closed: calls to the platform resume");
        }
    }

    fn refused(&self, api: Api, refused: &Refused, pause: impl FnOnce(&Refused, u32) -> Option<Duration>) {
        let now = self.clock.now();
        let mut state = self.state();
        let repeats = state.open.get(&api).map_or(0, |open| open.repeats);
        let Some(pause) = pause(refused, repeats) else { return };
        let (code, repeats) = (refused.code.clone(), repeats.saturating_add(1));
        state.open.insert(api, OpenBreaker { until: now + pause, code, repeats });
        tracing::warn!(
            api = api.name,
            errcode = refused.code.number(),
            code = refused.code.as_word(),
            seconds = pause.as_secs(),
            "circuit breaker open: calls to the platform are paused"
        );
    }

    /// The current state; a valid token outlives a refusal to issue another.
    pub(super) fn status(&self, token_in_hand: bool) -> Circuit {
        let now = self.clock.now();
        let state = self.state();
        let of = |is: fn(Api) -> bool| state.open.iter().filter(move |(api, _)| is(**api)).map(|(_, open)| open);
        let token = || of(|api: Api| api.purpose == ApiPurpose::Token).filter(|_| !token_in_hand);
        if let Some(open) = of(is_for_sign_in).chain(token()).find(|open| now < open.until) {
            return Circuit::Open { until: open.until, code: open.code.clone() };
        }
        let recently = now.since(state.failed_at) < FAILURE_MEMORY;
        let missing = state.failures >= FAILURE_THRESHOLD && recently;
        match state.refused.values().next() {
            // There is no token, and the last attempt to get one failed.
            _ if missing || token().next().is_some() => Circuit::Failing,
            Some(code) => Circuit::Refused { code: code.clone() },
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

/// Whether a call failed in a way that may prevent sign-ins. Invalid codes, limits, and a lack of sockets on this machine do not.
fn is_trouble<T>(outcome: &Result<T, Error>) -> bool {
    outcome.as_ref().is_err_and(|error| match error {
        Error::Unreachable(how) => *how != Unreachable::NoLocalSockets,
        other => {
            !matches!(other.meaning(), Meaning::StartAgain | Meaning::Gone | Meaning::OutOfRange | Meaning::Limited)
        }
    })
}

fn is_for_sign_in(api: Api) -> bool {
    matches!(api.purpose, ApiPurpose::SignIn | ApiPurpose::SignInStep)
}

/// Whether no user can sign in until an administrator acts. So it is if the platform does not even accept a new access token; a
/// token that only ended early is replaced, and the next response counts.
pub(super) fn is_for_administrators(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Administrator | Meaning::Refresh)
}
