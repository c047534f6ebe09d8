//! A transaction under way.

use std::ops::Deref;

use super::{Sql, Value};
use crate::StoreError;
use crate::cache::Change;

/// A transaction under way. What it changed is told to the cache once it is committed.
pub(crate) struct Tx<'a> {
    sql: &'a Sql,
    changes: Vec<Change>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(sql: &'a Sql) -> Self {
        Self { sql, changes: Vec::new() }
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) fn execute(&self, text: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        self.sql.execute(text, values)
    }

    /// Notes what the cache must know once this is committed.
    pub(crate) fn touch(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// What the cache must know.
    pub(super) fn into_changes(self) -> Vec<Change> {
        self.changes
    }
}

impl Deref for Tx<'_> {
    type Target = Sql;
    fn deref(&self) -> &Sql {
        self.sql
    }
}
