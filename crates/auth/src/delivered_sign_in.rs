//! What is kept of a QR sign-in that needs no more: little, where records take the memory of this process.
//!
//! The id in the code leads nowhere once a phone has claimed the sign-in, and is forgotten. After the token was
//! delivered, the sign-in itself is needed while the response may be repeated, and only the phone's question for the
//! outcome remains: the record of the phone's secret answers it, which takes an eighth of the memory. Records in Redis
//! stay as they are and expire there, because each of these changes would cost two round trips.

use deskpass_core::{Digest, OUTCOME_PERIOD, PendingSignIn, ScanId, Secret, Timestamp};
use deskpass_store::{PointerKind, SignInPointer};

use crate::Auth;

impl Auth {
    /// Forgets the id in the code of a sign-in that a phone has claimed.
    pub(crate) async fn forget_scan_id(&self, scan_id: &str) {
        if let Ok(scan_id) = Secret::<ScanId>::parse(scan_id)
            && !self.shared.is_outside()
        {
            drop(self.shared.scan_ids.take(&scan_id.digest(), self.clock.now()).await);
        }
    }

    /// A sign-in whose token was delivered, as it is stored from then on.
    pub(crate) fn trim_delivered(&self, delivered: PendingSignIn) -> PendingSignIn {
        if self.shared.is_outside() { delivered } else { delivered.without_outcome() }
    }

    /// Keeps the outcome of a sign-in with the secret of its phone, after the token was delivered.
    pub(crate) async fn keep_outcome(&self, confirm: Option<Digest>, now: Timestamp) {
        let Some(confirm) = confirm.filter(|_| !self.shared.is_outside()) else { return };
        let (kind, until) = (PointerKind::DeliveredSignIn, now + OUTCOME_PERIOD);
        let delivered = |pointer: SignInPointer| Ok::<_, ()>(SignInPointer { kind, until, ..pointer });
        drop(self.shared.claims.update(&confirm, now, delivered).await);
    }
}
