//! When not to ask: what the platform punishes, and what it has no time for.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};

use crate::api::Api;
use crate::errcode::{FixableBy, explain};
use crate::{Error, InvalidResponse, Unreachable};

/// Whether the platform is being asked, as far as signing in needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// It is asked, and nothing speaks against it.
    Closed,
    /// It refused in a way that asking again would make worse.
    Open {
        /// When it is asked again.
        until: Timestamp,
        /// What it said.
        errcode: i64,
    },
    /// It is asked, but the last calls did not get through.
    Failing,
    /// It answers, but lets nobody sign in here until an administrator has mended something.
    Refused {
        /// What it said.
        errcode: i64,
    },
    /// It has not been asked yet.
    Untried,
}

/// How many calls in a row must fail before the platform counts as failing.
const FAILURE_THRESHOLD: u32 = 3;
/// How long that says something about the present.
const FAILURE_MEMORY: Duration = Duration::from_mins(5);
/// How long it stands that people can sign in, or cannot.
const OUTAGE_KNOWLEDGE_TTL: Duration = Duration::from_secs(10);

/// One breaker for each call: a limit on reading records must not keep anybody from signing in.
pub(crate) struct Breakers {
    clock: Clock,
    state: Mutex<BreakerState>,
}

struct BreakerState {
    open: BTreeMap<Api, OpenBreaker>,
    failures: u32,
    failed_at: Timestamp,
    /// Whether the platform ever answered.
    answered: bool,
    /// What keeps everybody from signing in, as the platform said at the last try.
    refused: Option<i64>,
    /// Whether the platform is out, and when that was seen.
    seen: Option<(bool, Timestamp)>,
}

impl BreakerState {
    /// That the platform is there is no longer certain.
    fn forget_reachable(&mut self) {
        self.seen = self.seen.filter(|(out, _)| *out);
    }
}

#[derive(Clone, Copy)]
struct OpenBreaker {
    until: Timestamp,
    errcode: i64,
    strikes: u32,
}

impl Breakers {
    pub(crate) fn new(clock: Clock) -> Self {
        let (open, failed_at) = (BTreeMap::new(), clock.now());
        let state = BreakerState { open, failures: 0, failed_at, answered: false, refused: None, seen: None };
        Self { clock, state: Mutex::new(state) }
    }

    /// Whether this call may be made now.
    pub(crate) fn admit(&self, api: Api) -> Result<(), Error> {
        let now = self.clock.now();
        match self.state().open.get(&api) {
            Some(OpenBreaker { until, errcode, .. }) if now < *until => {
                Err(Error::CircuitOpen { errcode: *errcode, until: *until })
            }
            _ => Ok(()),
        }
    }

    /// Learns from how a call went.
    pub(crate) fn record<T>(&self, api: Api, outcome: &Result<T, Error>) {
        // Messages can wait: how they fare says nothing about signing in.
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
            // It was not even asked.
            Err(Error::Unreachable(Unreachable::NoLocalSockets)) => {}
            Err(Error::Unreachable(_) | Error::InvalidResponse(InvalidResponse::Status(500..))) => self.failed(),
            Err(_) => self.state().answered = true,
        }
        if api == Api::UserInfo {
            self.record_sign_in(outcome);
        }
    }

    /// Notes whether people can sign in. A code that is no good is no hindrance: the platform looked at it.
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
            // Busy, or a limit: neither here nor there.
            Some(FixableBy::Developer | FixableBy::Nobody) => {}
        }
    }

    /// The platform answered, whatever it said.
    pub(crate) fn reached(&self) {
        let mut state = self.state();
        state.answered = true;
        state.failures = 0;
    }

    /// A call did not get through.
    pub(crate) fn failed(&self) {
        let now = self.clock.now();
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        state.failed_at = now;
        state.forget_reachable();
    }

    /// Whether the platform is out, where that was seen a moment ago.
    pub(crate) fn known_outage(&self) -> Option<bool> {
        let now = self.clock.now();
        self.state().seen.filter(|(_, at)| now.since(*at) < OUTAGE_KNOWLEDGE_TTL).map(|(out, _)| out)
    }

    /// Notes what a look has shown.
    pub(crate) fn record_probe(&self, out: bool) {
        let now = self.clock.now();
        let before = self.state().seen.replace((out, now));
        let was_out = before.is_some_and(|(out, _)| out);
        match (was_out, out) {
            (false, true) => tracing::warn!("nobody can sign in through the platform"),
            (true, false) => tracing::info!("people can sign in through the platform again"),
            _ => {}
        }
    }

    /// Notes that a look got no answer that says anything, however often it asked.
    pub(crate) fn probe_failed(&self) {
        let now = self.clock.now();
        let mut state = self.state();
        state.failures = state.failures.max(FAILURE_THRESHOLD);
        state.failed_at = now;
    }

    fn succeeded(&self, api: Api) {
        let now = self.clock.now();
        let mut state = self.state();
        // A success that comes while it is open was asked for before it opened.
        if state.open.get(&api).is_some_and(|open| open.until <= now) {
            state.open.remove(&api);
            tracing::info!(api = api.name(), "the platform is asked again");
        }
    }

    fn refused(&self, api: Api, errcode: i64) {
        let now = self.clock.now();
        let mut state = self.state();
        let strikes = state.open.get(&api).map_or(0, |open| open.strikes);
        let Some(pause) = open_duration(api, errcode, strikes) else { return };
        state.open.insert(api, OpenBreaker { until: now + pause, errcode, strikes: strikes.saturating_add(1) });
        tracing::warn!(api = api.name(), errcode, seconds = pause.as_secs(), "the platform is not asked for a while");
    }

    /// How things stand; a token in hand outlives a refusal to give another.
    pub(crate) fn status(&self, token_in_hand: bool) -> Circuit {
        let now = self.clock.now();
        let state = self.state();
        let of = |api| state.open.get(&api).copied();
        let token = of(Api::Token).filter(|_| !token_in_hand);
        let waits = [of(Api::UserInfo), token].into_iter().flatten().find(|open| now < open.until);
        if let Some(OpenBreaker { until, errcode, .. }) = waits {
            return Circuit::Open { until, errcode };
        }
        let lately = now.since(state.failed_at) < FAILURE_MEMORY;
        let missing = state.failures >= FAILURE_THRESHOLD && lately;
        match state.refused {
            // No token, and none was given at the last try.
            _ if missing || token.is_some() => Circuit::Failing,
            Some(errcode) => Circuit::Refused { errcode },
            None if state.answered => Circuit::Closed,
            // One call may fail by chance where others succeeded; here none ever did.
            None if state.failures > 0 && lately => Circuit::Failing,
            None => Circuit::Untried,
        }
    }

    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long not to ask after a refusal. Wrong secrets, repeated, shut out the caller's address for an hour.
fn open_duration(api: Api, errcode: i64, strikes: u32) -> Option<Duration> {
    match errcode {
        40001 | 40013 | 40091 | 41002 | 41004 if api == Api::Token => {
            Some(Duration::from_secs(60 << strikes.min(4)).min(Duration::from_mins(10)))
        }
        45009 => Some(Duration::from_mins(1)),
        45033 => Some(Duration::from_secs(5)),
        _ => None,
    }
}
