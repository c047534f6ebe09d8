//! The end of what a client got, in batches, after it was disabled, removed or may get less.

use deskpass_core::Timestamp;

use super::endings::end_live_of_client;
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::{Result, Store};

impl Store {
    /// Ends up to `limit` grants of a client if what it got is to end, and has it told; returns their number. Repeat it until that is
    /// zero. Until then every grant of the client ends, also one that began after the change.
    pub async fn end_grants_of_client_batch(&self, id: String, at: Timestamp, limit: i64) -> Result<usize> {
        self.database.write(move |tx| end_batch(tx, &id, at, limit)).await
    }
}

fn end_batch(tx: &mut Tx<'_>, id: &str, at: Timestamp, limit: i64) -> Result<usize> {
    // Locked: no grant of the client begins meanwhile, and of several nodes one ends them at a time.
    if tx.execute("UPDATE oidc_client SET id = id WHERE id = $1 AND ends_grants = 1", &args![id])? == 0 {
        return Ok(0);
    }
    let ended = end_live_of_client(tx, id, limit, at)?;
    if i64::try_from(ended).is_ok_and(|ended| ended < limit) {
        tx.execute("UPDATE oidc_client SET ends_grants = 0 WHERE id = $1", &args![id])?;
        // Drops all cached tokens, once for all batches.
        tx.record_change(CacheChange::Rules);
    }
    Ok(ended)
}

/// The number of rows that are read is that of the clients, which is small.
pub(crate) const SWEEP_REMOVED_CLIENTS: &str =
    "DELETE FROM oidc_client WHERE id IN (SELECT c.id FROM oidc_client c WHERE c.removed_at IS NOT NULL
    AND c.ends_grants = 0 AND NOT EXISTS (SELECT 1 FROM oidc_logout l WHERE l.client_id = c.id) LIMIT $1) AND ends_grants = 0";

/// Deletes up to `batch` removed clients that have nothing any more and were told of every end; returns their number.
pub(crate) fn sweep_removed_clients(tx: &mut Tx<'_>, batch: i64) -> Result<usize> {
    let removed = tx.execute(SWEEP_REMOVED_CLIENTS, &args![batch])?;
    if removed > 0 {
        tx.record_change(CacheChange::Rules);
    }
    Ok(removed)
}
