//! The sweep, which removes records that expired long ago.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::Chore;

use crate::chore_lease::ChoreLease;
use crate::{Auth, Error};

/// The number of rows per batch: small enough not to delay sign-ins, which share the writer.
const SWEEP_BATCH_SIZE: i64 = 500;
/// The most rows of each chain of the audit log that a batch removes. With 20 million rows in SQLite, a row takes 0.2 ms, in which
/// nothing else is written.
const PRUNE_BATCH_SIZE: i64 = 100;
/// The lease of a sweep, which is renewed after each batch, since one may take long. After it, another node may sweep.
const SWEEP_LEASE: Duration = Duration::from_secs(50);
/// How long a sweep begins further batches. A backlog that is left is swept next, after the work that precedes each sweep.
const SWEEP_LIMIT: Duration = Duration::from_secs(40);
/// How long of it goes to the terms of people, of whom an upgrade leaves many, so that some is left for the sweep.
const INDEX_LIMIT: Duration = Duration::from_secs(20);
/// How long nothing is removed after the clock was set: recent records would look as old as the clock was wrong.
pub(crate) const CLOCK_SET_GRACE: Duration = Duration::from_hours(1);

/// What a sweep, or a batch of it, has done.
#[derive(Clone, Copy)]
struct Swept {
    rows: usize,
    /// Whether nothing is left that had expired at the start of the sweep.
    is_complete: bool,
}

impl Auth {
    /// Sweeps and maintains the signing keys, unless another node is at it or has just done so; returns how many rows were removed.
    pub async fn sweep_with_lease(&self) -> Result<usize, Error> {
        // Of this node alone, so without the lease.
        self.log_unsettled_answers().await;
        if self.clock.was_set_within(CLOCK_SET_GRACE) {
            return Ok(0);
        }
        let Some(mut lease) = self.claim(Chore::Sweep, SWEEP_LEASE).await? else { return Ok(0) };
        // Before the sweep, which may take long and keeps other nodes from it. A failure of either does not affect the other.
        let maintained = self.maintain_signing_keys().await;
        let swept = self.sweep_under(&mut lease).await?;
        // Otherwise the lease is kept, so that one sweep a minute is enough for all nodes.
        if !swept.is_complete {
            self.release(lease).await?;
        }
        maintained.map(|()| swept.rows)
    }

    /// Sweeps what has expired by now, while this node has the lease and for a limited time. What expires meanwhile is left: where
    /// records expire all the time, the sweep would not end. Its caller has compared the time with the database's; a clock that is set
    /// during the sweep does not change it.
    async fn sweep_under(&self, lease: &mut ChoreLease) -> Result<Swept, Error> {
        let (began, now) = (self.clock.uptime(), self.sweep_time());
        // Asked after the time was read: a time that was set must not be used.
        if self.clock.was_set_within(CLOCK_SET_GRACE) {
            return Ok(Swept { rows: 0, is_complete: true });
        }
        let within = |limit: Duration| self.clock.uptime().saturating_sub(began) < limit;
        // Rows from before terms existed, and rows that a node of the former version has added.
        while within(INDEX_LIMIT) && self.store.index_terms(SWEEP_BATCH_SIZE).await? > 0 {
            self.renew(lease).await?;
        }
        let mut rows = 0;
        loop {
            let batch = self.sweep_batch(now).await?;
            rows += batch.rows;
            if batch.is_complete || !within(SWEEP_LIMIT) {
                return Ok(Swept { rows, ..batch });
            }
            self.renew(lease).await?;
        }
    }

    /// Removes expired records in small batches; returns how many. An expired session is kept for as long as an ended one is
    /// denied, so that its holder learns why the token is not valid.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let (mut gone, now) = (0, self.sweep_time());
        loop {
            let step = self.sweep_batch(now).await?.rows;
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

    /// Removes a batch of each kind of record.
    async fn sweep_batch(&self, now: Timestamp) -> Result<Swept, Error> {
        let swept = self.store.sweep(now, now - self.policy.session_lifetime, SWEEP_BATCH_SIZE).await?;
        let oldest = now - self.policy.log_retention;
        let pruned = self.store.prune_log(oldest, self.chain_keys.clone(), PRUNE_BATCH_SIZE).await?;
        // Fewer rows than a batch altogether: no kind of record had a full batch. The journal always has some, as long as nodes write.
        let is_complete = pruned == 0 && i64::try_from(swept).is_ok_and(|swept| swept < SWEEP_BATCH_SIZE);
        Ok(Swept { rows: swept + pruned, is_complete })
    }
}
