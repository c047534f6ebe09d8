//! The errors of OAuth 2.0 and OpenID Connect.

use deskpass_auth::{Error, OidcError, Refusal};
use deskpass_core::oidc::{OAuthError, OAuthErrorCode, RepeatedParameter};
use hyper::StatusCode;

use crate::http::error::{ApiError, ErrorInfo};

/// What is declared about an error. Below /oidc, clients see its name and description only.
pub(super) fn info(error: &OAuthError) -> ErrorInfo {
    let status = match error.code {
        OAuthErrorCode::InvalidClient | OAuthErrorCode::InvalidToken => StatusCode::UNAUTHORIZED,
        OAuthErrorCode::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
        OAuthErrorCode::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    };
    let texts = [error.description.clone(), error.description.clone()];
    ErrorInfo { status, code: 1002, reason: Some(error.code.name()), texts }
}

/// The name that an error has for clients below /oidc.
pub(crate) fn oauth_error_code(failure: &ApiError, status: StatusCode) -> OAuthErrorCode {
    match failure {
        ApiError::OAuth(error) => error.code,
        ApiError::Refused(Refusal::Token(_)) => OAuthErrorCode::InvalidToken,
        _ if status == StatusCode::INTERNAL_SERVER_ERROR => OAuthErrorCode::ServerError,
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            OAuthErrorCode::TemporarilyUnavailable
        }
        _ => OAuthErrorCode::InvalidRequest,
    }
}

impl From<OAuthError> for ApiError {
    fn from(error: OAuthError) -> Self {
        Self::OAuth(error)
    }
}

impl From<RepeatedParameter> for ApiError {
    fn from(repeated: RepeatedParameter) -> Self {
        Self::OAuth(repeated.into())
    }
}

impl From<OidcError> for ApiError {
    fn from(error: OidcError) -> Self {
        match error {
            OidcError::OAuth(error) => Self::OAuth(error),
            OidcError::Limited(wait) => Refusal::RateLimited(wait).into(),
            OidcError::Internal(internal) => Error::Internal(internal).into(),
        }
    }
}
