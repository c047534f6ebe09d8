//! SQL text, values in, rows out: the little that statements need, with nothing of one database in it.
//!
//! The house dialect is what SQLite and PostgreSQL both understand: TEXT and BIGINT, `$1` placeholders, times as
//! milliseconds.

use std::borrow::Cow;
use std::net::IpAddr;

use deskpass_core::{Digest, Role, Timestamp};
use rusqlite::types::ValueRef;

use super::{postgres, sqlite};
use crate::StoreError;

/// A value for a placeholder.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Text(Cow<'a, str>),
    Int(i64),
    Null,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Int(flag.into())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(maybe: Option<T>) -> Self {
        maybe.map_or(Self::Null, Into::into)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<Timestamp> for Value<'_> {
    fn from(moment: Timestamp) -> Self {
        Self::Int(moment.millis())
    }
}

impl From<Role> for Value<'_> {
    fn from(role: Role) -> Self {
        Self::Int(role.id())
    }
}

impl From<Digest> for Value<'_> {
    fn from(digest: Digest) -> Self {
        Self::Text(Cow::Owned(digest.to_text()))
    }
}

impl From<IpAddr> for Value<'_> {
    fn from(address: IpAddr) -> Self {
        Self::Text(Cow::Owned(address.to_string()))
    }
}

/// The values for a statement's placeholders, `$1` first.
macro_rules! args {
    ($($value:expr),* $(,)?) => { [$($crate::database::Value::from($value)),*] };
}

/// One row of an answer.
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.maybe_int(column)?.ok_or_else(|| StoreError::damaged("a number is missing"))
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => Ok(row.try_get(column)?),
        }
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self {
            Self::Sqlite(row) => Ok(row.get(column)?),
            Self::Postgres(row) => postgres::number(row, column),
        }
    }

    pub(crate) fn is_null(&self, column: usize) -> Result<bool, StoreError> {
        match self {
            Self::Sqlite(row) => Ok(row.get_ref(column)? == ValueRef::Null),
            Self::Postgres(row) => postgres::is_null(row, column),
        }
    }

    pub(crate) fn timestamp(&self, column: usize) -> Result<Timestamp, StoreError> {
        self.int(column).map(Timestamp::from_millis)
    }

    pub(crate) fn role(&self, column: usize) -> Result<Role, StoreError> {
        Role::from_id(self.int(column)?).ok_or_else(|| StoreError::damaged("unknown role id"))
    }

    pub(crate) fn digest(&self, column: usize) -> Result<Digest, StoreError> {
        Digest::from_text(&self.text(column)?).ok_or_else(|| StoreError::damaged("unreadable digest"))
    }
}

/// A connection to either database, lent to whoever runs statements on it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sql<'a> {
    Sqlite(&'a sqlite::Connection),
    Postgres(&'a postgres::Connection),
}

impl Sql<'_> {
    /// Runs a statement and returns how many rows it changed.
    pub(super) fn execute(&self, text: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        match self {
            Self::Sqlite(connection) => connection.execute(text, values),
            Self::Postgres(connection) => connection.execute(text, values),
        }
    }

    /// Runs several statements that take no values.
    pub(super) fn batch(&self, text: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(connection) => connection.batch(text),
            Self::Postgres(connection) => connection.batch(text),
        }
    }

    /// All rows of a query.
    pub(crate) fn rows<T>(
        &self,
        text: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        match self {
            Self::Sqlite(connection) => connection.rows(text, values, read),
            Self::Postgres(connection) => connection.rows(text, values, read),
        }
    }

    /// The first row of a query, if it has one.
    pub(crate) fn first<T>(
        &self,
        text: &str,
        values: &[Value<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match self {
            Self::Sqlite(connection) => connection.first(text, values, read),
            Self::Postgres(connection) => Ok(connection.rows(text, values, read)?.into_iter().next()),
        }
    }
}
