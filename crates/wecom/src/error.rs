//! Why the platform did not do what it was asked.

use std::net::IpAddr;

use deskpass_core::Timestamp;

/// Why the platform did not do what it was asked. No text of it carries an address, a secret, a token or a code.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// What should be a code cannot be one; the platform was not asked.
    #[error("this cannot be a code of the platform")]
    BadCode,
    /// No answer came.
    #[error("the platform cannot be reached: {0}")]
    Unreachable(Unreachable),
    /// Something came that is no answer of the platform.
    #[error("the platform's answer cannot be read: {0}")]
    InvalidResponse(InvalidResponse),
    /// The platform said no.
    #[error("the platform refused (errcode {errcode})")]
    Refused {
        /// Its number for the reason.
        errcode: i64,
        /// What its support asks for.
        hint: Option<String>,
        /// The address it saw us come from.
        from_ip: Option<IpAddr>,
    },
    /// It said no before, and asking again now would do harm; it was not asked.
    #[error("the platform is not asked for a while (errcode {errcode})")]
    CircuitOpen {
        /// What it said before.
        errcode: i64,
        /// When it is asked again.
        until: Timestamp,
    },
}

impl Error {
    /// A refusal in the platform's own terms.
    pub(crate) const fn refused(errcode: i64) -> Self {
        Self::Refused { errcode, hint: None, from_ip: None }
    }

    /// The platform's number for the reason, where it gave one.
    #[must_use]
    pub fn errcode(&self) -> Option<i64> {
        match self {
            Self::Refused { errcode, .. } | Self::CircuitOpen { errcode, .. } => Some(*errcode),
            Self::BadCode | Self::Unreachable(_) | Self::InvalidResponse(_) => None,
        }
    }
}

/// How a call got no answer.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unreachable {
    /// No connection came about: name, route, port, or certificate.
    #[error("no connection")]
    Connect,
    /// This machine has no connection to spare, whatever the platform would say.
    #[error("no connection to spare on this machine")]
    NoLocalSockets,
    /// It took too long.
    #[error("timed out")]
    TimedOut,
    /// The connection broke, or what came over it was not HTTP.
    #[error("connection broken")]
    ConnectionLost,
}

/// How an answer was none.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidResponse {
    /// An HTTP status other than 200.
    #[error("HTTP status {0}")]
    Status(u16),
    /// A body beyond the limit.
    #[error("too large")]
    TooLarge,
    /// No JSON object.
    #[error("no JSON object")]
    NotJson,
    /// A redirect; the API has none.
    #[error("redirected elsewhere")]
    Redirected,
    /// This member is missing or has no sensible value.
    #[error("no usable {0}")]
    MissingField(&'static str),
}

impl From<Unreachable> for Error {
    fn from(how: Unreachable) -> Self {
        Self::Unreachable(how)
    }
}

impl From<InvalidResponse> for Error {
    fn from(how: InvalidResponse) -> Self {
        Self::InvalidResponse(how)
    }
}
