//! Everything that can go wrong, mapped to HTTP once.

mod telling;

use std::fmt;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use deskpass_auth::{Error, Internal, Refusal};
use deskpass_store::{Cause as StoreCause, SealError};
use deskpass_wecom::Error as PlatformError;

pub(super) use telling::{Telling, Telltale};

use super::envelope::Outcome;
use super::fields::Problems;
use super::health::State as ReadyState;
use super::malformed::MalformedHead;
use crate::Desk;

/// Why a request was not answered with success.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// A flow said no, on purpose.
    Refused(Refusal),
    /// The request cannot be read.
    Request(BadRequest),
    NoSuchPath,
    NoSuchMethod,
    DevelopmentOff,
    /// The route is for operators' networks.
    NotAnOperator,
    /// The page that asks is none of ours.
    ForeignOrigin,
    /// The host that the request names is none of ours, in development mode.
    UnknownHost,
    /// A page of another site asks for something that only development mode does.
    CrossSite,
    NotReady(Box<ReadyState>),
    /// All connections are in use, and this one is from the reserve for health checks.
    TooManyConnections,
    /// It came through a proxy that is not trusted, so where it comes from is not known.
    UntrustedProxy,
    /// It came too early, by this much.
    Limited(Duration),
    /// Something broke: a word that may be told, and a detail for the log.
    Internal(Cause, String),
}

/// What is wrong with a request as such.
#[derive(Clone, Debug)]
pub(crate) enum BadRequest {
    /// HTTP does not allow its head.
    Head(MalformedHead),
    Fields(Problems),
    NotJson,
    NotUtf8,
    MediaType,
    /// Neither a form nor JSON, where either will do.
    FormType,
    TooLarge(usize),
    TooSlow,
    Broken,
    TwoAuthorizations,
    Prefetch,
    /// No handshake of a socket, or one of another version.
    NoSocket,
    SocketKey,
    SocketBody,
}

/// Why something broke, from a closed list that is safe to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    StoreUnavailable,
    StoreOverloaded,
    SharedUnavailable,
    RecordDamaged,
    NoRandomness,
    PlatformUnreachable,
    PlatformGarbled,
    /// The platform said no, with this error code.
    PlatformRefused(i64),
    /// The platform said no lately, and is left alone for a while.
    PlatformSuspended(i64),
    Unexpected,
}

impl Failure {
    /// A fault nobody foresaw.
    pub(super) fn unexpected(detail: &dyn fmt::Display) -> Self {
        Self::Internal(Cause::Unexpected, detail.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<BadRequest> for Failure {
    fn from(problem: BadRequest) -> Self {
        Self::Request(problem)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => Self::Refused(refusal),
            Error::Internal(internal) => Self::Internal(cause(&internal), internal.to_string()),
        }
    }
}

fn cause(internal: &Internal) -> Cause {
    match internal {
        Internal::Store(error) => match error.cause() {
            StoreCause::Unavailable => Cause::StoreUnavailable,
            StoreCause::Overloaded => Cause::StoreOverloaded,
            StoreCause::Damaged => Cause::RecordDamaged,
            StoreCause::SharedUnavailable => Cause::SharedUnavailable,
        },
        Internal::Entropy(_) | Internal::Sealing(SealError::NoEntropy(_)) => Cause::NoRandomness,
        Internal::Unopened => Cause::RecordDamaged,
        Internal::Elsewhere { platform: true } => Cause::PlatformUnreachable,
        Internal::Elsewhere { platform: false } | Internal::Hashing | Internal::Sealing(SealError::TooLong) => {
            Cause::Unexpected
        }
        Internal::Platform(error) => match error {
            PlatformError::Unreachable(_) => Cause::PlatformUnreachable,
            PlatformError::Garbled(_) | PlatformError::BadCode => Cause::PlatformGarbled,
            PlatformError::Refused { errcode, .. } => Cause::PlatformRefused(*errcode),
            PlatformError::Suspended { errcode, .. } => Cause::PlatformSuspended(*errcode),
        },
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        Outcome::Failure(self).into_response()
    }
}

/// What a request gets that is not in the table, or not with its method. With development mode off, nobody learns what lies
/// below /api/dev.
pub(super) fn astray(desk: &Desk, path: &str, known: bool) -> Failure {
    let below = path.strip_prefix("/api/dev").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match known {
        _ if below && !desk.settings.development => Failure::DevelopmentOff,
        true => Failure::NoSuchMethod,
        false => Failure::NoSuchPath,
    }
}
