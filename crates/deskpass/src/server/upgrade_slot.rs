//! A connection that switches from HTTP to another protocol and keeps its place.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use super::checked_reader::CheckedReader;
use super::timeouts::TimeoutStream;
use crate::app::current::CurrentApp;
use crate::http::PendingUpgrade;

/// The protocol that a connection switches to after its last response.
#[derive(Clone, Default)]
pub(super) struct UpgradeSlot(Arc<Mutex<Option<(OnUpgrade, PendingUpgrade)>>>);

impl UpgradeSlot {
    pub(super) fn set(&self, upgrade: OnUpgrade, pending: PendingUpgrade) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((upgrade, pending));
    }

    /// Runs the pending upgrade, if there is one, until it ends or the connection is asked to close.
    pub(super) async fn run(self, app: CurrentApp, leave: &mut oneshot::Receiver<()>) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((upgrade, pending)) = kept else { return };
        // Ready immediately, since HTTP is over; it fails if the client left before the response was sent.
        let Ok(upgraded) = upgrade.await else { return };
        if let Ok(parts) = upgraded.downcast::<TokioIo<TimeoutStream>>() {
            let CheckedReader { stream, buffered: unread, .. } = parts.io.into_inner().reader;
            // The bytes that the HTTP library had read come before those that were kept back from it. They are copied: its buffer of
            // 8 KB would stay with the socket.
            let read = [&*parts.read_buf, &unread].concat();
            Box::pin(pending.run(app, stream, read, leave)).await;
        }
    }
}
