//! The states of a sign-in as server-sent events.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use deskpass_auth::{Error, Poller, TicketStatus};
use deskpass_core::PersonPreview;
use futures_util::stream;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;

use crate::App;
use crate::client_limiter::ClientSlot;
use crate::http::request::SigningInBrowser;
use crate::http::response::EarlyEndName;

/// How long the stream is silent before a keep-alive line: proxies close idle connections.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// A comment line, which clients ignore.
const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// The state of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct ScanState {
    #[schemars(extend("enum" = ["waiting", "scanned", "confirmed", "expired"]))]
    status: &'static str,
    employee_id: Option<String>,
    name: Option<String>,
    token: Option<String>,
    /// Why the sign-in ended before its time; missing unless it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<EarlyEndName>,
}

impl From<TicketStatus> for ScanState {
    fn from(poll: TicketStatus) -> Self {
        let reason = if let TicketStatus::Ended(why) = poll { Some(EarlyEndName(why)) } else { None };
        let (status, who, token) = match poll {
            TicketStatus::Waiting => ("waiting", None, None),
            TicketStatus::Scanned(who) => ("scanned", Some(who), None),
            TicketStatus::Confirmed(who, token) => ("confirmed", Some(who), Some(token.expose().to_owned())),
            TicketStatus::Expired | TicketStatus::Ended(_) => ("expired", None, None),
        };
        let (employee_id, name) = who.map(|PersonPreview { employee_id, name }| (employee_id, name)).unzip();
        Self { status, employee_id, name, token, reason }
    }
}

/// The state of a stream.
struct ScanEventStream {
    app: App,
    ticket: String,
    poller: Poller,
    browser: SigningInBrowser,
    /// The state that was sent last.
    last_state: Option<ScanState>,
    /// The slot of the stream; without one, the state is sent once and the stream ends.
    place: Option<ClientSlot>,
}

/// Streams the state of a sign-in immediately and after each change, until it is final.
pub(crate) fn stream(app: App, ticket: String, poller: Poller, browser: SigningInBrowser, from: IpAddr) -> Body {
    let place = app.event_stream_limiter.acquire(from);
    let events = ScanEventStream { app, ticket, poller, browser, last_state: None, place };
    Body::from_stream(stream::unfold(Some(events), |events| async {
        let mut events = events?;
        // On an error the stream ends, and the page polls until the state can be read again.
        let (piece, over) = events.next().await.unwrap_or((KEEP_ALIVE, true));
        Some((Ok::<_, Infallible>(piece), (!over).then_some(events)))
    }))
}

impl ScanEventStream {
    /// Returns the next chunk, and whether it is the last.
    async fn next(&mut self) -> Result<(Bytes, bool), Error> {
        loop {
            // Subscribes before it reads the state, so that no change is missed in between.
            let watched = self.app.auth.watch_ticket(&self.ticket).await?;
            let waiting = watched.map(|(changes, remaining)| (changes.next(), remaining));
            let status = self.app.auth.poll_ticket(&self.ticket, &self.poller).await?;
            if let TicketStatus::Confirmed(_, token) = &status {
                self.browser.signed_in(&self.app, token.digest()).await;
            }
            let state = ScanState::from(status);
            if self.last_state.as_ref() != Some(&state) {
                let over = matches!(state.status, "confirmed" | "expired") || self.place.is_none();
                self.last_state = Some(state.clone());
                return Ok((event(&state), over));
            }
            let Some((next, remaining)) = waiting else { continue };
            tokio::select! {
                waited = timeout(KEEP_ALIVE_INTERVAL.min(remaining), next) => {
                    if waited.is_err() && remaining > KEEP_ALIVE_INTERVAL {
                        return Ok((KEEP_ALIVE, false));
                    }
                }
                // The page reconnects, and the node that accepts the connection continues the stream.
                () = self.app.draining_started() => return Ok((KEEP_ALIVE, true)),
            }
        }
    }
}

fn event(state: &ScanState) -> Bytes {
    // Serializing strings cannot fail.
    let json = serde_json::to_string(state).unwrap_or_default();
    format!("event: status\ndata: {json}\n\n").into()
}
