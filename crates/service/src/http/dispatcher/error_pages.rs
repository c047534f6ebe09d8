//! The lines about requests of OpenID Connect clients that ended on an error page.

use std::net::IpAddr;

use deskpass_core::Reference;

use crate::App;
use crate::http::response::ErrorPageCause;

/// Writes a line about a request that ended on an error page: nothing else says why, and the program cannot be told.
pub(super) fn log(app: &App, cause: ErrorPageCause, address: IpAddr, reference: Reference, request_id: &str) {
    if !app.failure_log.admits_anonymous_refusal(address, app.auth.clock.now()) {
        return;
    }
    let ErrorPageCause { reason, client_id, redirect_uri } = cause;
    let (client_id, redirect_uri) = (client_id.as_deref(), redirect_uri.as_deref());
    tracing::info!(reason, client_id, redirect_uri, %reference, request_id, "a request of a client ended on an error page");
}
