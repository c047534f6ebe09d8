//! Removes what has long expired.

use std::time::Duration;

use crate::{Auth, Error};

/// How many rows a sweep removes at once: few enough to share the writer with sign-ins unnoticed.
const SWEEP_BATCH_SIZE: i64 = 500;
/// How long the node that sweeps has done it for all.
const SWEEP_LEASE: Duration = Duration::from_secs(50);
/// How long nothing goes for its age after the clock was set: what happened minutes before looks as old as the clock was wrong.
pub(crate) const CLOCK_SET_GRACE: Duration = Duration::from_hours(1);

impl Auth {
    /// Removes what has long expired, unless another node has just done so; returns how much went.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sweep_with_lease(&self) -> Result<usize, Error> {
        let now = self.clock.now();
        if self.clock.was_set_within(CLOCK_SET_GRACE) {
            return Ok(0);
        }
        if !self.store.claim_sweep(now, now + SWEEP_LEASE).await? {
            return Ok(0);
        }
        // People from before there were terms, and those whom a node of the version before has entered.
        while self.store.index_terms(SWEEP_BATCH_SIZE).await? > 0 {}
        self.sweep().await
    }

    /// Removes what has long expired, in small steps; returns how much went. An expired session is kept for as long as an
    /// ended one is denied, so that its holder is told what became of it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let mut gone = 0;
        loop {
            // Our clock may begin ahead of the machine's, by what stands in a table. What goes for its age must be old by both.
            let now = self.clock.now().min(self.clock.wall());
            let step = self.store.sweep(now, now - self.policy.session_lifetime, SWEEP_BATCH_SIZE).await?;
            let step = step
                + self
                    .store
                    .prune_log(now - self.policy.log_retention, self.chain_key.clone(), SWEEP_BATCH_SIZE)
                    .await?;
            gone += step;
            if step == 0 {
                return Ok(gone);
            }
        }
    }
}
