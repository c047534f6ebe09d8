//! The errors of the endpoints that clients call.

use std::time::Duration;

use deskpass_core::NoEntropy;
use deskpass_core::oidc::{OAuthError, OAuthErrorCode};
use deskpass_store::StoreError;

use crate::{Error, InternalError, Refusal};

/// Why a request of a client did not succeed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OidcError {
    /// An error of the standard, for the client.
    #[error(transparent)]
    OAuth(#[from] OAuthError),
    /// Too many wrong attempts; the client may retry after this time.
    #[error("too many wrong attempts")]
    Limited(Duration),
    /// An internal failure.
    #[error(transparent)]
    Internal(InternalError),
}

impl From<Error> for OidcError {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(Refusal::RateLimited(wait)) => Self::Limited(wait),
            // What refuses the user makes the grant invalid. The client learns no more than that.
            Error::Refused(_) => invalid_grant(),
            Error::Internal(error) => Self::Internal(error),
        }
    }
}

impl From<StoreError> for OidcError {
    fn from(error: StoreError) -> Self {
        Self::Internal(error.into())
    }
}

impl From<NoEntropy> for OidcError {
    fn from(error: NoEntropy) -> Self {
        Self::Internal(error.into())
    }
}

/// The answer to every code and refresh token that is not valid. It is the same for all of them, so that it tells nothing about a
/// code or token of another client.
pub(super) fn invalid_grant() -> OidcError {
    let text =
        "the code or refresh token is unknown, expired, used, of another client or request, or its session has ended";
    OAuthError::new(OAuthErrorCode::InvalidGrant, text).into()
}

/// The answer to every access token that is not valid.
pub(super) fn invalid_token() -> OidcError {
    let text = "the access token is unknown or expired, or its session has ended";
    OAuthError::new(OAuthErrorCode::InvalidToken, text).into()
}

/// The answer to a client that could not be authenticated.
pub(super) fn invalid_client(text: &'static str) -> OidcError {
    OAuthError::new(OAuthErrorCode::InvalidClient, text).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenError;

    fn code(error: impl Into<OidcError>) -> Option<OAuthErrorCode> {
        match error.into() {
            OidcError::OAuth(error) => Some(error.code),
            OidcError::Limited(_) | OidcError::Internal(_) => None,
        }
    }

    #[test]
    fn every_refusal_of_the_user_is_an_invalid_grant() {
        for refusal in [Refusal::NoRole, Refusal::Token(TokenError::Kicked), Refusal::ClientNotAllowed("a".to_owned())]
        {
            assert_eq!(code(Error::from(refusal)), Some(OAuthErrorCode::InvalidGrant));
        }
    }

    #[test]
    fn failures_and_limits_are_no_errors_of_the_standard() {
        assert_eq!(code(Error::from(NoEntropy)), None);
        let limited = OidcError::from(Error::from(Refusal::RateLimited(Duration::from_secs(3))));
        assert!(matches!(limited, OidcError::Limited(wait) if wait == Duration::from_secs(3)));
    }

    #[test]
    fn descriptions_are_ascii() {
        for error in [invalid_grant(), invalid_token(), invalid_client("x")] {
            assert!(error.to_string().is_ascii());
        }
    }
}
