//! The outcome of a sign-in, for the page of the phone that confirmed it.

use std::time::Duration;

use deskpass_auth::{Error, ScanOutcome};
use deskpass_core::ClientInfo;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{FromFields, JsonBody};
use crate::http::response::Reply;

/// How long a response waits for the browser to collect the token: shorter than the timeout of the page.
const OUTCOME_WAIT_LIMIT: Duration = Duration::from_secs(10);

/// The request of the phone's page for the outcome of a sign-in.
#[derive(Debug, FromFields)]
pub(crate) struct ScanOutcomeBody {
    confirm: String,
    /// Whether the response waits, for up to ten seconds, while the computer has not collected the session; `false` unless given.
    #[field(default = false)]
    wait: bool,
}

/// The outcome of a sign-in.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ScanOutcome")]
pub(crate) struct ScanOutcomeReply {
    #[schemars(extend("enum" = ["undecided", "confirmed", "signed_in"]))]
    status: &'static str,
}

/// Returns whether the computer has collected the session that the phone confirmed.
pub(crate) async fn outcome(
    app: App,
    visitor: ClientInfo,
    JsonBody(input): JsonBody<ScanOutcomeBody>,
) -> Result<Reply<ScanOutcomeReply>, ApiError> {
    // A request that waits takes the place of an event stream; where all are taken, the response does not wait.
    let place = input.wait.then(|| app.event_stream_limiter.acquire(visitor.address.decided)).flatten();
    let confirm = &input.confirm;
    let outcome = if place.is_some() { settled(&app, confirm).await? } else { app.auth.scan_outcome(confirm).await? };
    let status = match outcome {
        ScanOutcome::Undecided => "undecided",
        ScanOutcome::Confirmed => "confirmed",
        ScanOutcome::SignedIn => "signed_in",
    };
    Ok(Reply(ScanOutcomeReply { status }))
}

/// Waits for the outcome, but not when the service stops: the page asks again, and another node continues.
async fn settled(app: &App, confirm: &str) -> Result<ScanOutcome, Error> {
    tokio::select! {
        outcome = app.auth.await_scan_outcome(confirm, OUTCOME_WAIT_LIMIT) => outcome,
        () = app.draining_started() => app.auth.scan_outcome(confirm).await,
    }
}
