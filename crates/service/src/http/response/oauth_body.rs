//! The body of an error below /oidc and /.well-known, as RFC 6749 defines it.

use bytes::Bytes;
use deskpass_core::Reference;
use hyper::StatusCode;
use serde::Serialize;

use crate::http::error::{ApiError, oauth_error_code};

/// The body.
#[derive(Debug, Serialize)]
struct OAuthBody {
    error: &'static str,
    error_description: String,
}

/// Renders the body of an error. The description is in English: the developer of the client reads it, not the user.
pub(crate) fn oauth_body(failure: &ApiError, status: StatusCode, reference: Reference) -> Bytes {
    let [english, _] = failure.info().texts;
    let text = if status.is_server_error() { format!("{english} (ref {reference})") } else { english.into_owned() };
    let error = oauth_error_code(failure, status).name();
    let body = OAuthBody { error, error_description: text.chars().map(permitted).collect() };
    serde_json::to_vec(&body).unwrap_or_default().into()
}

/// RFC 6749 permits printable ASCII without the quotation mark and the backslash.
fn permitted(c: char) -> char {
    match c {
        '"' => '\'',
        ' '..='~' if c != '\\' => c,
        _ => '?',
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests {
    use std::time::Duration;

    use deskpass_auth::{Refusal, TokenError};
    use deskpass_core::oidc::{OAuthError, OAuthErrorCode};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn every_error_has_a_name_of_the_standard_and_a_plain_description() {
        let reference = Reference::new(1);
        for (failure, status, name, description) in [
            (
                ApiError::from(OAuthError::new(OAuthErrorCode::InvalidGrant, "a \"b\" \\ \u{e9}")),
                400,
                "invalid_grant",
                "a 'b' ? ?".to_owned(),
            ),
            (ApiError::PathNotFound, 404, "invalid_request", "no such path".to_owned()),
            (
                ApiError::from(Refusal::RateLimited(Duration::from_secs(1))),
                429,
                "temporarily_unavailable",
                String::new(),
            ),
            (ApiError::from(Refusal::Token(TokenError::Missing)), 401, "invalid_token", String::new()),
            (ApiError::unexpected(&"a secret"), 500, "server_error", format!("unexpected error (ref {reference})")),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(failure.info().status, status, "{failure:?}");
            let body: Value = serde_json::from_slice(&oauth_body(&failure, status, reference)).unwrap();
            assert_eq!(body["error"], json!(name), "{failure:?}");
            if !description.is_empty() {
                assert_eq!(body["error_description"], json!(description), "{failure:?}");
            }
        }
    }
}
