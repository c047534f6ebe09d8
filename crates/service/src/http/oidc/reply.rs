//! The answers of OAuth 2.0 endpoints.

use axum::body::Body;
use axum::response::Response;
use hyper::HeaderMap;
use hyper::header::{CONTENT_TYPE, HeaderValue, PRAGMA};
use serde::Serialize;

use crate::http::error::ApiError;

/// The number of headers that an answer has in the end, at most.
const HEADERS: usize = 12;

/// A JSON text. No cache keeps it: the dispatcher says so, and RFC 6749 wants the old header besides.
pub(super) fn json_text(text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    // Room for all headers: growing the map step by step is a good part of what a short answer costs.
    *response.headers_mut() = HeaderMap::with_capacity(HEADERS);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(PRAGMA, HeaderValue::from_static("no-cache"));
    response
}

/// A value as JSON.
pub(super) fn json(value: &impl Serialize) -> Result<Response, ApiError> {
    serde_json::to_vec(value).map(json_text).map_err(|error| ApiError::unexpected(&error))
}
