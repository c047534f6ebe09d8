//! The userinfo endpoint: the claims about the user of an access token.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::response::Response;
use deskpass_core::ClientInfo;
use deskpass_core::oidc::{OAuthError, OAuthErrorCode, Parameters};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;

use super::cors::AllowedOrigin;
use super::invalid_tokens;
use super::provider::Provider;
use super::reply::json_text;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, OAuthForm, RequestContext, bearer_token, client_ip};

/// The token in the header, and the address of the client: no more, since programs call often. An error is for the handler, whose
/// answer needs headers of its own.
#[derive(Debug)]
pub(crate) struct SentToken {
    token: Result<String, ApiError>,
    address: IpAddr,
}

impl FromRequestParts<RequestContext> for SentToken {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self { token: bearer_token(&parts.headers).map(str::to_owned), address: client_ip(parts, context) })
    }
}

impl DescribeInput for SentToken {}

/// Returns the claims, for the token in the header.
pub(crate) async fn userinfo(Provider(app): Provider, origin: AllowedOrigin, sent: SentToken) -> Response {
    origin.apply(match sent.token {
        Ok(token) => answer(&app, &token, sent.address).await,
        Err(error) => Err(error),
    })
}

/// Returns the claims, for the token in the header or in the form.
pub(crate) async fn userinfo_of_form(
    _: Provider,
    origin: AllowedOrigin,
    visitor: ClientInfo,
    form: OAuthForm,
) -> Response {
    origin.apply(answer_form(&form, visitor.address.decided).await)
}

async fn answer_form(form: &OAuthForm, address: IpAddr) -> Result<Response, ApiError> {
    let parameters = form.parameters()?;
    answer(&form.app, access_token(&form.headers, &parameters)?, address).await
}

async fn answer(app: &App, token: &str, address: IpAddr) -> Result<Response, ApiError> {
    match app.auth.userinfo(token).await {
        Ok(claims) => Ok(json_text(claims)),
        Err(error) => {
            invalid_tokens::count_error(app, "", address, &error).await?;
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
