//! The userinfo endpoint: the claims about the user of an access token.

use axum::response::Response;
use deskpass_core::ClientInfo;
use deskpass_core::oidc::{OAuthError, OAuthErrorCode, Parameters};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::cors::AllowedOrigin;
use super::invalid_tokens;
use super::provider::Provider;
use super::reply::json_text;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{OAuthForm, bearer_token};

/// Returns the claims, for the token in the header.
pub(crate) async fn userinfo(
    Provider(app): Provider,
    origin: AllowedOrigin,
    visitor: ClientInfo,
    headers: HeaderMap,
) -> Response {
    origin.apply(answer(&app, bearer_token(&headers), &visitor).await)
}

/// The same for the token in the header or in the form.
pub(crate) async fn userinfo_of_form(
    Provider(app): Provider,
    origin: AllowedOrigin,
    visitor: ClientInfo,
    form: OAuthForm,
) -> Response {
    origin.apply(match form.parameters() {
        Ok(parameters) => answer(&app, access_token(&form.headers, &parameters), &visitor).await,
        Err(error) => Err(error),
    })
}

async fn answer(app: &App, token: Result<&str, ApiError>, visitor: &ClientInfo) -> Result<Response, ApiError> {
    match app.auth.userinfo(token?).await {
        Ok(claims) => Ok(json_text(claims.to_string())),
        Err(error) => {
            invalid_tokens::count_error(app, "", visitor, &error).await?;
            Err(error.into())
        }
    }
}

/// The access token. RFC 6750 permits one way to send it.
fn access_token<'a>(headers: &'a HeaderMap, parameters: &'a Parameters) -> Result<&'a str, ApiError> {
    match parameters.get("access_token")? {
        Some(_) if headers.contains_key(AUTHORIZATION) => {
            Err(OAuthError::new(OAuthErrorCode::InvalidRequest, "send the access token in one way only").into())
        }
        Some(token) => Ok(token),
        None => bearer_token(headers),
    }
}
