//! Copies all data from the embedded database to a PostgreSQL server, in one transaction.

use std::path::Path;
use std::sync::Arc;

use deskpass_core::Timestamp;

use super::migrate;
use super::platform_record::recorded_platform;
use super::postgres::{self, Column, PostgresConnection};
use super::sqlite::{Sqlite, SqliteConnection};
use super::tables::used_rows;
use super::{Mode, OpenError, PostgresSettings, RECORD_TIME, Sql, SqlValue};
use crate::cache::{Cache, Freshness};
use crate::{Result, StoreError};

/// The tables that are not copied: they describe the database itself, are the same in every database, or their rows expire soon.
const NOT_COPIED: [&str; 7] = ["chore", "desk", "journal", "migration", "probe", "role", "used_once"];

const BATCH_ROWS: i64 = 5_000;

/// The progress of a copy.
#[derive(Clone, Copy, Debug)]
pub struct CopyProgress<'a> {
    /// The table that is being copied.
    pub table: &'a str,
    /// The number of rows copied so far.
    pub rows: u64,
    /// The total number of rows in the table.
    pub of: u64,
}

/// The result of a copy: every table with its number of rows.
#[derive(Clone, Debug)]
pub struct CopyReport {
    /// The tables, in the order in which they were copied.
    pub tables: Vec<(String, u64)>,
}

/// The reason why nothing was copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source cannot be used: it is in use, has the other mode, has a later version, or is damaged.
    #[error(transparent)]
    Source(OpenError),
    /// The source has tables of an earlier version.
    #[error("its tables have version {found}, and this deskpass copies version {known}")]
    Older {
        /// The version found.
        found: i64,
        /// The version known here.
        known: i64,
    },
    /// The target cannot be used: it is unreachable, has the other mode, or has a later version.
    #[error(transparent)]
    Target(OpenError),
    /// The target contains data.
    #[error("it is not empty: {table} has {rows} row(s)")]
    NotEmpty {
        /// A table that has rows.
        table: String,
        /// The number of its rows.
        rows: u64,
    },
    /// The copy failed part way.
    #[error("it failed in {table}: {error}")]
    Broken {
        /// The table that was being copied.
        table: String,
        /// The error that the database returned.
        error: StoreError,
    },
}

