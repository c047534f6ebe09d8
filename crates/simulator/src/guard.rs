//! Rejects requests from pages of other sites: this platform asks for no password, and browsers reach it from any page.

use bytes::Bytes;
use deskpass_core::HostNames;
use http::header::{HOST, HeaderName, ORIGIN};
use http::{HeaderMap, Method, Request, Response};

use crate::reply;

/// The rejection of a request that names a host other than this platform's (DNS rebinding), or that a page of another site
/// sends to change something. Sign-in pages are reached from everywhere, by GET.
pub(crate) fn refuse(hosts: &HostNames, request: &Request<Bytes>) -> Option<Response<Bytes>> {
    let headers = request.headers();
    let mut named = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
    // Browsers always send exactly one host.
    let known = named.all(|host| hosts.contains(host)) && headers.get_all(HOST).iter().count() < 2;
    if !known {
        return Some(reply::forbidden("the simulated platform does not accept this host name; add it with --host"));
    }
    let safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    let site = HeaderName::from_static("sec-fetch-site");
    let cross_site = !safe && hosts.is_cross_site(text(headers, &HOST), text(headers, &site), text(headers, &ORIGIN));
    cross_site.then(|| reply::forbidden("pages of other sites may not make this request"))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}
