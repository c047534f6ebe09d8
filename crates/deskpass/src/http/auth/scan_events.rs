//! The states of a sign-in as server-sent events.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use deskpass_auth::{Error, Poller};
use futures_util::stream;
use tokio::time::timeout;

use crate::App;
use crate::client_limiter::ClientSlot;
use crate::http::auth::scan_state::ScanState;

/// How long the stream is silent before a keep-alive line: proxies close idle connections.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// A comment line, which clients ignore.
const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// The state of a stream.
struct ScanEventStream {
    app: App,
    ticket: String,
    poller: Poller,
    /// The state that was sent last.
    last_state: Option<ScanState>,
    /// The slot of the stream; without one, the state is sent once and the stream ends.
    place: Option<ClientSlot>,
}

/// Streams the state of a sign-in immediately and after each change, until it is final.
pub(crate) fn stream(app: App, ticket: String, poller: Poller, from: IpAddr) -> Body {
    let place = app.event_stream_limiter.acquire(from);
    let events = ScanEventStream { app, ticket, poller, last_state: None, place };
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
            let state = ScanState::from(self.app.auth.poll_ticket(&self.ticket, &self.poller).await?);
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
