//! Reports of calls to the platform, for metrics.

use std::sync::OnceLock;
use std::time::Duration;

use super::api::Api;
use crate::Error;

/// A call to the platform that has ended, or that was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallReport {
    /// The API, as the platform names it.
    pub api: &'static str,
    /// What came of the call.
    pub outcome: CallOutcome,
    /// How long it took.
    pub elapsed: Duration,
}

/// What came of a call to the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The platform did what was asked.
    Ok,
    /// The platform refused, with an error code.
    Refused,
    /// There was no response.
    Unreachable,
    /// The response cannot be read.
    Invalid,
    /// The circuit breaker is open: no call was made.
    Suspended,
}

impl CallOutcome {
    /// All outcomes.
    pub const ALL: [Self; 5] = [Self::Ok, Self::Refused, Self::Unreachable, Self::Invalid, Self::Suspended];

    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Invalid => "invalid",
            Self::Suspended => "suspended",
        }
    }

    fn of<T>(outcome: &Result<T, Error>) -> Self {
        match outcome {
            Ok(_) => Self::Ok,
            Err(Error::Refused(_)) => Self::Refused,
            Err(Error::Unreachable(_)) => Self::Unreachable,
            Err(Error::InvalidResponse(_) | Error::BadCode) => Self::Invalid,
            Err(Error::CircuitOpen { .. }) => Self::Suspended,
        }
    }
}

/// Receives reports.
pub type CallListener = Box<dyn Fn(CallReport) + Send + Sync>;

/// Receives the reports, once it is set.
#[derive(Default)]
pub(super) struct CallObserver(OnceLock<CallListener>);

impl CallObserver {
    pub(super) fn set(&self, listener: CallListener) {
        // Only the first call has an effect.
        let _ = self.0.set(listener);
    }

    pub(super) fn report<T>(&self, api: Api, outcome: &Result<T, Error>, elapsed: Duration) {
        if let Some(listener) = self.0.get() {
            listener(CallReport { api: api.name, outcome: CallOutcome::of(outcome), elapsed });
        }
    }
}
