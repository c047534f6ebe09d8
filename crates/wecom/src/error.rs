//! The errors of calls to the platform.

use std::net::IpAddr;

use deskpass_core::Timestamp;

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
    #[error("the platform refused (errcode {errcode})")]
    Refused {
        /// The platform's error code.
        errcode: i64,
        /// The hint that the platform's support asks for.
        hint: Option<String>,
        /// The address from which the platform saw the call come.
        from_ip: Option<IpAddr>,
    },
    /// The platform refused earlier, and another call now would do harm; no call was made.
    #[error("circuit breaker open: calls to the platform are paused (errcode {errcode})")]
    CircuitOpen {
        /// The earlier error code.
        errcode: i64,
        /// The time of the next call.
        until: Timestamp,
    },
}

impl Error {
    pub(crate) const fn refused(errcode: i64) -> Self {
        Self::Refused { errcode, hint: None, from_ip: None }
    }

    /// The platform's error code, if there is one.
    #[must_use]
    pub fn errcode(&self) -> Option<i64> {
        match self {
            Self::Refused { errcode, .. } | Self::CircuitOpen { errcode, .. } => Some(*errcode),
            Self::BadCode | Self::Unreachable(_) | Self::InvalidResponse(_) => None,
        }
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
    /// An HTTP status other than 200.
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
