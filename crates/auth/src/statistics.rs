//! Statistics of sign-ins.

use deskpass_core::{Digest, Timestamp};
use deskpass_store::{HourlyCounts, SignInStep};

use crate::{Auth, Error, FunnelStep};

impl Auth {
    pub(crate) fn count_step(&self, step: SignInStep) {
        self.store.count_step(step, self.clock.now());
        let step = match step {
            SignInStep::QrShown => FunnelStep::QrShown,
            SignInStep::QrScanned => FunnelStep::QrScanned,
            SignInStep::QrConfirmed => FunnelStep::QrConfirmed,
            SignInStep::QrCollected => FunnelStep::QrCollected,
            // Metrics count these by method and reason.
            SignInStep::SignedIn | SignInStep::Refused => return,
        };
        self.observer.step(step);
    }

    /// Writes the counts of this process to the database, each once, also after a failure.
    pub async fn flush_statistics(&self) -> Result<(), Error> {
        let id = Digest::of(&[&self.entropy.bytes::<32>()?]);
        Ok(self.store.flush_statistics(id, self.clock.now()).await?)
    }

    /// The hourly counts between two times, oldest first. Hours without events are left out.
    pub async fn statistics(&self, from: Timestamp, to: Timestamp) -> Result<Vec<HourlyCounts>, Error> {
        Ok(self.store.statistics(from, to).await?)
    }
}
