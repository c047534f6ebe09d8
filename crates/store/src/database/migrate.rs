//! Runs the migrations, each once and in order.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use deskpass_core::Timestamp;
use include_dir::{Dir, File, include_dir};

use super::{Mode, OpenError, Sql, Tx};
use crate::login_log::{begin_chains, is_other_key};
use crate::{ChainKeys, Result, StoreError};

static MIGRATION_FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/migrations");

struct Migration {
    id: i64,
    text: &'static str,
    /// Whether it creates one index and nothing else. On tables with data, PostgreSQL builds it outside of a transaction.
    is_index: bool,
}

/// The migrations, oldest first: the files in `migrations/`, whose names begin with their number. A released migration is never
/// edited. Nodes of the previous version keep working during and after a migration, so migrations only add.
static MIGRATIONS: LazyLock<Vec<Migration>> = LazyLock::new(|| {
    let read = |file: &'static File<'_>| {
        let name = file.path().to_str()?;
        let id = name.split_once('_')?.0.parse().ok()?;
        Some(Migration { id, text: file.contents_utf8()?, is_index: name.ends_with("_index.sql") })
    };
    let mut migrations: Vec<_> = MIGRATION_FILES.files().filter_map(read).collect();
    migrations.sort_unstable_by_key(|migration| migration.id);
    migrations
});

/// The migration that creates the marker of the login log. Its row is written in the same transaction, and never again.
const MARKER_MIGRATION: i64 = 10;

const CREATE_MIGRATION_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS migration (id BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)";

/// The lock of the process that builds an index; another one than that of migrations, which would wait in a statement.
const INDEX_LOCK: &str = "hashtext('deskpass index ' || current_schema())";
const INDEX_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Returns the schema version after all migrations.
#[must_use]
pub fn newest_version() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.id)
}

pub(super) enum MigrateError {
    Newer { found: i64, known: i64 },
    Mode { found: String, wanted: Mode },
    Key,
    Store(StoreError),
}

impl From<StoreError> for MigrateError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl MigrateError {
    /// Converts this error for the caller that opens the data at `place`. `instead` says what to do about a wrong mode.
    pub(super) fn into_open_error(
        self,
        place: impl fmt::Display,
        instead: &'static str,
        failed: impl FnOnce(StoreError) -> OpenError,
    ) -> OpenError {
        match self {
            Self::Newer { found, known } => OpenError::Newer { found, known },
            Self::Mode { found, wanted } => {
                OpenError::Mode { place: place.to_string(), found, wanted: wanted.name(), instead }
            }
            Self::Key => OpenError::Key(place.to_string()),
            Self::Store(error) => failed(error),
        }
    }
}

/// Runs the missing migrations, unless the data has another mode or was written with another key. When several
/// processes migrate at once, one does the work. With a key, the migration that creates the marker table also writes
/// the marker. Without a key, no marker is written and `deskpass audit verify` reports that: for a target that receives
/// the marker of its source.
pub(super) fn run(sql: &Sql<'_>, mode: Mode, now: Timestamp, key: Option<&ChainKeys>) -> Result<(), MigrateError> {
    // Usually there is nothing to do, and this check needs only read permission.
    while schema_version(sql)? != newest_version() {
        begin(sql)?;
        let outcome = migrate(sql, mode, now, key, IndexBuild::on(sql)?).and_then(|()| Ok(sql.batch("COMMIT")?));
        if outcome.is_err() {
            // If the rollback fails too, closing the connection rolls the transaction back.
            let _ = sql.batch("ROLLBACK");
        }
        outcome?;
        build_next_index(sql, now)?;
    }
    check_mode(sql, mode)
}

/// Builds the index that comes next, if one does, without blocking the nodes that write meanwhile. When several processes do so,
/// one builds and the others wait: outside of a statement, since PostgreSQL waits for the statements of others.
fn build_next_index(sql: &Sql<'_>, now: Timestamp) -> Result<()> {
    let found = schema_version(sql)?;
    let Some(index) = MIGRATIONS.iter().find(|migration| migration.id > found && migration.is_index) else {
        return Ok(());
    };
    if !sql.exists(&format!("SELECT 1 WHERE pg_try_advisory_lock({INDEX_LOCK})"), &[])? {
        std::thread::sleep(INDEX_POLL_INTERVAL);
        return Ok(());
    }
    if schema_version(sql)? == found {
        let (name, statement) = concurrent(index.text);
        tracing::info!(name, "building an index of the database; the service works meanwhile");
        sql.batch("SET statement_timeout = 0")?;
        // What an interrupted attempt left is not valid.
        sql.batch(&format!("DROP INDEX CONCURRENTLY IF EXISTS {name}"))?;
        sql.batch(&statement)?;
        sql.execute("INSERT INTO migration (id, applied_at) VALUES ($1, $2)", &args![index.id, now])?;
    }
    sql.batch(&format!("SELECT pg_advisory_unlock({INDEX_LOCK})"))
}

/// Returns the name of the index that a migration creates, and the statement that creates it without blocking writers.
fn concurrent(migration: &str) -> (&str, String) {
    let at = migration.find("CREATE INDEX ").unwrap_or_default();
    let rest = migration.get(at..).and_then(|text| text.strip_prefix("CREATE INDEX ")).unwrap_or_default();
    (rest.split(' ').next().unwrap_or_default(), format!("CREATE INDEX CONCURRENTLY {rest}"))
}

/// Begins a transaction and migrates the tables in it, without a marker: the target receives that of its source. It is empty.
pub(super) fn begin_migrated(sql: &Sql<'_>, mode: Mode, now: Timestamp) -> Result<(), MigrateError> {
    begin(sql)?;
    if schema_version(sql)? == newest_version() {
        check_mode(sql, mode)
    } else {
        migrate(sql, mode, now, None, IndexBuild::Inside)
    }
}

