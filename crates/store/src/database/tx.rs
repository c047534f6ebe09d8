//! A running transaction.

use std::ops::Deref;

use super::{Row, Sql, SqlValue};
use crate::Result;
use crate::cache::CacheChange;

/// A running transaction. Its changes are applied to the cache after the commit.
pub(crate) struct Tx<'a> {
    sql: Sql<'a>,
    pub(super) changes: Vec<CacheChange>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(sql: Sql<'a>) -> Self {
        Self { sql, changes: Vec::new() }
    }

    pub(crate) fn execute(&self, text: &str, values: &[SqlValue<'_>]) -> Result<usize> {
        self.sql.execute(text, values)
    }

    /// Runs statements in their order, and returns how many rows each changed. It costs one round trip to PostgreSQL, however many there
    /// are.
    pub(crate) fn execute_all(&self, statements: &[(&str, Vec<SqlValue<'_>>)]) -> Result<Vec<usize>> {
        self.sql.execute_all(statements)
    }

    /// Runs statements in their order, and then a query. PostgreSQL gets all of them before it has answered the first.
    pub(crate) fn execute_and_read<T>(
        &self,
        statements: &[(&str, Vec<SqlValue<'_>>)],
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<(Vec<usize>, Vec<T>)> {
        self.sql.execute_and_read(statements, text, values, read)
    }

    /// Records a change that the cache must apply after the commit.
    pub(crate) fn record_change(&mut self, change: CacheChange) {
        self.changes.push(change);
    }
}

impl<'a> Deref for Tx<'a> {
    type Target = Sql<'a>;
    fn deref(&self) -> &Sql<'a> {
        &self.sql
    }
}
