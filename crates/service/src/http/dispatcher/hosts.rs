//! Under which host names the service answers.
//!
//! A foreign page can make a name of its own resolve to the service (DNS rebinding). To the browser both
//! are one origin then, and only the name tells them apart.

use std::net::IpAddr;

use hyper::header::{ACCEPT_LANGUAGE, COOKIE, HOST, HeaderMap, HeaderValue, ORIGIN, USER_AGENT};

use crate::App;
use crate::http::request::{X_FORWARDED_FOR, client_address};
use crate::http::route::Route;

/// Whether the service answers a request under the host that it names.
pub(super) fn accepts(app: &App, peer: IpAddr, route: Option<&Route>, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    if is_listed(app, host) {
        return true;
    }
    let is_development = app.settings.development.enabled;
    if !is_development && route.is_some_and(|route| route.any_host) {
        return true;
    }
    // For this version only, so that an upgrade cuts no program off: later ones refuse every name that is not listed. A browser is
    // refused also where its request comes through a proxy, or from this machine: both may be a foreign page's.
    let is_tolerated = !is_development && !is_of_browser(headers);
    app.metrics.count_unlisted_host(is_tolerated);
    if is_tolerated && let Some(host) = host {
        let client = client_address(app, peer, headers.get_all(X_FORWARDED_FOR).iter()).decided;
        app.unlisted_hosts.note(&String::from_utf8_lossy(host), client, app.auth.clock.now());
    }
    is_tolerated
}

/// Whether a host is one of the service's own. Browsers always send one. An absolute target names the
/// same host: other requests were rejected before.
pub(super) fn is_listed(app: &App, host: Option<&[u8]>) -> bool {
    host.is_none_or(|host| str::from_utf8(host).is_ok_and(|host| app.hosts.contains(host)))
}

/// Whether a request has a header that browsers send, and programs do not. Under plain http a page that reads its own origin causes
/// neither `Sec-Fetch-Site` nor `Origin`; but it cannot leave out `Accept-Language`. Programs on Node.js send `*` there.
fn is_of_browser(headers: &HeaderMap) -> bool {
    let is_mozilla = || headers.get(USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Mozilla/"));
    let has_language = headers.get(ACCEPT_LANGUAGE).is_some_and(|language| language != "*" || is_mozilla());
    has_language
        || [ORIGIN, COOKIE].iter().any(|name| headers.contains_key(name))
        || headers.contains_key("sec-fetch-site")
}
