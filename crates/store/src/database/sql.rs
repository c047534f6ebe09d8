//! SQL text, values in, rows out: the little that statements need, with nothing of one database in it.
//!
//! The house dialect is what SQLite and PostgreSQL both understand: TEXT and BIGINT, `$1` placeholders, times as
//! milliseconds.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use deskpass_core::{Digest, Role, Timestamp};
use rusqlite::{Connection, OpenFlags, Statement, types::ValueRef};

use crate::StoreError;

/// A value for a placeholder.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    Owned(String),
    Int(i64),
    Null,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
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
        Self::Owned(digest.to_text())
    }
}

impl From<IpAddr> for Value<'_> {
    fn from(address: IpAddr) -> Self {
        Self::Owned(address.to_string())
    }
}

/// The values for a statement's placeholders, `$1` first.
macro_rules! args {
    ($($value:expr),* $(,)?) => { [$($crate::database::Value::from($value)),*] };
}

/// One row of an answer.
pub(crate) struct Row<'a>(&'a rusqlite::Row<'a>);

impl Row<'_> {
    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn maybe_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn maybe_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        Ok(self.0.get(column)?)
    }

    pub(crate) fn is_null(&self, column: usize) -> Result<bool, StoreError> {
        Ok(self.0.get_ref(column)? == ValueRef::Null)
    }

    pub(crate) fn moment(&self, column: usize) -> Result<Timestamp, StoreError> {
        self.int(column).map(Timestamp::from_millis)
    }

    pub(crate) fn role(&self, column: usize) -> Result<Role, StoreError> {
        Role::from_id(self.int(column)?).ok_or_else(|| StoreError::damaged("unknown role id"))
    }

    pub(crate) fn digest(&self, column: usize) -> Result<Digest, StoreError> {
        Digest::from_text(&self.text(column)?).ok_or_else(|| StoreError::damaged("unreadable digest"))
    }
}

/// A connection to the database.
pub(crate) struct Sql(Connection);

impl Sql {
    pub(super) fn open_writer(path: &Path) -> Result<Self, StoreError> {
        let sql = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // WAL with FULL: a commit that was acknowledged is on disk, also when the power fails.
        sql.batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")?;
        Ok(sql)
    }

    pub(super) fn open_reader(path: &Path) -> Result<Self, StoreError> {
        Self::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    fn open(path: &Path, access: OpenFlags) -> Result<Self, StoreError> {
        let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(Duration::from_secs(2))?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Self(connection))
    }

    /// Runs a statement and returns how many rows it changed.
    pub(super) fn execute(&self, text: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        let mut statement = self.0.prepare_cached(text)?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    /// Runs several statements that take no values.
    pub(super) fn batch(&self, text: &str) -> Result<(), StoreError> {
        Ok(self.0.execute_batch(text)?)
    }

    /// Whether no transaction is open. The database rolls back by itself when the disk fails it.
    pub(super) fn is_outside_transaction(&self) -> bool {
        self.0.is_autocommit()
    }

    /// All rows of a query.
    pub(crate) fn rows<T>(
        &self,
        text: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.0.prepare_cached(text)?;
        bind(&mut statement, values)?;
        let (mut rows, mut all) = (statement.raw_query(), Vec::new());
        while let Some(row) = rows.next()? {
            all.push(read(&Row(row))?);
        }
        Ok(all)
    }

    /// The first row of a query, if it has one.
    pub(crate) fn first<T>(
        &self,
        text: &str,
        values: &[Value<'_>],
        read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.0.prepare_cached(text)?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        rows.next()?.map(|row| read(&Row(row))).transpose()
    }
}

impl fmt::Debug for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sql")
    }
}

/// Binds `$n` to the n-th value. SQLite numbers placeholders by where they first appear, so their names are asked for.
fn bind(statement: &mut Statement<'_>, values: &[Value<'_>]) -> Result<(), StoreError> {
    for index in 1..=statement.parameter_count() {
        let number = statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let value = number.and_then(|number| values.get(number.checked_sub(1)?));
        match value.ok_or_else(|| StoreError::damaged("a placeholder without a value"))? {
            Value::Text(text) => statement.raw_bind_parameter(index, text)?,
            Value::Owned(text) => statement.raw_bind_parameter(index, text)?,
            Value::Int(number) => statement.raw_bind_parameter(index, number)?,
            Value::Null => statement.raw_bind_parameter(index, rusqlite::types::Null)?,
        }
    }
    Ok(())
}
