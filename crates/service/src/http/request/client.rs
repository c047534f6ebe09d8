//! The address and the user agent of the client.

use std::borrow::Cow;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use deskpass_core::{ClientAddress, ClientInfo, UserAgent};
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, RequestContext, RequestTrace};

/// The header in which proxies name their client.
pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of the client. No other code reads the header for access decisions.
pub(crate) fn client_address<'a>(
    app: &App,
    peer: IpAddr,
    forwarded: impl Iterator<Item = &'a HeaderValue>,
) -> ClientAddress {
    let forwarded: Vec<_> = forwarded.map(lossy_text).collect();
    ClientAddress::read(peer, forwarded.iter().map(|value| &**value), &app.trusted)
}

/// The values of the header.
pub(crate) fn forwarded_for(headers: &HeaderMap) -> Vec<Cow<'_, str>> {
    headers.get_all(X_FORWARDED_FOR).iter().map(lossy_text).collect()
}

/// A value as text. Items that are not UTF-8 may be lost; the entry of the proxy itself never is.
fn lossy_text(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// The address that decides about access and limits.
pub(crate) fn client_ip(parts: &Parts, context: &RequestContext) -> IpAddr {
    client_address(&context.app, context.peer, parts.headers.get_all(X_FORWARDED_FOR).iter()).decided
}

impl FromRequestParts<RequestContext> for ClientInfo {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let forwarded = parts.headers.get_all(X_FORWARDED_FOR).iter();
        let address = client_address(&context.app, context.peer, forwarded);
        let agent = parts.headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
        let (user_agent, reference) = (UserAgent::from_header(agent), Some(context.trace.reference));
        Ok(Self { address, user_agent, reference })
    }
}

impl DescribeInput for ClientInfo {}

impl FromRequestParts<RequestContext> for RequestTrace {
    type Rejection = ApiError;
    async fn from_request_parts(_: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(context.trace.clone())
    }
}

impl DescribeInput for RequestTrace {}
