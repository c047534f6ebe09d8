//! Which pages of other origins may read answers: those of origins that a public client registered. Cookies are never sent along.

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use hyper::StatusCode;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;

use super::provider::Provider;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, RequestContext};

/// The origin of the page that calls, if it may read the answer.
#[derive(Debug)]
pub(crate) struct AllowedOrigin(Option<HeaderValue>);

impl AllowedOrigin {
    /// Adds the headers that let the page read an answer, also an error.
    pub(super) fn apply(self, answer: impl IntoResponse) -> Response {
        let mut response = answer.into_response();
        let headers = response.headers_mut();
        headers.insert(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = self.0 {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("WWW-Authenticate"));
        }
        response
    }
}

impl FromRequestParts<RequestContext> for AllowedOrigin {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let Some(origin) = parts.headers.get(ORIGIN) else { return Ok(Self(None)) };
        let is_allowed = is_registered(&context.app, origin).await?;
        Ok(Self(is_allowed.then(|| origin.clone())))
    }
}

impl DescribeInput for AllowedOrigin {}

/// Whether an enabled public client registered this origin.
async fn is_registered(app: &App, origin: &HeaderValue) -> Result<bool, ApiError> {
    let Ok(origin) = origin.to_str() else { return Ok(false) };
    let clients = app.auth.oidc_client_list().await?;
    let mut origins = clients.iter().filter(|client| client.enabled).flat_map(|client| &client.registration.origins);
    Ok(origins.any(|registered| registered == origin))
}

/// Lets every page read the answer, which says the same to everyone.
pub(super) fn readable_by_all(response: &mut Response) {
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
}

/// Answers the question of a browser whether a page may call.
pub(crate) async fn preflight(_: Provider, origin: AllowedOrigin) -> Response {
    let permissions = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type"),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    match origin.0 {
        Some(_) => origin.apply((StatusCode::NO_CONTENT, permissions)),
        None => origin.apply(StatusCode::NO_CONTENT),
    }
}