/// Creates the tables of a version in an empty database.
pub(super) fn create_tables(sql: &Sql<'_>, version: i64) -> Result<()> {
    MIGRATIONS.iter().filter(|migration| migration.id <= version).try_for_each(|migration| sql.batch(migration.text))
}

/// Begins a transaction, and creates the tables of a version in it if there are none; returns the version found. The mode of the
/// data is loaded later.
pub(super) fn begin_version(sql: &Sql<'_>, version: i64, now: Timestamp) -> Result<i64> {
    begin(sql)?;
    let found = schema_version(sql)?;
    if found == 0 {
        sql.batch(CREATE_MIGRATION_TABLE)?;
        create_tables(sql, version)?;
        for migration in MIGRATIONS.iter().filter(|migration| migration.id <= version) {
            sql.execute("INSERT INTO migration (id, applied_at) VALUES ($1, $2)", &args![migration.id, now])?;
        }
    }
    Ok(found)
}

/// Runs the missing migrations in the running transaction.
pub(super) fn complete(sql: &Sql<'_>, mode: Mode, now: Timestamp, key: &ChainKeys) -> Result<(), MigrateError> {
    migrate(sql, mode, now, Some(key), IndexBuild::Inside)
}

/// Begins a transaction that excludes other migrations.
fn begin(sql: &Sql<'_>) -> Result<()> {
    match sql {
        Sql::Sqlite(_) => sql.batch("BEGIN IMMEDIATE"),
        // A table change waits for running statements, and new ones wait behind it: so the lock timeout is short.
        Sql::Postgres(_) => sql.batch(
            "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
             SELECT pg_advisory_xact_lock(hashtext('deskpass ' || current_schema()));
             SET LOCAL lock_timeout = 3000",
        ),
    }
}

/// Where indexes are built: inside the transaction of the migration, or after it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IndexBuild {
    Inside,
    After,
}

impl IndexBuild {
    /// Building inside blocks the other nodes: it is for new tables, for SQLite, which has one node, and for data from before the
    /// marker, whose rows are all rewritten in the transaction that also needs the tables of the last migration.
    fn on(sql: &Sql<'_>) -> Result<Self> {
        let is_inside = matches!(sql, Sql::Sqlite(_)) || schema_version(sql)? < MARKER_MIGRATION;
        Ok(if is_inside { Self::Inside } else { Self::After })
    }
}

fn migrate(
    sql: &Sql<'_>,
    mode: Mode,
    now: Timestamp,
    key: Option<&ChainKeys>,
    indexes: IndexBuild,
) -> Result<(), MigrateError> {
    let known = newest_version();
    sql.batch(CREATE_MIGRATION_TABLE)?;
    let found = version(sql)?;
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    if found > 0 {
        check_mode(sql, mode)?;
    }
    let missing = MIGRATIONS.iter().filter(|migration| migration.id > found);
    for Migration { id, text, .. } in
        missing.take_while(|migration| indexes == IndexBuild::Inside || !migration.is_index)
    {
        sql.batch(text)?;
        sql.execute("INSERT INTO migration (id, applied_at) VALUES ($1, $2)", &args![*id, now])?;
    }
    // After the last one: rows are read with all columns of this version.
    if let Some(key) = key.filter(|_| found < MARKER_MIGRATION) {
        if found > 0 && mode == Mode::Production && is_other_key(sql, key)? {
            return Err(MigrateError::Key);
        }
        begin_chains(&Tx::new(*sql), key, now)?;
    }
    if found == 0 {
        sql.execute("INSERT INTO desk (mode) VALUES ($1)", &args![mode.name()])?;
    }
    check_mode(sql, mode)
}

/// Returns the schema version, or 0 when there are no tables.
pub(crate) fn schema_version(sql: &Sql<'_>) -> Result<i64> {
    if has_migrations(sql)? { version(sql) } else { Ok(0) }
}

fn has_migrations(sql: &Sql<'_>) -> Result<bool> {
    let text = match sql {
        Sql::Sqlite(_) => "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migration'",
        Sql::Postgres(_) => "SELECT 1 WHERE to_regclass('migration') IS NOT NULL",
    };
    sql.exists(text, &[])
}

fn version(sql: &Sql<'_>) -> Result<i64> {
    Ok(sql.first("SELECT COALESCE(MAX(id), 0) FROM migration", &[], |row| row.int(0))?.unwrap_or(0))
}

/// Rejects data that was created in the other mode.
pub(super) fn check_mode(sql: &Sql<'_>, wanted: Mode) -> Result<(), MigrateError> {
    let found = sql.first("SELECT mode FROM desk", &[], |row| row.text(0))?;
    let found = found.ok_or_else(|| StoreError::damaged("the database does not record its mode"))?;
    if found == wanted.name() { Ok(()) } else { Err(MigrateError::Mode { found, wanted }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_without_gaps() {
        assert!(MIGRATIONS.iter().map(|migration| migration.id).eq(1..=newest_version()));
        assert_eq!(MIGRATIONS.len(), MIGRATION_FILES.files().count());
    }

    #[test]
    fn a_migration_that_builds_an_index_does_nothing_else() {
        for Migration { text, .. } in MIGRATIONS.iter().filter(|migration| migration.is_index) {
            let statement = text.lines().find(|line| !line.starts_with("--")).unwrap_or_default();
            assert_eq!(text.matches(';').count(), 1);
            let (name, concurrent) = concurrent(text);
            assert!(statement.starts_with(&format!("CREATE INDEX {name} ON ")), "{name}");
            assert!(concurrent.starts_with(&format!("CREATE INDEX CONCURRENTLY {name} ON ")), "{concurrent}");
        }
    }
}
