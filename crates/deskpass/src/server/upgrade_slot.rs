//! A connection that goes on as something else than HTTP, in the place that it has.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use super::timeouts::TimeoutStream;
use crate::http::PendingUpgrade;

/// What a connection is to become, once its last answer is out.
#[derive(Clone, Debug, Default)]
pub(super) struct UpgradeSlot(Arc<Mutex<Option<(OnUpgrade, PendingUpgrade)>>>);

impl UpgradeSlot {
    pub(super) fn set(&self, upgrade: OnUpgrade, pending: PendingUpgrade) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((upgrade, pending));
    }

    /// Goes on, if there is anything to go on with, until that is over or the connection is asked to leave.
    pub(super) async fn run(self, leave: &mut oneshot::Receiver<()>) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((upgrade, pending)) = kept else { return };
        // Ready at once, since HTTP is over; it fails where the client left before the answer was out.
        let Ok(upgraded) = upgrade.await else { return };
        if let Ok(parts) = upgraded.downcast::<TokioIo<TimeoutStream>>() {
            let (stream, unread) = parts.io.into_inner().into_parts();
            // What the HTTP library had read came before what was kept from it.
            let read = if unread.is_empty() { parts.read_buf } else { [&*parts.read_buf, &unread].concat().into() };
            Box::pin(pending.run(stream, read, leave)).await;
        }
    }
}