/// Copies the embedded database in `from` into an empty PostgreSQL database. One transaction creates and fills the
/// tables, so a failed copy leaves nothing behind. The source must not be in use, and is not changed.
pub async fn copy(
    from: &Path,
    to: &PostgresSettings,
    mode: Mode,
    now: Timestamp,
    mut progress: impl FnMut(CopyProgress<'_>) + Send + 'static,
) -> Result<CopyReport, CopyError> {
    let unreadable = |error| CopyError::Source(OpenError::Database { path: from.join("deskpass.db"), error });
    let (found, known) = (schema_version(&from.join("deskpass.db")).map_err(unreadable)?, migrate::newest_version());
    // An older source would have to be migrated, which takes the key of the login log.
    if found < known {
        return Err(CopyError::Older { found, known });
    }
    // It may have tables that this program does not know, even if this program can use the others.
    if found > known {
        return Err(CopyError::Source(OpenError::Newer { found, known }));
    }
    // Held until the end, so that no other process changes the source during the copy.
    let cache = Arc::new(Cache::new(1, Freshness::permanent()));
    let source = Sqlite::open(from, mode, cache, now, None).map_err(CopyError::Source)?;
    let reader = source.readers.connect().map_err(unreadable)?;
    let name = postgres::display_name(to).map_err(CopyError::Target)?;
    let work = move |target: &PostgresConnection| {
        let failed = |error| OpenError::Server { server: name.clone(), error };
        let ready = migrate::begin_migrated(&Sql::Postgres(target), mode, now);
        let instead = "choose another database with store.url";
        ready.map_err(|error| CopyError::Target(error.into_open_error(&name, instead, failed)))?;
        copy_all(&reader, target, &mut progress)
    };
    postgres::with_connection(to, work).await.map_err(CopyError::Target)?
}

fn schema_version(path: &Path) -> Result<i64> {
    migrate::schema_version(&Sql::Sqlite(&SqliteConnection::open_reader(path)?))
}

fn copy_all(
    source: &SqliteConnection,
    target: &PostgresConnection,
    progress: &mut impl FnMut(CopyProgress<'_>),
) -> Result<CopyReport, CopyError> {
    let broken = |table: &str| {
        let table = table.to_owned();
        move |error| CopyError::Broken { table, error }
    };
    let names = tables(source).map_err(broken("all tables"))?;
    lock(target).map_err(broken("all tables"))?;
    for table in &names {
        let rows = used_rows(&Sql::Postgres(target), table).map_err(broken(table))?;
        if rows > 0 {
            return Err(CopyError::NotEmpty { table: table.clone(), rows });
        }
    }
    target.batch("DELETE FROM log_chain; DELETE FROM log_marker").map_err(broken("log_chain"))?;
    let mut tables = Vec::new();
    for table in names {
        let rows = copy_table(source, target, &table, progress).map_err(broken(&table))?;
        tables.push((table, rows));
    }
    finish(source, target).map_err(broken("probe"))?;
    Ok(CopyReport { tables })
}

/// The tables to copy, in the order in which they were created: a table exists before another refers to it.
fn tables(source: &SqliteConnection) -> Result<Vec<String>> {
    let text = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid";
    let names = source.rows(text, &[], |row| row.text(0))?;
    Ok(names.into_iter().filter(|name| !NOT_COPIED.contains(&&**name)).collect())
}

/// Locks out sign-ins during the copy. Other connections see an empty target until the commit.
fn lock(target: &PostgresConnection) -> Result<()> {
    target.batch("SET LOCAL lock_timeout = 0")?;
    target.batch("LOCK TABLE employee, session, denied_token, login_log IN SHARE ROW EXCLUSIVE MODE")
}

/// Copies the newest recorded time, so that the clock does not start before it, the key check and the platform; then commits.
fn finish(source: &SqliteConnection, target: &PostgresConnection) -> Result<()> {
    let newest = source.first("SELECT at FROM probe", &[], |row| row.timestamp(0))?;
    target.execute(RECORD_TIME, &args![newest])?;
    let check = source.first("SELECT key_check FROM desk", &[], |row| row.maybe_text(0))?.flatten();
    // It replaces what a service that ran on the empty target recorded.
    let platform = recorded_platform(&Sql::Sqlite(source))?;
    let (kind, person_id) = platform.map(|platform| (platform.kind, platform.person_id)).unzip();
    let text = "UPDATE desk SET key_check = $1, platform_kind = $2, person_id = $3";
    target.execute(text, &args![check.as_deref(), kind.as_deref(), person_id.as_deref()])?;
    postgres::commit_bulk(target)
}

fn copy_table(
    source: &SqliteConnection,
    target: &PostgresConnection,
    table: &str,
    progress: &mut impl FnMut(CopyProgress<'_>),
) -> Result<u64> {
    let columns = columns(source, table)?;
    let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
    let text = format!("SELECT {}, rowid FROM {table} WHERE rowid > $1 ORDER BY rowid LIMIT $2", names.join(", "));
    let count = source.first(&format!("SELECT COUNT(*) FROM {table}"), &[], |row| row.int(0))?;
    let mut progress_so_far = CopyProgress { table, rows: 0, of: count.map_or(0, i64::unsigned_abs) };
    let mut after = i64::MIN;
    loop {
        progress(progress_so_far);
        let mut rows = source.values(&text, &args![after, BATCH_ROWS])?;
        let Some(SqlValue::Int(last)) = rows.last().and_then(|row| row.last()) else { return Ok(progress_so_far.rows) };
        after = *last;
        for row in &mut rows {
            row.pop();
        }
        progress_so_far.rows += target.append(table, &columns, &rows)?;
    }
}

fn columns(source: &SqliteConnection, table: &str) -> Result<Vec<Column>> {
    let text = "SELECT name, type FROM pragma_table_info($1) ORDER BY cid";
    source.rows(text, &args![table], |row| Ok(Column { name: row.text(0)?, is_text: row.text(1)? == "TEXT" }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_copied_or_known_not_to_be() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Arc::new(Cache::new(1, Freshness::permanent()));
        let now = Timestamp::from_millis(0);
        let source = Sqlite::open(directory.path(), Mode::Production, cache, now, None).unwrap();
        let reader = source.readers.connect().unwrap();
        let (copied, all) = (tables(&reader).unwrap(), "SELECT name FROM sqlite_master WHERE type = 'table'");
        assert!(copied.iter().any(|table| table == "session"));
        assert_eq!(copied.len() + NOT_COPIED.len(), reader.rows(all, &[], |row| row.text(0)).unwrap().len());
    }
}
