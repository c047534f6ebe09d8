//! The sweep, which removes records that expired long ago.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::Chore;

use crate::chore_lease::ChoreLease;
use crate::{Auth, Error};

/// The number of rows per batch: small enough not to delay sign-ins, which share the writer.
const SWEEP_BATCH_SIZE: i64 = 500;
/// The lease of a sweep, which is renewed after each batch, since a backlog takes long. After it, another node may sweep.
const SWEEP_LEASE: Duration = Duration::from_secs(50);
/// How long nothing is removed after the clock was set: recent records would look as old as the clock was wrong.
pub(crate) const CLOCK_SET_GRACE: Duration = Duration::from_hours(1);

impl Auth {
    /// Sweeps and maintains the signing keys, unless another node is at it or has just done so; returns how many rows were removed.
    pub async fn sweep_with_lease(&self) -> Result<usize, Error> {
        if self.clock.was_set_within(CLOCK_SET_GRACE) {
            return Ok(0);
        }
        // The lease is not released, so that one sweep a minute is enough for all nodes.
        let Some(mut lease) = self.claim(Chore::Sweep, SWEEP_LEASE).await? else { return Ok(0) };
        // Before the sweep, which may take long and keeps other nodes from it. A failure of either does not affect the other.
        let maintained = self.maintain_signing_keys().await;
        let swept = self.sweep_under(&mut lease).await?;
        maintained.map(|()| swept)
    }

    /// Sweeps while this node has the lease. Ends early when the clock is set meanwhile.
    async fn sweep_under(&self, lease: &mut ChoreLease) -> Result<usize, Error> {
        // Rows from before terms existed, and rows that a node of the former version has added.
        while self.store.index_terms(SWEEP_BATCH_SIZE).await? > 0 {
            self.renew(lease).await?;
        }
        let mut gone = 0;
        loop {
            let now = self.sweep_time();
            // Asked after the time was read: a time that was set must not be used.
            let is_set = self.clock.was_set_within(CLOCK_SET_GRACE);
            let step = if is_set { 0 } else { self.sweep_batch(now).await? };
            gone += step;
            if step == 0 {
                return Ok(gone);
            }
            self.renew(lease).await?;
        }
    }

    /// Removes expired records in small batches; returns how many. An expired session is kept for as long as an ended one is
    /// denied, so that its holder learns why the token is not valid.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let mut gone = 0;
        loop {
            let step = self.sweep_batch(self.sweep_time()).await?;
            gone += step;
            if step == 0 {
                return Ok(gone);
            }
        }
    }

    /// The time by which records have expired. The service's clock may start ahead of the machine's, and a record must be old by both.
    fn sweep_time(&self) -> Timestamp {
        self.clock.now().min(self.clock.wall())
    }

    /// Removes a batch of each kind of record; returns how many.
    async fn sweep_batch(&self, now: Timestamp) -> Result<usize, Error> {
        let swept = self.store.sweep(now, now - self.policy.session_lifetime, SWEEP_BATCH_SIZE).await?;
        let oldest = now - self.policy.log_retention;
        Ok(swept + self.store.prune_log(oldest, self.chain_keys.clone(), SWEEP_BATCH_SIZE).await?)
    }
}
