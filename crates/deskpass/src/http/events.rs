//! The states of a sign-in as server-sent events.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use deskpass_auth::{Error, Poller};
use futures_util::stream;
use tokio::time::timeout;

use super::qr::ScanState;
use crate::Desk;
use crate::tally::Present;

/// How long nothing is said before a line that says nothing: proxies end connections that look dead.
const QUIET: Duration = Duration::from_secs(15);

/// A line that says nothing.
const NOTHING: Bytes = Bytes::from_static(b":\n\n");

/// A stream under way.
struct Telling {
    desk: Desk,
    ticket: String,
    poller: Poller,
    /// What was told last.
    told: Option<ScanState>,
    /// A place to watch from; without one, one look is all.
    place: Option<Present>,
}

/// Tells the state of a sign-in at once and whenever it changes, until it can change no more.
pub(super) fn stream(desk: Desk, ticket: String, poller: Poller, from: IpAddr) -> Body {
    let place = desk.watching.enter(from);
    let telling = Telling { desk, ticket, poller, told: None, place };
    Body::from_stream(stream::unfold(Some(telling), |telling| async {
        let mut telling = telling?;
        // Where nobody can tell, the page asks now and then until somebody can.
        let (piece, over) = telling.next().await.unwrap_or((NOTHING, true));
        Some((Ok::<_, Infallible>(piece), (!over).then_some(telling)))
    }))
}

impl Telling {
    /// The next piece, and whether it is the last.
    async fn next(&mut self) -> Result<(Bytes, bool), Error> {
        loop {
            // Before looking, so that no change falls between looking and waiting.
            let watched = self.desk.auth.watch(&self.ticket).await?;
            let waiting = watched.map(|(changes, remaining)| (changes.next(), remaining));
            let state = ScanState::from(self.desk.auth.poll(&self.ticket, &self.poller).await?);
            if self.told.as_ref() != Some(&state) {
                let over = matches!(state.status, "confirmed" | "expired") || self.place.is_none();
                self.told = Some(state.clone());
                return Ok((event(&state), over));
            }
            let Some((next, remaining)) = waiting else { continue };
            tokio::select! {
                waited = timeout(QUIET.min(remaining), next) => {
                    if waited.is_err() && remaining > QUIET {
                        return Ok((NOTHING, false));
                    }
                }
                // The page asks again, and whoever answers then goes on telling.
                () = self.desk.drained() => return Ok((NOTHING, true)),
            }
        }
    }
}

fn event(state: &ScanState) -> Bytes {
    // Texts and words cannot fail to be rendered.
    let json = serde_json::to_string(state).unwrap_or_default();
    format!("event: status\ndata: {json}\n\n").into()
}
