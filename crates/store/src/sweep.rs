//! The sweep: one node removes expired rows for all nodes, in small batches.

use std::time::Duration;

use deskpass_core::{Digest, Timestamp};

use crate::cache::CacheChange;
use crate::database::sweep_journal;
use crate::{Store, StoreError, agents, links, sessions, single_use, statistics};

impl Store {
    /// Claims the sweep for this node until `until`; `false` if another node has the lease.
    pub async fn claim_sweep(&self, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
        // A lease longer than any the service takes was taken by a wrong clock.
        let text = "UPDATE chore SET until = $2 WHERE name = 'sweep' AND (until <= $1 OR until > $3)";
        let wrong = until + Duration::from_hours(1);
        self.database.write(move |tx| Ok(tx.execute(text, &args![now, until, wrong])? == 1)).await
    }

    /// Removes up to `batch` sessions and partial sessions that ended before `ended`, and as many expired rows of each other
    /// kind: deny-list entries, proofs, known browsers, failed attempts at unknown accounts, notices, statistics and
    /// networks; returns the number of removed rows. Small batches share the writer with sign-ins without delaying them.
    pub async fn sweep(&self, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize, StoreError> {
        // In its own transaction, so that a failure of either does not affect the other.
        let swept_journal = self.database.write(|tx| sweep_journal(tx)).await;
        let swept_journal =
            swept_journal.inspect_err(|error| tracing::warn!(%error, "could not sweep the journal")).unwrap_or(0);
        let removed = self
            .database
            .write(move |tx| {
                // Unreadable rows are removed as well.
                let expired = tx.rows(
                    "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE expires_at <= $1 LIMIT $2)
                     RETURNING digest",
                    &args![ended, batch],
                    |row| Ok(Digest::from_text(&row.text(0)?)),
                )?;
                let undenied = tx.execute(
                    "DELETE FROM denied_token WHERE digest IN (SELECT digest FROM denied_token WHERE until <= $1 LIMIT $2)",
                    &args![now, batch],
                )?;
                let removed = expired.len() + undenied + links::sweep(tx, now, batch)? + single_use::sweep(tx, now, batch)?;
                let removed = removed + agents::sweep(tx, now, ended, batch)? + statistics::sweep(tx, now, batch)?;
                let removed = removed + sessions::sweep_networks(tx, now, batch)?;
                for digest in expired.into_iter().flatten() {
                    tx.record_change(CacheChange::SessionSwept(digest));
                }
                Ok(removed)
            })
            .await?;
        Ok(swept_journal + removed)
    }
}
