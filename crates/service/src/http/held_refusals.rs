//! Holds back the refusals of a full password queue, so that clients that come back at once come once a second.
//!
//! Such a refusal asks the client to retry after a second. Clients that do not wait would cause tens of thousands of
//! refusals a second on a few hundred connections, and all other requests would wait for the processors. A held refusal
//! costs a timer and the place of its connection. To pause the connection after an immediate refusal would not do: a
//! proxy has the next request of another client on it.

use std::net::IpAddr;
use std::time::Duration;

use axum::response::Response;
use deskpass_auth::Refusal;
use tokio::time::sleep;

use crate::App;
use crate::http::error::ApiError;

/// How long a refusal is held: the time after which it asks the client to retry.
const HOLD_TIME: Duration = Duration::from_secs(1);

/// Returns the response, late if it is the refusal of a full password queue. It is not held beyond the limit on held
/// connections, nor when the service stops.
pub(crate) async fn hold(app: &App, peer: IpAddr, response: Response) -> Response {
    let place = is_queue_full(&response).then(|| app.held_refusal_limiter.acquire(peer)).flatten();
    if place.is_some() {
        tokio::select! {
            () = sleep(HOLD_TIME) => {}
            () = app.draining_started() => {}
        }
    }
    response
}

fn is_queue_full(response: &Response) -> bool {
    matches!(response.extensions().get(), Some(ApiError::Refused(Refusal::Busy)))
}
