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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_postgres::SimpleQueryMessage;

use crate::StoreError;
use crate::cache::{BootInstant, FRESHNESS_DURATION};

/// Commits a heartbeat if commits wait for a standby, and returns a value in that case; otherwise it writes nothing and returns
/// NULL.
pub(super) const HEARTBEAT: &str = "SELECT CASE WHEN current_setting('synchronous_standby_names') = '' THEN NULL
    ELSE pg_logical_emit_message(true, 'deskpass', '') END";

/// Returns a value if commits wait for a standby, otherwise NULL.
pub(super) const READ_STANDBY_NAMES: &str = "SELECT NULLIF(current_setting('synchronous_standby_names'), '')";

/// The timeout of a heartbeat. A slower one would leave the cache trusted for too short a time.
pub(super) const HEARTBEAT_TIMEOUT: Duration = Duration::from_millis(700);

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

/// What a connection knows about its server.
pub(super) struct PrimaryProof {
    /// Whether commits on this server wait for a standby, as of the last result.
    synchronous: Cell<bool>,
    /// The same for the server of the journal reader, as of its last read. The setting may be changed while both run.
    reader_synchronous: Arc<AtomicBool>,
    /// The start of the last heartbeat that was confirmed.
    proven: Cell<Option<BootInstant>>,
}

impl PrimaryProof {
    pub(super) fn new(synchronous: bool, reader_synchronous: Arc<AtomicBool>) -> Self {
        Self { synchronous: Cell::new(synchronous), reader_synchronous, proven: Cell::new(None) }
    }

    /// Whether commits wait for a standby, as far as is known.
    pub(super) fn is_synchronous(&self) -> bool {
        self.synchronous.get() || self.reader_synchronous.load(Ordering::Relaxed)
    }

    /// Whether a heartbeat must be sent before a read on this connection counts.
    pub(super) fn is_due(&self) -> bool {
        self.is_synchronous() && self.proven.get().is_none_or(|began| began.elapsed() >= FRESHNESS_DURATION)
    }

    /// Records a confirmed heartbeat that began at this time.
    pub(super) fn record(&self, began: BootInstant) {
        self.proven.set(Some(began));
    }

    /// Records whether commits wait for a standby.
    pub(super) fn set_synchronous(&self, synchronous: bool) {
        self.synchronous.set(synchronous);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_with_a_synchronous_standby_has_to_prove_anything() {
        let reader = Arc::<AtomicBool>::default();
        let proof = PrimaryProof::new(false, Arc::clone(&reader));
        assert!(!proof.is_due());
        reader.store(true, Ordering::Relaxed);
        assert!(proof.is_due(), "the setting was changed while the connection was open");
        reader.store(false, Ordering::Relaxed);
        proof.set_synchronous(true);
        assert!(proof.is_due());
        proof.record(BootInstant::now());
        assert!(!proof.is_due());
        assert!(proof.is_synchronous(), "a transaction carries a heartbeat nevertheless");
    }
}
