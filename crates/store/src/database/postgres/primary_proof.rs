//! The proof that a server is still the primary.
//!
//! After a failover the old primary may still run, and a node may still reach it. It answers every read, but without the changes
//! that were committed on the new primary. Where commits wait for a synchronous standby, the old primary cannot commit any more: the
//! standby that was promoted no longer confirms its commits. So each connection commits a heartbeat from time to time and with each
//! transaction, and its reads count only for a moment after the start of the last one. The heartbeat is a message in the write-ahead
//! log: it needs no table and leaves no row.
//!
//! Without a synchronous standby a commit proves nothing, so nothing is sent. The server's setting is read when a connection opens, and
//! with each read of the journal.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use tokio_postgres::SimpleQueryMessage;

use crate::cache::{BootInstant, FRESHNESS_DURATION};
use crate::{Result, StoreError};

/// Commits a heartbeat if commits wait for a standby, and returns a value in that case; otherwise it writes nothing and returns
/// NULL.
pub(super) const HEARTBEAT: &str = "SELECT CASE WHEN current_setting('synchronous_standby_names') = '' THEN NULL
    ELSE pg_logical_emit_message(true, 'deskpass', '') END";

/// Returns a value if commits wait for a standby, otherwise NULL.
pub(super) const READ_STANDBY_NAMES: &str = "SELECT NULLIF(current_setting('synchronous_standby_names'), '')";

/// The timeout of a heartbeat. A slower one would leave the cache trusted for too short a time.
pub(super) const HEARTBEAT_TIMEOUT: Duration = Duration::from_millis(700);

/// The age from which a heartbeat of the pool is repeated while the journal reader waits for its own. It is shorter than the time for
/// which the heartbeat counts, so that other uses need not wait for the next one.
const RENEWAL_AGE: Duration = Duration::from_millis(450);

/// Whether commits wait for a standby, from the result of one of the statements above.
pub(super) fn waits_for_standby(result: &[SimpleQueryMessage]) -> bool {
    result.iter().any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0).is_some()))
}

/// The error of a server that did not confirm a heartbeat in time.
pub(super) fn unproven() -> StoreError {
    StoreError::unavailable(
        &"the server does not confirm commits: its synchronous standby does not answer, or was promoted",
    )
}

/// What the connections of a node tell each other about their server. It only decides whether a use of the pool begins: what a
/// connection reads counts by its own heartbeats alone.
#[derive(Debug, Default)]
pub(super) struct SharedProof {
    /// Whether commits on the server of the journal reader wait for a standby, as of its last read.
    reader_synchronous: AtomicBool,
    /// Whether the journal reader waits for a heartbeat for too long.
    reader_unproven: AtomicBool,
    /// The start of the last heartbeat that was confirmed on a connection besides the reader's.
    pool_proven: Mutex<Option<BootInstant>>,
    /// Held by the use of the pool that sends a heartbeat in place of the reader.
    renewal: Mutex<()>,
}

impl SharedProof {
    pub(super) fn set_reader_synchronous(&self, synchronous: bool) {
        self.reader_synchronous.store(synchronous, Ordering::Relaxed);
    }

    pub(super) fn set_reader_unproven(&self, unproven: bool) {
        self.reader_unproven.store(unproven, Ordering::Release);
    }

