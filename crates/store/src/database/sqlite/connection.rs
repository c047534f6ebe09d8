//! A connection to the embedded database.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{OpenFlags, Statement};
use tokio::time::Instant;

use crate::database::sql::RowReader;
use crate::database::{Row, Sql, SqlValue};
use crate::{Result, StoreError};

/// How many steps of a statement run between two looks at the clock: less than a millisecond.
const STEPS_PER_TIME_CHECK: i32 = 10_000;

pub(crate) struct SqliteConnection(rusqlite::Connection);

impl SqliteConnection {
    pub(super) fn open_writer(path: &Path) -> Result<Self> {
        let connection = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.configure_writer()?;
        Ok(connection)
    }

    /// WAL with FULL: an acknowledged commit is on disk, also after a power failure. A file system without shared memory keeps
    /// another mode, and SQLite reports no error.
    fn configure_writer(&self) -> Result<()> {
        let mode = self.first("PRAGMA journal_mode = WAL", &[], |row| row.text(0))?.unwrap_or_default();
        if mode != "wal" {
            return Err(StoreError::unavailable(&format!(
                "the file system does not support SQLite's write-ahead log (its journal mode is {mode}): keep the data on \
                 a local disk"
            )));
        }
        // 8 MiB of pages, instead of 2: sign-ins change the pages of a dozen indexes.
        self.batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192")?;
        for (pragma, wanted) in [("PRAGMA synchronous", 2), ("PRAGMA foreign_keys", 1)] {
            if self.first(pragma, &[], |row| row.int(0))? != Some(wanted) {
                return Err(StoreError::unavailable(&format!("SQLite did not accept {pragma} = {wanted}")));
            }
        }
        Ok(())
    }

    /// Opens a database file that no other process knows yet, to fill it in one go. A failure makes the file unusable.
    pub(super) fn open_new(path: &Path) -> Result<Self> {
        let connection = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON")?;
        Ok(connection)
    }

    /// Opens an empty database in memory.
    pub(crate) fn open_in_memory() -> Result<Self> {
        Self::configure(rusqlite::Connection::open_in_memory()?)
    }

    pub(crate) fn open_reader(path: &Path) -> Result<Self> {
        Self::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    /// Statements that still run at this time fail.
    pub(super) fn set_deadline(&mut self, at: Instant) -> Result<()> {
        Ok(self.0.progress_handler(STEPS_PER_TIME_CHECK, Some(move || Instant::now() >= at))?)
    }

    fn open(path: &Path, access: OpenFlags) -> Result<Self> {
        let connection = rusqlite::Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(Duration::from_secs(2))?;
        Self::configure(connection)
    }

    fn configure(connection: rusqlite::Connection) -> Result<Self> {
        connection.set_prepared_statement_cache_capacity(64);
        // The plan of a statement does not depend on its values. Otherwise SQLite may compile a cached statement again
        // whenever its values are cleared: the lookup of a session took 181 µs instead of some 10.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(Self(connection))
    }

    pub(crate) fn execute(&self, text: &str, values: &[SqlValue<'_>]) -> Result<usize> {
        let mut statement = self.0.prepare_cached(text)?;
        bind(&mut statement, values)?;
        Ok(statement.raw_execute()?)
    }

    pub(crate) fn batch(&self, text: &str) -> Result<()> {
        Ok(self.0.execute_batch(text)?)
    }

    pub(crate) fn commit(&self) -> Result<()> {
        self.0.execute_batch("COMMIT").map_err(StoreError::of_sqlite_commit)
    }

    /// Returns whether no transaction is open. SQLite rolls back by itself after a disk failure.
    pub(crate) fn is_outside_transaction(&self) -> bool {
        self.0.is_autocommit()
    }

    /// Runs a query and reads its rows in their order.
    pub(in crate::database) fn each(
        &self,
        text: &str,
        values: &[SqlValue<'_>],
        reader: &mut dyn RowReader,
    ) -> Result<()> {
        let mut statement = self.0.prepare_cached(text)?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            if !reader.read(&Row::Sqlite(row))? {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn rows<T>(
        &self,
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        Sql::Sqlite(self).rows(text, values, read)
    }

    /// Returns all rows of a query as untyped values.
    pub(crate) fn values(&self, text: &str, values: &[SqlValue<'_>]) -> Result<Vec<Vec<SqlValue<'static>>>> {
        let mut statement = self.0.prepare_cached(text)?;
        bind(&mut statement, values)?;
        let (columns, mut rows, mut all) = (statement.column_count(), statement.raw_query(), Vec::new());
        while let Some(row) = rows.next()? {
            all.push((0..columns).map(|column| value(row, column)).collect::<Result<_, _>>()?);
        }
        Ok(all)
    }

    pub(crate) fn first<T>(
        &self,
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        Sql::Sqlite(self).first(text, values, read)
    }
}

/// Reads a column of any type.
fn value(row: &rusqlite::Row<'_>, column: usize) -> Result<SqlValue<'static>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(SqlValue::Null),
        ValueRef::Integer(number) => Ok(SqlValue::Int(number)),
        ValueRef::Text(text) => Ok(SqlValue::Text(String::from_utf8_lossy(text).into_owned().into())),
        ValueRef::Real(_) | ValueRef::Blob(_) => Err(StoreError::damaged("a value of an unsupported type")),
    }
}

debug_only!(SqliteConnection);

/// Binds `$n` to the n-th value. SQLite numbers placeholders by first appearance, so the number is read from the name.
fn bind(statement: &mut Statement<'_>, values: &[SqlValue<'_>]) -> Result<()> {
    for index in 1..=statement.parameter_count() {
        let number = statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let value = number.and_then(|number| values.get(number.checked_sub(1)?));
        match value.ok_or_else(|| StoreError::damaged("a parameter without a value"))? {
            SqlValue::Text(text) => statement.raw_bind_parameter(index, &**text)?,
            SqlValue::Int(number) => statement.raw_bind_parameter(index, number)?,
            SqlValue::Null => statement.raw_bind_parameter(index, rusqlite::types::Null)?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// A build that does not read `.cargo/config.toml` is correct, but each sign-in then writes some 80 KiB to a temporary file.
    #[test]
    fn the_journal_of_a_sign_in_stays_in_memory() {
        let connection = SqliteConnection::open_in_memory().unwrap();
        let options = connection.rows("PRAGMA compile_options", &[], |row| row.text(0)).unwrap();
        assert!(options.contains(&"STMTJRNL_SPILL=122880".to_owned()), "{options:?}");
    }

    #[test]
    fn a_cached_statement_is_not_compiled_again_for_other_values() {
        let connection = SqliteConnection::open_in_memory().unwrap();
        connection.batch("CREATE TABLE item (name TEXT, size INTEGER); INSERT INTO item VALUES ('a', 1)").unwrap();
        let text = "SELECT name FROM item WHERE size = $1";
        for size in [1, 2, 0, 1] {
            connection.rows(text, &args![size], |row| row.text(0)).unwrap();
        }
        let statement = connection.0.prepare_cached(text).unwrap();
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        assert_eq!(statement.get_status(StatementStatus::Run), 4);
    }

    #[test]
    fn a_file_system_without_a_write_ahead_log_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        // This module of SQLite has no shared memory, as some network file systems.
        let opened = rusqlite::Connection::open_with_flags_and_vfs(
            directory.path().join("test.db"),
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            "unix-dotfile",
        );
        let error = SqliteConnection(opened.unwrap()).configure_writer().unwrap_err().to_string();
        assert!(error.contains("(its journal mode is delete): keep the data on a local disk"), "{error}");
    }
}
