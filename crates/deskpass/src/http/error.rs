//! Everything that can go wrong, mapped to HTTP once.

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

/// Why a request was not answered with success.
#[derive(Clone, Debug)]
pub(crate) enum ApiError {
    /// A flow said no, on purpose.
    Refused(Refusal),
    /// The request cannot be read.
    BadRequest(BadRequest),
    PathNotFound,
    MethodNotAllowed,
    DevelopmentOff,
    /// The route is for operators' networks.
    NotAnOperator,
    /// The page that asks is none of ours.
    ForeignOrigin,
    /// The host that the request names is none of ours, in development mode.
    UnknownHost,
    /// A page of another site asks for something that only development mode does.
    CrossSite,
    NotReady(Box<ReadinessReport>),
    /// All connections are in use, and this one is from the reserve for health checks.
    TooManyConnections,
    /// It came through a proxy that is not trusted, so where it comes from is not known.
    UntrustedProxy,
    /// It came too early, by this much.
    RateLimited(Duration),
    /// Something broke: a word that may be told, and a detail for the log.
    Internal(ErrorCause, String),
}

/// What is wrong with a request as such.
#[derive(Clone, Debug)]
pub(crate) enum BadRequest {
    /// HTTP does not allow its head.
    Head(MalformedHead),
    Fields(FieldErrors),
    NotJson,
    NotUtf8,
    MediaType,
    /// Neither a form nor JSON, where either will do.
    FormType,
    TooLarge(usize),
    BodyTimeout,
    BodyIncomplete,
    RepeatedAuthorization,
    Prefetch,
    /// No handshake of a socket, or one of another version.
    NotAHandshake,
    HandshakeKey,
    HandshakeBody,
}

/// Why something broke, from a closed list that is safe to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorCause {
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

impl ApiError {
    /// A fault nobody foresaw.
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
        // The dispatcher renders it, since it knows the language and the request id.
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}
