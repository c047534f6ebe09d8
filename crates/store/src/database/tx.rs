//! A transaction under way.

use std::ops::Deref;

use super::{Sql, Value};
use crate::StoreError;
use crate::cache::CacheChange;

/// A transaction under way. What it changed is told to the cache once it is committed.
pub(crate) struct Tx<'a> {
    sql: Sql<'a>,
    changes: Vec<CacheChange>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(sql: Sql<'a>) -> Self {
        Self { sql, changes: Vec::new() }
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) fn execute(&self, text: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        self.sql.execute(text, values)
    }

    /// Notes what the cache must know once this is committed.
    pub(crate) fn record_change(&mut self, change: CacheChange) {
        self.changes.push(change);
    }

    /// What the cache must know.
    pub(super) fn into_changes(self) -> Vec<CacheChange> {
        self.changes
    }
}

impl<'a> Deref for Tx<'a> {
    type Target = Sql<'a>;
    fn deref(&self) -> &Sql<'a> {
        &self.sql
    }
}
