//! The WebSocket handshake: RFC 6455.

use axum::extract::FromRequestParts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Version};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use url::{Host, Url};

use crate::App;
use crate::http::error::{ApiError, BadRequest};
use crate::http::request::{DescribeInput, RequestContext};

/// A valid handshake from an allowed origin.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// The value of `Sec-WebSocket-Accept`.
    pub(super) accept: HeaderValue,
}

impl FromRequestParts<RequestContext> for Handshake {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        if !is_allowed_origin(&context.app, &parts.headers) {
            return Err(ApiError::ForeignOrigin);
        }
        let headers = &parts.headers;
        let asks = lists(headers, UPGRADE, "websocket") && lists(headers, CONNECTION, "upgrade");
        let version = headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
        if !asks || !version || parts.version != Version::HTTP_11 {
            return Err(BadRequest::NotAHandshake.into());
        }
        // A body would have to end before the first frame, and implementations disagree on where that is.
        let bare = headers.get_all(CONTENT_LENGTH).iter().all(|length| length == "0");
        if !bare || headers.contains_key(TRANSFER_ENCODING) {
            return Err(BadRequest::HandshakeBody.into());
        }
        Ok(Self { accept: accept(headers).ok_or(BadRequest::HandshakeKey)? })
    }
}

impl DescribeInput for Handshake {}

/// Whether a header lists this word.
fn lists(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let mut values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.split(',').any(|listed| listed.trim().eq_ignore_ascii_case(word)))
}

/// The response to a client's key; `None` unless there is exactly one valid key.
fn accept(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).iter();
    let (key, None) = (keys.next()?, keys.next()) else { return None };
    if STANDARD.decode(key.as_bytes()).ok()?.len() != 16 {
        return None;
    }
    HeaderValue::try_from(derive_accept_key(key.as_bytes())).ok()
}

/// Whether the origin is of a page where users sign in. Browsers always send it, and pages cannot forge it; programs send none.
fn is_allowed_origin(app: &App, headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let Some(origin) = origins.next() else { return true };
    let (Ok(origin), None) = (origin.to_str(), origins.next()) else { return false };
    let settings = &app.settings;
    *origin == *settings.public_url
        || settings.redirect_origins.iter().any(|listed| **listed == *origin)
        || settings.development.enabled && is_local_origin(origin, headers)
}

/// Whether the origin is this machine or the host of the request, which is sufficient for development.
fn is_local_origin(origin: &str, headers: &HeaderMap) -> bool {
    let Ok(url) = Url::parse(origin) else { return false };
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let same_host = host.is_some_and(|host| origin.strip_prefix("http://").is_some_and(|rest| rest == host));
    loopback || same_host
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn keys(keys: &[&str]) -> HeaderMap {
        keys.iter().map(|key| (SEC_WEBSOCKET_KEY, HeaderValue::from_str(key).unwrap())).collect()
    }

    #[test]
    fn the_example_of_the_rfc_is_answered_as_there() {
        assert_eq!(accept(&keys(&["dGhlIHNhbXBsZSBub25jZQ=="])).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn what_is_no_key_is_not_answered() {
        let good = "dGhlIHNhbXBsZSBub25jZQ==";
        for bad in [&[][..], &[""], &["dGhlIHNhbXBsZSBub25jZQ"], &["AAAA"], &[good, good]] {
            assert_eq!(accept(&keys(bad)), None, "{bad:?}");
        }
    }
}
