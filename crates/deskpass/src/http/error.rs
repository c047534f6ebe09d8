//! All errors of the HTTP layer.

pub(crate) mod field_error;
pub(crate) mod malformed_head;

use std::fmt;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use deskpass_auth::{Error, InternalError, Refusal};
use deskpass_store::{SealError, StoreErrorKind as StoreCause};
use deskpass_wecom::Error as PlatformError;

use crate::app::readiness::ReadinessReport;
use crate::http::error::field_error::FieldErrors;
use crate::http::error::malformed_head::MalformedHead;

/// Why a request failed.
#[derive(Clone, Debug)]
pub(crate) enum ApiError {
    /// A flow refused the request.
    Refused(Refusal),
    /// The request cannot be read.
    BadRequest(BadRequest),
    PathNotFound,
    MethodNotAllowed,
    DevelopmentOff,
    /// The route is restricted to operator networks.
    NotAnOperator,
    /// The request comes from a page of a foreign origin.
    ForeignOrigin,
    /// The request names a host that is not accepted, in development mode.
    UnknownHost,
    /// A page of another site calls a route of development mode.
    CrossSite,
    NotReady(Box<ReadinessReport>),
    /// All connections are in use, and this one is from the reserve for health checks.
    TooManyConnections,
    /// The request came through an untrusted proxy, so the client's address is not known.
    UntrustedProxy,
    /// The rate limit is exceeded; a retry is possible after this time.
    RateLimited(Duration),
    /// An internal error: a cause that may be shown, and a detail for the log.
    Internal(ErrorCause, String),
}

/// What is wrong with a malformed request.
#[derive(Clone, Debug)]
pub(crate) enum BadRequest {
    /// The head is malformed.
    Head(MalformedHead),
    Fields(FieldErrors),
    NotJson,
    NotUtf8,
    MediaType,
    /// The body is neither a form nor JSON, where both are accepted.
    FormType,
    TooLarge(usize),
    BodyTimeout,
    BodyIncomplete,
    RepeatedAuthorization,
    Prefetch,
    /// Not a WebSocket handshake, or one of another version.
    NotAHandshake,
    HandshakeKey,
    HandshakeBody,
}

/// The cause of an internal error, from a closed list that is safe to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorCause {
    StoreUnavailable,
    StoreOverloaded,
    SharedUnavailable,
    RecordDamaged,
    NoRandomness,
    PlatformUnreachable,
    PlatformGarbled,
    /// The platform refused, with this error code.
    PlatformRefused(i64),
    /// The platform refused recently, and is not called for a while.
    PlatformSuspended(i64),
    Unexpected,
}

impl ApiError {
    /// An unexpected error.
    pub(crate) fn unexpected(detail: &dyn fmt::Display) -> Self {
        Self::Internal(ErrorCause::Unexpected, detail.to_string())
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<BadRequest> for ApiError {
    fn from(problem: BadRequest) -> Self {
        Self::BadRequest(problem)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(refusal) => Self::Refused(refusal),
            Error::Internal(internal) => Self::Internal(cause(&internal), internal.to_string()),
        }
    }
}

fn cause(internal: &InternalError) -> ErrorCause {
    match internal {
        InternalError::Store(error) => match error.kind() {
            StoreCause::Unavailable => ErrorCause::StoreUnavailable,
            StoreCause::Overloaded => ErrorCause::StoreOverloaded,
            StoreCause::Damaged => ErrorCause::RecordDamaged,
            StoreCause::SharedUnavailable => ErrorCause::SharedUnavailable,
        },
        InternalError::Entropy(_) | InternalError::Sealing(SealError::NoEntropy(_)) => ErrorCause::NoRandomness,
        InternalError::UnsealFailed => ErrorCause::RecordDamaged,
        InternalError::OtherNode { platform: true } => ErrorCause::PlatformUnreachable,
        InternalError::OtherNode { platform: false }
        | InternalError::Hashing
        | InternalError::Sealing(SealError::TooLong) => ErrorCause::Unexpected,
        InternalError::Platform(error) => match error {
            PlatformError::Unreachable(_) => ErrorCause::PlatformUnreachable,
            PlatformError::InvalidResponse(_) | PlatformError::BadCode => ErrorCause::PlatformGarbled,
            PlatformError::Refused { errcode, .. } => ErrorCause::PlatformRefused(*errcode),
            PlatformError::CircuitOpen { errcode, .. } => ErrorCause::PlatformSuspended(*errcode),
        },
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        // The dispatcher renders the error, since it knows the language and the request id.
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}
