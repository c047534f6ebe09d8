//! What may be used once, remembered where nobody can put it back: a record in Redis can be made what it was a moment before.

use deskpass_core::{Digest, Timestamp};

use crate::database::Tx;
use crate::{Store, StoreError};

impl Store {
    /// Uses something up; `false` when it was used before. That is remembered until then.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn use_once(&self, what: Digest, until: Timestamp) -> Result<bool, StoreError> {
        let text = "INSERT INTO used_once (digest, until) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.database.write(move |tx| Ok(tx.execute(text, &args![what, until])? == 1)).await
    }

    /// Makes something usable again that was used up in vain.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn undo_use(&self, what: Digest) -> Result<(), StoreError> {
        let text = "DELETE FROM used_once WHERE digest = $1";
        self.database.write(move |tx| tx.execute(text, &args![what]).map(drop)).await
    }
}

/// Forgets what nobody could use any more anyway; returns how many.
pub(crate) fn sweep(tx: &Tx<'_>, now: Timestamp, batch: i64) -> Result<usize, StoreError> {
    let text = "DELETE FROM used_once WHERE digest IN (SELECT digest FROM used_once WHERE until <= $1 LIMIT $2)";
    tx.execute(text, &args![now, batch])
}
