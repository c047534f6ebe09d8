//! Whether a key is the key that the audit log was written with.

use super::ChainKey;
use super::marker::{is_key_of, is_own_key};
use crate::database::{Sql, in_snapshot, read_directly};
use crate::{DirectReadError, Location, Mode, Store, StoreError};

/// Whether this is the key that the log was written with, read next to the running service.
///
/// # Errors
/// When the log cannot be read.
pub async fn is_key_of_log(location: &Location, mode: Mode, key: ChainKey) -> Result<Option<bool>, DirectReadError> {
    let is_key = move |sql: &Sql<'_>| match is_key_of(sql, &key)? {
        // Nothing in a log that was changed throughout shows the key; the key check still does.
        Some(false) if is_own_key(sql, &key)? => Ok(Some(true)),
        known => Ok(known),
    };
    read_directly(location, mode, move |sql| in_snapshot(sql, &is_key)).await
}

impl Store {
    /// Whether this is the key that the log was written with. `None` when nothing in the log was made with a key.
    pub async fn is_key_of_log(&self, key: ChainKey) -> Result<Option<bool>, StoreError> {
        self.database.read(move |sql| in_snapshot(sql, |sql| is_key_of(sql, &key))).await
    }
}
