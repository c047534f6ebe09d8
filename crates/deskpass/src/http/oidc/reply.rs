//! The answers of OAuth 2.0 endpoints.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use hyper::header::{CONTENT_TYPE, PRAGMA};
use serde::Serialize;

use crate::http::error::ApiError;

/// A JSON text. No cache keeps it: the dispatcher says so, and RFC 6749 wants the old header besides.
pub(super) fn json_text(text: impl Into<Body>) -> Response {
    let body: Body = text.into();
    ([(CONTENT_TYPE, "application/json"), (PRAGMA, "no-cache")], body).into_response()
}

/// A value as JSON.
pub(super) fn json(value: &impl Serialize) -> Result<Response, ApiError> {
    serde_json::to_vec(value).map(json_text).map_err(|error| ApiError::unexpected(&error))
}
