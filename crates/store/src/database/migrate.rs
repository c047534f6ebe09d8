//! Runs the migrations, each once and in order.

use std::fmt;
use std::sync::LazyLock;

use deskpass_core::Timestamp;
use include_dir::{Dir, File, include_dir};

use super::{Mode, OpenError, Sql, Tx};
use crate::login_log::{begin_chains, is_other_key};
use crate::{ChainKey, Result, StoreError};

static MIGRATION_FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/migrations");

/// The migrations, oldest first: the files in `migrations/`, whose names begin with their number. A released migration is never
/// edited. Nodes of the previous version keep working during and after a migration, so migrations only add.
static MIGRATIONS: LazyLock<Vec<(i64, &'static str)>> = LazyLock::new(|| {
    let number = |file: &File<'_>| file.path().to_str()?.split_once('_')?.0.parse().ok();
    let text = |file: &'static File<'_>| Some((number(file)?, file.contents_utf8()?));
    let mut migrations: Vec<_> = MIGRATION_FILES.files().filter_map(text).collect();
    migrations.sort_unstable();
    migrations
});

/// The migration that creates the marker of the login log. Its row is written in the same transaction, and never again.
const MARKER_MIGRATION: i64 = 10;

/// Returns the schema version after all migrations.
#[must_use]
pub fn newest_version() -> i64 {
    MIGRATIONS.last().map_or(0, |(id, _)| *id)
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
pub(super) fn run(sql: &Sql<'_>, mode: Mode, now: Timestamp, key: Option<&ChainKey>) -> Result<(), MigrateError> {
    let known = newest_version();
    // Usually there is nothing to do, and this check needs only read permission.
    if schema_version(sql)? == known {
        return check_mode(sql, mode);
    }
    begin(sql)?;
    let outcome = migrate(sql, mode, now, key).and_then(|()| Ok(sql.batch("COMMIT")?));
    if outcome.is_err() {
        // If the rollback fails too, closing the connection rolls the transaction back.
        let _ = sql.batch("ROLLBACK");
    }
    outcome
}

/// Begins a transaction and migrates the tables in it, without a marker: the target receives that of its source.
pub(super) fn begin_migrated(sql: &Sql<'_>, mode: Mode, now: Timestamp) -> Result<(), MigrateError> {
    begin(sql)?;
    if schema_version(sql)? == newest_version() { check_mode(sql, mode) } else { migrate(sql, mode, now, None) }
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

fn migrate(sql: &Sql<'_>, mode: Mode, now: Timestamp, key: Option<&ChainKey>) -> Result<(), MigrateError> {
    let known = newest_version();
    sql.batch("CREATE TABLE IF NOT EXISTS migration (id BIGINT NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL)")?;
    let found = version(sql)?;
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    if found > 0 {
        check_mode(sql, mode)?;
    }
    for (id, text) in MIGRATIONS.iter().filter(|(id, _)| *id > found) {
        sql.batch(text)?;
        sql.execute("INSERT INTO migration (id, applied_at) VALUES ($1, $2)", &args![*id, now])?;
        if let Some(key) = key.filter(|_| *id == MARKER_MIGRATION) {
            if found > 0 && mode == Mode::Production && is_other_key(sql, key)? {
                return Err(MigrateError::Key);
            }
            begin_chains(&Tx::new(*sql), key, now)?;
        }
    }
    if found == 0 {
        sql.execute("INSERT INTO desk (mode) VALUES ($1)", &args![mode.name()])?;
    }
    check_mode(sql, mode)
}

/// Returns the schema version, or 0 when there are no tables.
pub(super) fn schema_version(sql: &Sql<'_>) -> Result<i64> {
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
        assert!(MIGRATIONS.iter().map(|(id, _)| *id).eq(1..=newest_version()));
        assert_eq!(MIGRATIONS.len(), MIGRATION_FILES.files().count());
    }
}
