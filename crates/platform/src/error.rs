//! The errors of calls to a platform.

use std::net::IpAddr;

use deskpass_core::Timestamp;

use crate::{ErrorCode, Meaning};

/// The reason why a call to the platform failed. Its text never contains an address, a secret, a token or a code.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The code is malformed; the platform was not called.
    #[error("not a code of the platform")]
    BadCode,
    /// There was no response.
    #[error("cannot reach the platform: {0}")]
    Unreachable(#[from] Unreachable),
    /// The response is not a valid response of the platform.
    #[error("cannot read the platform's response: {0}")]
    InvalidResponse(#[from] InvalidResponse),
    /// The platform refused.
    #[error("the platform refused (errcode {})", .0.code)]
    Refused(Box<Refused>),
    /// The platform refused earlier, and another call now would do harm; no call was made.
    #[error("circuit breaker open: calls to the platform are paused (errcode {code})")]
    CircuitOpen {
        /// The earlier error code.
        code: ErrorCode,
        /// The time of the next call.
        until: Timestamp,
    },
}

/// A refusal by the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The platform's error code.
    pub code: ErrorCode,
    /// What it means to the service.
    pub meaning: Meaning,
    /// The reference that the platform's support asks for.
    pub hint: Option<String>,
    /// The address from which the platform saw the call come.
    pub from_ip: Option<IpAddr>,
}

impl Error {
    /// A refusal with nothing but a code.
    #[must_use]
    pub fn refused(code: impl Into<ErrorCode>, meaning: Meaning) -> Self {
        Self::Refused(Box::new(Refused { code: code.into(), meaning, hint: None, from_ip: None }))
    }

    /// The platform's error code, if there is one.
    #[must_use]
    pub fn code(&self) -> Option<&ErrorCode> {
        match self {
            Self::Refused(refused) => Some(&refused.code),
            Self::CircuitOpen { code, .. } => Some(code),
            Self::BadCode | Self::Unreachable(_) | Self::InvalidResponse(_) => None,
        }
    }

    /// What the failure means to the service.
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        match self {
            Self::BadCode => Meaning::StartAgain,
            Self::Unreachable(_) | Self::InvalidResponse(_) => Meaning::Retry,
            Self::Refused(refused) => refused.meaning,
            Self::CircuitOpen { .. } => Meaning::Limited,
        }
    }

    /// Whether the platform refused with this meaning.
    #[must_use]
    pub fn is_refused_as(&self, meaning: Meaning) -> bool {
        matches!(self, Self::Refused(refused) if refused.meaning == meaning)
    }
}

/// The reason why there was no response.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unreachable {
    /// No connection was established: name, route, port, or certificate.
    #[error("no connection")]
    Connect,
    /// This machine has no free sockets; the platform is not the cause.
    #[error("no local port available on this machine")]
    NoLocalSockets,
    /// The call timed out.
    #[error("timed out")]
    TimedOut,
    /// The connection broke, or the data was not HTTP.
    #[error("connection lost")]
    ConnectionLost,
}

/// The reason why a response is invalid.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidResponse {
    /// An HTTP status that the API does not use.
    #[error("HTTP status {0}")]
    Status(u16),
    /// A body larger than the limit.
    #[error("too large")]
    TooLarge,
    /// The body is not a JSON object.
    #[error("not a JSON object")]
    NotJson,
    /// A redirect; the API has none.
    #[error("unexpected redirect")]
    Redirected,
    /// This field is missing or invalid.
    #[error("missing or invalid {0}")]
    MissingField(&'static str),
}
