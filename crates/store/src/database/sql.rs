//! A minimal SQL interface, independent of the database: text and values in, rows out.
//!
//! Statements use only what SQLite and PostgreSQL both understand: TEXT and BIGINT, `$1` placeholders, times in
//! milliseconds.
//!
//! Written here instead of using sqlx or an ORM: a transaction is a function that runs on the one writer thread of SQLite,
//! where a group of them shares a commit, or again on PostgreSQL after a conflict.

use super::postgres::PostgresConnection;
use super::sqlite::SqliteConnection;
use super::{Row, SqlValue};
use crate::Result;

/// A borrowed connection to either database.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sql<'a> {
    Sqlite(&'a SqliteConnection),
    Postgres(&'a PostgresConnection),
}

impl Sql<'_> {
    /// Runs a statement and returns how many rows it changed.
    pub(super) fn execute(&self, text: &str, values: &[SqlValue<'_>]) -> Result<usize> {
        match self {
            Self::Sqlite(connection) => connection.execute(text, values),
            Self::Postgres(connection) => connection.execute(text, values),
        }
    }

    /// Runs several statements that take no values.
    pub(super) fn batch(&self, text: &str) -> Result<()> {
        match self {
            Self::Sqlite(connection) => connection.batch(text),
            Self::Postgres(connection) => connection.batch(text),
        }
    }

    pub(crate) fn rows<T>(
        &self,
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        match self {
            Self::Sqlite(connection) => connection.rows(text, values, read),
            Self::Postgres(connection) => connection.rows(text, values, read),
        }
    }

    /// What follows a table in a query that must use this index. SQLite has no statistics here, so it is told the index; it refuses the
    /// query if the index cannot be used. PostgreSQL has statistics, and no such hint.
    pub(crate) fn index_hint(&self, index: &str) -> String {
        match self {
            Self::Sqlite(_) => format!("INDEXED BY {index}"),
            Self::Postgres(_) => String::new(),
        }
    }

    /// Returns whether a query has a row.
    pub(crate) fn exists(&self, text: &str, values: &[SqlValue<'_>]) -> Result<bool> {
        Ok(self.first(text, values, |_| Ok(()))?.is_some())
    }

    /// Returns the first row of a query, if there is one.
    pub(crate) fn first<T>(
        &self,
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        match self {
            Self::Sqlite(connection) => connection.first(text, values, read),
            Self::Postgres(connection) => Ok(connection.rows(text, values, read)?.into_iter().next()),
        }
    }
}
