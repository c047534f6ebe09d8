//! The lease on a chore: while a node has it, no other node begins the same work. All nodes go by the database's time.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::Chore;

use crate::{Auth, Error, InternalError};

/// A lease, which must be renewed from time to time, so that it can be short: the work of a node that died is soon taken over.
#[derive(Debug)]
pub(crate) struct ChoreLease {
    chore: Chore,
    length: Duration,
    until: Timestamp,
}

impl Auth {
    /// Claims a chore; `None` if another node is at it.
    pub(crate) async fn claim(&self, chore: Chore, length: Duration) -> Result<Option<ChoreLease>, Error> {
        let now = self.clock.lease_now();
        let until = now + length;
        let claimed = self.store.claim_chore(chore, now, until).await?;
        Ok(claimed.then_some(ChoreLease { chore, length, until }))
    }

    /// Renews a lease of which less than half is left. Fails if another node took the chore over, which happens only after the lease
    /// has ended: two nodes must not go on with it.
    pub(crate) async fn renew(&self, lease: &mut ChoreLease) -> Result<(), Error> {
        let now = self.clock.lease_now();
        if lease.until.since(now) >= lease.length / 2 {
            return Ok(());
        }
        let until = now + lease.length;
        // A chore is claimed by the end of the lease that is expected, so that of another node stays.
        if !self.store.claim_chore(lease.chore, lease.until, until).await? {
            return Err(InternalError::ChoreTaken.into());
        }
        lease.until = until;
        Ok(())
    }

    /// Gives a lease back.
    pub(crate) async fn release(&self, lease: ChoreLease) -> Result<(), Error> {
        self.store.claim_chore(lease.chore, lease.until, self.clock.lease_now()).await?;
        Ok(())
    }
}
