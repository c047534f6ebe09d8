//! What is over goes, a little at a time, and one node does it for all.

use std::time::Duration;

use deskpass_core::{Digest, Timestamp};

use crate::cache::CacheChange;
use crate::database::sweep_journal;
use crate::{Store, StoreError, agents, links, sessions, single_use, statistics};

impl Store {
    /// Whether it is on this node to sweep, until `until`: one of all nodes does it for all.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn claim_sweep(&self, now: Timestamp, until: Timestamp) -> Result<bool, StoreError> {
        // A turn that lasts for longer than any was taken by a clock that was wrong.
        let text = "UPDATE chore SET until = $2 WHERE name = 'sweep' AND (until <= $1 OR until > $3)";
        let wrong = until + Duration::from_hours(1);
        self.database.write(move |tx| Ok(tx.execute(text, &args![now, until, wrong])? == 1)).await
    }

    /// Removes up to `batch` sessions and halves that ended before `ended`, and as many of everything else whose time is over:
    /// deny-list entries, proofs, known browsers, strangers' guesses, old notices, figures and networks; returns how many went. Small batches share
    /// the writer with sign-ins without holding them up.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn sweep(&self, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize, StoreError> {
        // By itself: it must not fail with the rest, nor the rest with it.
        let told = self.database.write(|tx| sweep_journal(tx)).await;
        let told = told.inspect_err(|error| tracing::warn!(%error, "the journal cannot be swept")).unwrap_or(0);
        let gone = self
            .database
            .write(move |tx| {
                // Also what cannot be read goes.
                let expired = tx.rows(
                    "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE expires_at <= $1 LIMIT $2)
                     RETURNING digest",
                    &args![ended, batch],
                    |row| Ok(Digest::from_text(&row.text(0)?)),
                )?;
                let forgiven = tx.execute(
                    "DELETE FROM denied_token WHERE digest IN (SELECT digest FROM denied_token WHERE until <= $1 LIMIT $2)",
                    &args![now, batch],
                )?;
                let gone = expired.len() + forgiven + links::sweep(tx, now, batch)? + single_use::sweep(tx, now, batch)?;
                let gone = gone + agents::sweep(tx, now, ended, batch)? + statistics::sweep(tx, now, batch)?;
                let gone = gone + sessions::sweep_networks(tx, now, batch)?;
                for digest in expired.into_iter().flatten() {
                    tx.record_change(CacheChange::SessionSwept(digest));
                }
                Ok(gone)
            })
            .await?;
        Ok(told + gone)
    }
}
