//! Accepts connections.
//!
//! `axum::serve` has no limit on connections, no deadline for a head, and no way to close the connection that has waited longest.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::sleep;

use super::connection::serve;
use super::slots::Slots;
use crate::app::current::CurrentApp;
use crate::http::Dispatcher;

/// The pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections for as long as it is polled.
pub(super) async fn accept(mut app: CurrentApp, listener: &TcpListener, slots: &Slots) {
    let dispatcher = Arc::new(Dispatcher::new(&app));
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                if let Some(slot) = slots.admit(app.refresh(), peer.ip()) {
                    drop(tokio::spawn(serve(stream, peer.ip(), Arc::clone(&dispatcher), app.clone(), slot)));
                }
            }
            Err(error) => {
                // Usually the process is out of file descriptors, and some become free later.
                tracing::warn!(%error, "cannot accept a connection");
                slots.evict_on_exhaustion(&error);
                sleep(PAUSE).await;
            }
        }
    }
}
