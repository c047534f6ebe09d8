//! A connection to the embedded database.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::types::ValueRef;
use rusqlite::wal::CheckpointMode;
use rusqlite::{CachedStatement, ErrorCode, OpenFlags, Statement, ffi};
use tokio::time::Instant;

use crate::database::row_reader::{RowReader, all_rows, first_row};
use crate::database::{Row, SqlValue};
use crate::{Result, StoreError};

/// How many steps of a statement run between two looks at the clock: less than a millisecond.
const STEPS_PER_TIME_CHECK: i32 = 10_000;

pub(crate) struct SqliteConnection(rusqlite::Connection);

/// Why the write-ahead log could not be copied to the database.
#[derive(Debug)]
pub(super) enum CheckpointError {
    /// Another connection is in the way.
    Busy,
    /// The log or the database could not be synced.
    FailedSync(StoreError),
    Other(StoreError),
}

impl From<rusqlite::Error> for CheckpointError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error().map(|found| (found.code, found.extended_code)) {
            Some((ErrorCode::DatabaseBusy, _)) => Self::Busy,
            Some((_, ffi::SQLITE_IOERR_FSYNC)) => Self::FailedSync(error.into()),
            _ => Self::Other(error.into()),
        }
    }
}

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
        // 8 MiB of page cache instead of 2: a sign-in changes pages of a dozen indexes. A log that grew beyond 32 MiB, while a backup was
        // made, is cut to that when it begins anew.
        self.batch(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192; PRAGMA journal_size_limit = 33554432",
        )?;
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

    /// Copies all of the write-ahead log to the database, also what was copied before; `false`, with no effect, while another connection has
    /// the database open.
    pub(super) fn copy_log_alone(path: &Path) -> Result<bool> {
        let connection = Self::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // In this mode, the first read locks the database, and builds an index of the log that knows of no copies.
        let first = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; SELECT COUNT(*) FROM sqlite_schema";
        let copied = connection.0.execute_batch(first);
        let copied =
            copied.and_then(|()| connection.0.wal_checkpoint_v2(Some(rusqlite::MAIN_DB), CheckpointMode::TRUNCATE));
        match copied.map_err(CheckpointError::from) {
            Ok(_) => Ok(true),
            Err(CheckpointError::Busy) => Ok(false),
            Err(CheckpointError::FailedSync(error) | CheckpointError::Other(error)) => Err(error),
        }
    }

    /// After each commit that makes the write-ahead log so many pages long, or leaves it so long, copies what no reader needs to the
    /// database. It is SQLite's own way, which tells nobody of errors. As there, an error is no error of the commit, which is done.
    pub(super) fn checkpoint_after_commits(
        &mut self,
        from_pages: i32,
        report: impl Fn(CheckpointError) + Send + 'static,
    ) -> Result<()> {
        let checkpoint = move |log: &mut Wal, pages| {
            if pages >= from_pages
                && let Err(error) = log.checkpoint()
            {
                report(error.into());
            }
            Ok(())
        };
        Ok(self.0.wal_hook(Some(checkpoint))?)
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
        self.prepare(text)?.execute(values)
    }

    /// Runs statements in their order, and returns how many rows each changed. Those with the same text, one after the other, are prepared
    /// once.
    pub(crate) fn execute_all(&self, statements: &[(&str, Vec<SqlValue<'_>>)]) -> Result<Vec<usize>> {
        let mut changed = Vec::with_capacity(statements.len());
        for same in statements.chunk_by(|(one, _), (other, _)| one == other) {
            let Some((text, _)) = same.first() else { continue };
            let mut statement = self.prepare(text)?;
            for (_, values) in same {
                changed.push(statement.execute(values)?);
            }
        }
        Ok(changed)
    }

    fn prepare(&self, text: &str) -> Result<PreparedStatement<'_>> {
        Ok(PreparedStatement::new(self.0.prepare_cached(text)?))
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
    pub(crate) fn each(&self, text: &str, values: &[SqlValue<'_>], reader: &mut dyn RowReader) -> Result<()> {
        self.prepare(text)?.each(values, reader)
    }

    pub(crate) fn rows<T>(
        &self,
        text: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        all_rows(|reader| self.each(text, values, reader), read)
    }

    /// Returns all rows of a query as untyped values.
    pub(crate) fn values(&self, text: &str, values: &[SqlValue<'_>]) -> Result<Vec<Vec<SqlValue<'static>>>> {
        let PreparedStatement { mut statement, numbers } = self.prepare(text)?;
        bind(&mut statement, &numbers, values)?;
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
        first_row(|reader| self.each(text, values, reader), read)
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

/// A prepared statement, for several lists of values. Looking it up by its text and reading its placeholders costs some 2 µs, as much as
/// finding a row.
struct PreparedStatement<'a> {
    statement: CachedStatement<'a>,
    /// The number of each placeholder; `None` for one that has none.
    numbers: Vec<Option<usize>>,
}

impl<'a> PreparedStatement<'a> {
    /// SQLite numbers placeholders by first appearance, so the number `n` of `$n` is read from the name.
    fn new(statement: CachedStatement<'a>) -> Self {
        let name = |index| statement.parameter_name(index)?.strip_prefix('$')?.parse::<usize>().ok();
        let numbers = (1..=statement.parameter_count()).map(name).collect();
        Self { statement, numbers }
    }

    fn execute(&mut self, values: &[SqlValue<'_>]) -> Result<usize> {
        bind(&mut self.statement, &self.numbers, values)?;
        Ok(self.statement.raw_execute()?)
    }

    /// Reads the rows of a query in their order.
    fn each(&mut self, values: &[SqlValue<'_>], reader: &mut dyn RowReader) -> Result<()> {
        bind(&mut self.statement, &self.numbers, values)?;
        let mut rows = self.statement.raw_query();
        while let Some(row) = rows.next()? {
            if !reader.read(&Row::Sqlite(row))? {
                break;
            }
        }
        Ok(())
    }
}

/// Binds `$n` to the n-th value.
fn bind(statement: &mut Statement<'_>, numbers: &[Option<usize>], values: &[SqlValue<'_>]) -> Result<()> {
    for (index, number) in (1_usize..).zip(numbers) {
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
    fn a_statement_that_runs_several_times_is_prepared_once_and_each_time_has_its_own_values() {
        let connection = SqliteConnection::open_in_memory().unwrap();
        connection.batch("CREATE TABLE item (name TEXT, size INTEGER)").unwrap();
        // The placeholders do not appear in the order of their numbers.
        let (insert, update) = ("INSERT INTO item VALUES ($2, $1)", "UPDATE item SET size = $2 WHERE name = $1");
        let statements = [
            (insert, args![1, "a"].to_vec()),
            (insert, args![2, "b"].to_vec()),
            (update, args!["c", 9].to_vec()),
            (update, args!["b", 8].to_vec()),
            (insert, args![3, "c"].to_vec()),
        ];
        assert_eq!(connection.execute_all(&statements).unwrap(), [1, 1, 0, 1, 1]);
        let found = connection.rows("SELECT size FROM item ORDER BY name", &[], |row| row.int(0));
        assert_eq!(found.unwrap(), [1, 8, 3]);
        let missing = connection.execute_all(&[(insert, args![4].to_vec())]).unwrap_err();
        assert!(missing.to_string().contains("a parameter without a value"), "{missing}");
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
