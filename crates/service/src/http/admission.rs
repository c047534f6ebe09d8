//! Rejects requests before routing: on reserve connections, and of untrusted proxies. One behind a trusted proxy is recorded.

use std::net::IpAddr;

use axum::extract::Request;
use deskpass_core::{is_private, unlisted_proxy};

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{ReserveConnection, X_FORWARDED_FOR, forwarded_for};
use crate::untrusted_proxies::ForwardOutcome;

/// The routes whose response does not depend on the client's address.
const HEALTH_PATHS: [&str; 4] = ["/healthz", "/api/ready", "/version", "/api/version"];

/// The operators' route that a reserve connection serves as well.
const METRICS_PATH: &str = "/metrics";

/// Whether a route serves requests of an untrusted proxy: only where the client's address does not matter.
pub(crate) fn allows_untrusted_proxy(path: &str) -> bool {
    HEALTH_PATHS.contains(&path)
}

/// Why a request is rejected, independent of its route.
///
/// A private peer that sends `X-Forwarded-For` and is not trusted is almost always a proxy that the settings do not list.
/// Ignoring the header would count all its clients as one, and let them read `/metrics` as if they were the proxy.
pub(crate) fn check(app: &App, peer: IpAddr, request: &Request) -> Option<ApiError> {
    let path = request.uri().path();
    if request.extensions().get::<ReserveConnection>().is_some()
        && !HEALTH_PATHS.contains(&path)
        && path != METRICS_PATH
    {
        return Some(ApiError::TooManyConnections);
    }
    if !request.headers().contains_key(X_FORWARDED_FOR) || allows_untrusted_proxy(path) {
        return None;
    }
    if app.trusted.contains(peer) {
        let forwarded = forwarded_for(request.headers());
        if let Some(hop) = unlisted_proxy(peer, forwarded.iter().map(|value| &**value), &app.trusted) {
            note(app, hop, ForwardOutcome::LetThrough);
        }
        return None;
    }
    if !is_private(peer) {
        return None;
    }
    note(app, peer.to_canonical(), ForwardOutcome::Refused);
    Some(ApiError::UntrustedProxy)
}

fn note(app: &App, address: IpAddr, outcome: ForwardOutcome) {
    app.metrics.untrusted_proxy_requests.inc();
    app.untrusted_proxies.note(address, outcome, app.auth.clock.now());
}
