//! What is refused before a request reaches its route: requests on a reserve connection, and those of a proxy that is not
//! trusted. One that is not trusted and stands behind a trusted one is noted.

use std::net::IpAddr;

use axum::extract::Request;
use deskpass_core::{is_private, unlisted_hop};

use super::extract::{FORWARDED, forwarded};
use super::failure::Failure;
use crate::Desk;
use crate::untrusted::Treated;

/// Marks a request on a connection from the reserve, which is for health checks and operators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnReserve;

/// The routes whose answer does not depend on the client's address.
const HEALTH: [&str; 4] = ["/healthz", "/api/ready", "/version", "/api/version"];

/// The route for operators that a reserve connection serves, too.
const METRICS: &str = "/metrics";

/// Whether a route answers a proxy that is not trusted: only where no address is needed.
pub(super) fn answers_untrusted(path: &str) -> bool {
    HEALTH.contains(&path)
}

/// Why a request is refused, whatever it asks for.
///
/// A private peer that sends `X-Forwarded-For` and is not trusted is almost always a proxy that the settings do not list.
/// Ignoring the header would count all its clients as one, and let them read `/metrics` as if they were the proxy.
pub(super) fn refusal(desk: &Desk, peer: IpAddr, request: &Request) -> Option<Failure> {
    let path = request.uri().path();
    if request.extensions().get::<OnReserve>().is_some() && !HEALTH.contains(&path) && path != METRICS {
        return Some(Failure::TooManyConnections);
    }
    if !request.headers().contains_key(FORWARDED) || answers_untrusted(path) {
        return None;
    }
    if desk.trusted.contain(peer) {
        let forwarded = forwarded(request.headers());
        if let Some(hop) = unlisted_hop(peer, forwarded.iter().map(|value| &**value), &desk.trusted) {
            note(desk, hop, Treated::LetThrough);
        }
        return None;
    }
    if !is_private(peer) {
        return None;
    }
    note(desk, peer.to_canonical(), Treated::Refused);
    Some(Failure::UntrustedProxy)
}

fn note(desk: &Desk, address: IpAddr, treated: Treated) {
    desk.metrics.untrusted_proxy();
    desk.untrusted.note(address, treated, desk.auth.clock.now());
}