    /// Decides whether a use of the pool may begin, and returns a guard if it must have a heartbeat confirmed first.
    ///
    /// While the journal reader waits for a heartbeat, the server may have been deposed or have lost its standby; each use would only
    /// leave a connection behind that waits for the standby as well. But it may also be the reader's connection alone that is slow. So
    /// one use at a time tries, and the others begin as long as a heartbeat of the pool was confirmed a moment ago.
    pub(super) fn admit(&self) -> Result<Option<MutexGuard<'_, ()>>> {
        if !self.reader_unproven.load(Ordering::Acquire) {
            return Ok(None);
        }
        let proven = *self.pool_proven.lock().unwrap_or_else(PoisonError::into_inner);
        self.admit_with(proven.map(BootInstant::elapsed))
    }

    /// Decides by the age of the last heartbeat of the pool.
    fn admit_with(&self, age: Option<Duration>) -> Result<Option<MutexGuard<'_, ()>>> {
        if age.is_some_and(|age| age < RENEWAL_AGE) {
            return Ok(None);
        }
        match self.renewal.try_lock() {
            Ok(renewal) => Ok(Some(renewal)),
            Err(TryLockError::Poisoned(poisoned)) => Ok(Some(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) if age.is_some_and(|age| age < FRESHNESS_DURATION) => Ok(None),
            Err(TryLockError::WouldBlock) => Err(unproven()),
        }
    }

    fn record(&self, began: BootInstant) {
        let mut proven = self.pool_proven.lock().unwrap_or_else(PoisonError::into_inner);
        *proven = (*proven).max(Some(began));
    }
}

/// What a connection knows about its server.
pub(super) struct PrimaryProof {
    /// Whether commits on this server wait for a standby, as of the last result.
    synchronous: Cell<bool>,
    /// Knows the same of the server of the journal reader: the setting may be changed while both run.
    shared: Arc<SharedProof>,
    /// The start of the last heartbeat that was confirmed.
    proven: Cell<Option<BootInstant>>,
}

impl PrimaryProof {
    pub(super) fn new(synchronous: bool, shared: Arc<SharedProof>) -> Self {
        Self { synchronous: Cell::new(synchronous), shared, proven: Cell::new(None) }
    }

    /// Whether commits wait for a standby, as far as is known.
    pub(super) fn is_synchronous(&self) -> bool {
        self.synchronous.get() || self.shared.reader_synchronous.load(Ordering::Relaxed)
    }

    /// Whether a heartbeat must be sent before a read on this connection counts.
    pub(super) fn is_due(&self) -> bool {
        self.is_synchronous() && self.proven.get().is_none_or(|began| began.elapsed() >= FRESHNESS_DURATION)
    }

    /// Records a confirmed heartbeat that began at this time.
    pub(super) fn record(&self, began: BootInstant) {
        self.proven.set(Some(began));
        self.shared.record(began);
    }

    /// Records whether commits wait for a standby.
    pub(super) fn set_synchronous(&self, synchronous: bool) {
        self.synchronous.set(synchronous);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_with_a_synchronous_standby_has_to_prove_anything() {
        let shared = Arc::<SharedProof>::default();
        let proof = PrimaryProof::new(false, Arc::clone(&shared));
        assert!(!proof.is_due());
        shared.set_reader_synchronous(true);
        assert!(proof.is_due(), "the setting was changed while the connection was open");
        shared.set_reader_synchronous(false);
        proof.set_synchronous(true);
        assert!(proof.is_due());
        proof.record(BootInstant::now());
        assert!(!proof.is_due());
        assert!(proof.is_synchronous(), "a transaction carries a heartbeat nevertheless");
    }

    #[test]
    fn while_the_reader_waits_one_use_at_a_time_sends_a_heartbeat() {
        let shared = SharedProof::default();
        assert!(shared.admit().unwrap().is_none());
        shared.set_reader_unproven(true);
        let trying = shared.admit().unwrap();
        assert!(trying.is_some());
        assert!(shared.admit().is_err(), "the others are refused until it has succeeded");
        assert!(shared.admit_with(Some(FRESHNESS_DURATION)).is_err(), "the last heartbeat counts no more");
        assert!(shared.admit_with(Some(RENEWAL_AGE)).unwrap().is_none(), "the last heartbeat still counts");
        drop(trying);
        for age in [None, Some(RENEWAL_AGE), Some(FRESHNESS_DURATION)] {
            assert!(shared.admit_with(age).unwrap().is_some(), "the next heartbeat is due");
        }
        assert!(shared.admit_with(Some(Duration::ZERO)).unwrap().is_none());
        shared.set_reader_unproven(false);
        assert!(shared.admit().unwrap().is_none());
    }
}
