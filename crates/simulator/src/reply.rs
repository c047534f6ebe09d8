//! HTTP responses.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY};
use http::header::{VARY, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use url::Url;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=UTF-8");
pub(crate) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// The page has one inline style sheet and loads nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

pub(crate) fn respond(status: StatusCode, kind: HeaderValue, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    set(&mut response, CACHE_CONTROL, "no-store");
    set(&mut response, X_CONTENT_TYPE_OPTIONS, "nosniff");
    response
}

pub(crate) fn json(status: StatusCode, body: &Value) -> Response<Bytes> {
    respond(status, JSON, body.to_string())
}

pub(crate) fn page(status: StatusCode, html: String) -> Response<Bytes> {
    let mut response = respond(status, HTML, html);
    set(&mut response, CONTENT_SECURITY_POLICY, POLICY);
    // The service recognises the platform by its origin when the platform's page redirects back.
    set(&mut response, REFERRER_POLICY, "strict-origin");
    set(&mut response, VARY, "accept-language");
    response
}

pub(crate) fn redirect(to: &Url) -> Response<Bytes> {
    let mut response = respond(StatusCode::FOUND, HTML, Bytes::new());
    if let Ok(to) = HeaderValue::from_str(to.as_str()) {
        response.headers_mut().insert(LOCATION, to);
    }
    set(&mut response, REFERRER_POLICY, "strict-origin");
    response
}

/// The response to an invalid request to the control API.
pub(crate) fn bad_request(error: &str) -> Response<Bytes> {
    json(StatusCode::BAD_REQUEST, &json!({ "error": error }))
}

pub(crate) fn not_found() -> Response<Bytes> {
    json(StatusCode::NOT_FOUND, &json!({ "errcode": 404, "errmsg": "the simulated platform has no such page or API" }))
}

pub(crate) fn forbidden(errmsg: &str) -> Response<Bytes> {
    json(StatusCode::FORBIDDEN, &json!({ "errcode": 403, "errmsg": errmsg }))
}

pub(crate) fn too_large() -> Response<Bytes> {
    json(StatusCode::PAYLOAD_TOO_LARGE, &json!({ "errcode": 413, "errmsg": "the body is larger than 64 KiB" }))
}

pub(crate) fn wrong_method(allowed: &[&str]) -> Response<Bytes> {
    let allowed = allowed.join(", ");
    let errmsg = format!("the method must be {allowed}");
    let mut response = json(StatusCode::METHOD_NOT_ALLOWED, &json!({ "errcode": 405, "errmsg": errmsg }));
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

fn set(response: &mut Response<Bytes>, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}
