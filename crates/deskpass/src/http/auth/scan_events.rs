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

/// How long nothing is said before a line that says nothing: proxies end connections that look dead.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// A line that says nothing.
const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// A stream under way.
struct ScanEventStream {
    app: App,
    ticket: String,
    poller: Poller,
    /// What was told last.
    last_state: Option<ScanState>,
    /// A place to watch from; without one, one look is all.
    place: Option<ClientSlot>,
}

/// Tells the state of a sign-in at once and whenever it changes, until it can change no more.
pub(crate) fn stream(app: App, ticket: String, poller: Poller, from: IpAddr) -> Body {
    let place = app.event_stream_limiter.acquire(from);
    let events = ScanEventStream { app, ticket, poller, last_state: None, place };
    Body::from_stream(stream::unfold(Some(events), |events| async {
        let mut events = events?;
        // Where nobody can tell, the page asks now and then until somebody can.
        let (piece, over) = events.next().await.unwrap_or((KEEP_ALIVE, true));
        Some((Ok::<_, Infallible>(piece), (!over).then_some(events)))
    }))
}

impl ScanEventStream {
    /// The next piece, and whether it is the last.
    async fn next(&mut self) -> Result<(Bytes, bool), Error> {
        loop {
            // Before looking, so that no change falls between looking and waiting.
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
                // The page asks again, and whoever answers then goes on telling.
                () = self.app.draining_started() => return Ok((KEEP_ALIVE, true)),
            }
        }
    }
}

fn event(state: &ScanState) -> Bytes {
    // Texts and words cannot fail to be rendered.
    let json = serde_json::to_string(state).unwrap_or_default();
    format!("event: status\ndata: {json}\n\n").into()
}
