//! The lines about requests of OpenID Connect clients that went wrong.

use std::net::IpAddr;

use deskpass_core::Reference;

use crate::App;
use crate::http::response::{ClientMistake, MistakeOutcome};

/// Writes a line about a request that went wrong: nothing else says why, and the program shows its error to users at most. Strangers can
/// send such requests, so the lines are limited as other anonymous refusals are.
pub(super) fn log(app: &App, mistake: ClientMistake, address: IpAddr, reference: Reference, request_id: &str) {
    if !app.failure_log.admits_anonymous_refusal(address, app.auth.clock.now()) {
        return;
    }
    let ClientMistake { outcome, client_id, redirect_uri } = mistake;
    let (client_id, redirect_uri) = (client_id.as_deref(), redirect_uri.as_deref());
    match outcome {
        MistakeOutcome::ErrorPage(reason) => {
            tracing::info!(reason, client_id, redirect_uri, %reference, request_id, "a request of a client ended on an error page");
        }
        MistakeOutcome::Returned(error) => {
            let (reason, description) = (error.code.name(), &*error.description);
            tracing::info!(reason, description, client_id, redirect_uri, %reference, request_id, "a request of a client was refused");
        }
        MistakeOutcome::PostLogoutAddress => {
            tracing::info!(client_id, redirect_uri, %reference, request_id, "a post-logout address is not registered for its client");
        }
    }
}
