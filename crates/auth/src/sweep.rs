//! The sweep, which removes records that expired long ago.

use std::time::Duration;

use deskpass_store::Chore;

use crate::{Auth, Error};

/// The number of rows per batch: small enough not to delay sign-ins, which share the writer.
const SWEEP_BATCH_SIZE: i64 = 500;
/// The lease of a sweep: after it, another node may sweep.
const SWEEP_LEASE: Duration = Duration::from_secs(50);
/// How long nothing is removed after the clock was set: recent records would look as old as the clock was wrong.
pub(crate) const CLOCK_SET_GRACE: Duration = Duration::from_hours(1);

impl Auth {
    /// Sweeps and maintains the signing keys, unless another node has just done so; returns how many rows were removed.
    pub async fn sweep_with_lease(&self) -> Result<usize, Error> {
        let now = self.clock.now();
        if self.clock.was_set_within(CLOCK_SET_GRACE)
            || !self.store.claim_chore(Chore::Sweep, now, now + SWEEP_LEASE).await?
        {
            return Ok(0);
        }
        // Rows from before terms existed, and rows that a node of the former version has added.
        while self.store.index_terms(SWEEP_BATCH_SIZE).await? > 0 {}
        let swept = self.sweep().await?;
        self.maintain_signing_keys().await?;
        Ok(swept)
    }

    /// Removes expired records in small batches; returns how many. An expired session is kept for as long as an ended one is
    /// denied, so that its holder learns why the token is not valid.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let mut gone = 0;
        loop {
            // The service's clock may start ahead of the machine's. A record must be old by both.
            let now = self.clock.now().min(self.clock.wall());
            let swept = self.store.sweep(now, now - self.policy.session_lifetime, SWEEP_BATCH_SIZE).await?;
            let oldest = now - self.policy.log_retention;
            let step = swept + self.store.prune_log(oldest, self.chain_keys.clone(), SWEEP_BATCH_SIZE).await?;
            gone += step;
            if step == 0 {
                return Ok(gone);
            }
        }
    }
}
