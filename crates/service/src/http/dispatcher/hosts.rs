//! Under which host names the service answers.
//!
//! A foreign page can make a name of its own resolve to the service (DNS rebinding). To the browser both
//! are one origin then, and only the name tells them apart.

use std::net::IpAddr;

use hyper::header::{COOKIE, HOST, HeaderMap, HeaderValue, ORIGIN};

use crate::App;
use crate::http::route::Route;

/// Whether the service answers a request under the host that it names.
pub(super) fn accepts(app: &App, peer: IpAddr, route: Option<&Route>, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    if is_listed(app, host) {
        return true;
    }
    if app.settings.development.enabled {
        return false;
    }
    if route.is_some_and(|route| route.any_host) {
        return true;
    }
    // For this version only, so that an upgrade cuts no proxy and no program off: later ones refuse every name that is not listed.
    let is_tolerated = app.trusted.contains(peer) || !is_of_browser(headers);
    if is_tolerated && let Some(host) = host {
        app.unlisted_hosts.note(&String::from_utf8_lossy(host), app.auth.clock.now());
    }
    is_tolerated
}

/// Whether a host is one of the service's own. Browsers always send one. An absolute target names the
/// same host: other requests were rejected before.
pub(super) fn is_listed(app: &App, host: Option<&[u8]>) -> bool {
    host.is_none_or(|host| str::from_utf8(host).is_ok_and(|host| app.hosts.contains(host)))
}

/// Whether a request has a header that browsers send, and programs do not.
fn is_of_browser(headers: &HeaderMap) -> bool {
    let is_fetch_metadata = || headers.keys().any(|name| name.as_str().starts_with("sec-fetch-"));
    headers.contains_key(ORIGIN) || headers.contains_key(COOKIE) || is_fetch_metadata()
}
