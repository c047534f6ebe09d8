//! A minimal SQL interface, independent of the database: text and values in, rows out.
//!
//! Statements use only what SQLite and PostgreSQL both understand: TEXT and BIGINT, `$1` placeholders, times in
//! milliseconds.
//!
//! Written here instead of using sqlx or an ORM: a transaction is a function that runs on the one writer thread of SQLite,
//! where a group of them shares a commit, or on a connection to PostgreSQL. It may run more than once: on SQLite after another of its group
//! failed, on PostgreSQL after a conflict or on another connection.

use super::postgres::PostgresConnection;
use super::row_reader::{RowReader, all_rows, first_row};
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

    /// Runs statements in their order, each with its values, and returns how many rows each changed. PostgreSQL gets all of them before
    /// it has answered the first.
    pub(super) fn execute_all(&self, statements: &[(&str, Vec<SqlValue<'_>>)]) -> Result<Vec<usize>> {
        match self {
            Self::Sqlite(connection) => connection.execute_all(statements),
            Self::Postgres(connection) => connection.execute_all(statements),
        }
    }

    /// Runs statements as [`Sql::execute_all`], and then a query. PostgreSQL gets all of them before it has answered the first.
    pub(super) fn execute_and_read<T>(
        &self,
        statements: &[(&str, Vec<SqlValue<'_>>)],
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<(Vec<usize>, Vec<T>)> {
        match self {
            Self::Sqlite(connection) => Ok((connection.execute_all(statements)?, connection.rows(text, values, read)?)),
            Self::Postgres(connection) => connection.execute_and_read(statements, text, values, read),
        }
    }

    /// Runs several statements that take no values.
    pub(super) fn batch(&self, text: &str) -> Result<()> {
        match self {
            Self::Sqlite(connection) => connection.batch(text),
            Self::Postgres(connection) => connection.batch(text),
        }
    }

    /// Returns all rows of a query.
    pub(crate) fn rows<T>(
        &self,
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        all_rows(|reader| self.each(text, values, reader), read)
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
        first_row(|reader| self.each(text, values, reader), read)
    }

    /// Runs a query and reads its rows in their order.
    fn each(&self, text: &str, values: &[SqlValue<'_>], reader: &mut dyn RowReader) -> Result<()> {
        match self {
            Self::Sqlite(connection) => connection.each(text, values, reader),
            Self::Postgres(connection) => connection.each(text, values, reader),
        }
    }
}
