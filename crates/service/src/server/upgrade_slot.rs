//! A connection that switches from HTTP to another protocol and keeps its place.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use super::checked_reader::CheckedReader;
use super::connections::ConnectionGuard;
use super::timeouts::TimeoutStream;
use crate::app::current::CurrentApp;
use crate::http::PendingUpgrade;

/// The protocol that a connection switches to after its last response.
#[derive(Clone, Default)]
pub(super) struct UpgradeSlot(Arc<Mutex<Option<Upgrade>>>);

/// The connection after its last response, and the socket that it becomes.
pub(super) struct Upgrade {
    connection: OnUpgrade,
    pending: PendingUpgrade,
}

impl UpgradeSlot {
    pub(super) fn set(&self, connection: OnUpgrade, pending: PendingUpgrade) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Upgrade { connection, pending });
    }

    /// The pending upgrade, if there is one.
    pub(super) fn take(&self) -> Option<Upgrade> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Upgrade {
    /// Starts the socket, in a task of its own: that of the connection ends, with the 2 KB that HTTP needed.
    pub(super) async fn start(self, app: CurrentApp, guard: ConnectionGuard) {
        // Ready immediately, since HTTP is over; it fails if the client left before the response was sent.
        let Ok(upgraded) = self.connection.await else { return };
        let Ok(parts) = upgraded.downcast::<TokioIo<TimeoutStream>>() else { return };
        let CheckedReader { stream, buffered: unread, .. } = parts.io.into_inner().reader;
        // The bytes that the HTTP library had read come before those that were kept back from it. They are copied: its buffer of
        // 8 KB would stay with the socket.
        let read = [&*parts.read_buf, &unread].concat();
        let ConnectionGuard { leave, place, .. } = guard;
        let Some(socket) = self.pending.open(app, stream, read, leave).await else { return };
        drop(tokio::spawn(async move {
            socket.run().await;
            // The connection is closed, and its place is free.
            drop(place);
        }));
    }
}
