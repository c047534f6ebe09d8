//! What may be used once, remembered where nobody can put it back: a record in Redis can be made what it was a moment before.
//!
//! Each attempt to use something has a value of its own, by which it undoes its own use and no other. An attempt whose answer
//! got lost can be undone before it is made: then it counts no more when it comes.

use deskpass_core::{Digest, Timestamp};

use crate::database::Tx;
use crate::{Store, StoreError};

const USE: &str = "INSERT INTO used_once (digest, used_by, undone, until) VALUES ($1, $2, 0, $3)
    ON CONFLICT (digest) DO UPDATE SET used_by = excluded.used_by, undone = 0, until = excluded.until
    WHERE (used_once.used_by = excluded.used_by AND used_once.undone = 0)
    OR (used_once.used_by <> excluded.used_by AND used_once.undone = 1)";
const UNDO: &str = "INSERT INTO used_once (digest, used_by, undone, until) VALUES ($1, $2, 1, $3)
    ON CONFLICT (digest) DO UPDATE SET undone = 1 WHERE used_once.used_by = excluded.used_by";

impl Store {
    /// Uses something up in this attempt; `false` when it was used up in another one, or this one was undone. That is
    /// remembered until then.
    ///
    /// # Errors
    /// When the store fails; then it may be used up all the same.
    pub async fn use_once(&self, what: Digest, attempt: Digest, until: Timestamp) -> Result<bool, StoreError> {
        self.database.write(move |tx| Ok(tx.execute(USE, &args![what, attempt, until])? == 1)).await
    }

    /// Makes something usable again that was used up in this attempt, and in vain.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn undo_use(&self, what: Digest, attempt: Digest, until: Timestamp) -> Result<(), StoreError> {
        self.database.write(move |tx| tx.execute(UNDO, &args![what, attempt, until]).map(drop)).await
    }
}

/// Forgets what nobody could use any more anyway; returns how many.
pub(crate) fn sweep(tx: &Tx<'_>, now: Timestamp, batch: i64) -> Result<usize, StoreError> {
    let text = "DELETE FROM used_once WHERE digest IN (SELECT digest FROM used_once WHERE until <= $1 LIMIT $2)";
    tx.execute(text, &args![now, batch])
}
