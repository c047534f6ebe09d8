//! Runs the migrations, each once and in order.

mod files;
mod version;

use std::fmt;
use std::time::Duration;

use deskpass_core::Timestamp;

pub use files::newest_version;
pub use version::SchemaFit;
pub(crate) use version::{require_known_version, schema_fit, schema_version};

use super::postgres::commit_maintenance;
use super::{Mode, OpenError, Sql, Tx};
use crate::login_log::{begin_chains, is_other_key};
use crate::{ChainKeys, Result, StoreError};
use files::{MIGRATIONS, Migration};
use version::{CREATE_MIGRATION_TABLE, record};

/// The migration that creates the marker of the login log. Its row is written in the same transaction, and never again.
const MARKER_MIGRATION: i64 = 10;

/// How long a migration waits for a table that it changes, in milliseconds. The statements of nodes wait behind it, so even several
/// such waits, one after the other, are shorter than their timeout (1.5 s by default). Then others can use the table, until the next
/// attempt.
const TABLE_LOCK_TIMEOUT_MILLIS: u32 = 150;

/// How long a migration waits until no vacuum works on the tables that it changes, in milliseconds, in addition to `deadlock_timeout`
/// (usually 1 s): automatic vacuum gives way to those who have waited for that. No statement of a node waits behind this.
const VACUUM_LOCK_TIMEOUT_MILLIS: u32 = 4_000;

/// The lock of the process that builds an index; another one than that of migrations, which would wait in a statement.
const INDEX_LOCK: &str = "hashtext('deskpass index ' || current_schema())";
const INDEX_POLL_INTERVAL: Duration = Duration::from_millis(200);

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
    while step(sql, mode, now, key)? {}
    Ok(())
}

/// Runs the next missing migration, or all of them where no other node uses the tables; returns whether there was one. Data of a later
/// version is left as it is, if this program can use it.
pub(super) fn step(sql: &Sql<'_>, mode: Mode, now: Timestamp, key: Option<&ChainKeys>) -> Result<bool, MigrateError> {
    // Usually there is nothing to do, and this check needs only read permission.
    let found = match schema_fit(sql)? {
        SchemaFit::Older(found) => found,
        SchemaFit::Newer { found, known } => return Err(MigrateError::Newer { found, known }),
        SchemaFit::Same => return check_mode(sql, mode).map(|()| false),
        SchemaFit::Compatible(found) => {
            tracing::info!(found, known = newest_version(), "the tables have a later version, which this one can use");
            return check_mode(sql, mode).map(|()| false);
        }
    };
    let extent = Extent::on(sql, found);
    let next = MIGRATIONS.iter().find(|migration| migration.id > found);
    if let Some(index) = next.filter(|next| extent == Extent::Next && next.is_index) {
        build_index(sql, index, now)?;
        return Ok(true);
    }
    begin(sql)?;
    let outcome = migrate(sql, mode, now, key, extent).and_then(|()| Ok(commit(sql)?));
    if outcome.is_err() {
        // If the rollback fails too, closing the connection rolls the transaction back.
        let _ = sql.batch("ROLLBACK");
    }
    match outcome {
        // A newer program migrated the data meanwhile. The next step finds out whether this program can use it.
        Err(MigrateError::Newer { .. }) => Ok(true),
        outcome => outcome.map(|()| true),
    }
}

/// How much a transaction migrates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Everything that is missing, indexes too. That blocks other nodes: it is for new tables, for SQLite, which has one node, and for
    /// data from before the marker, whose rows are all rewritten in the transaction that also needs the tables of the last migration.
    All,
    /// The next migration, unless it creates an index. Two of them would keep tables locked together that nodes lock in another order.
    Next,
}

impl Extent {
    /// The extent for tables of a version.
    fn on(sql: &Sql<'_>, found: i64) -> Self {
        if matches!(sql, Sql::Postgres(_)) && found >= MARKER_MIGRATION { Self::Next } else { Self::All }
    }
}

/// Builds an index without blocking the nodes that write meanwhile. When several processes do so, one builds and the others wait:
/// outside of a statement, since PostgreSQL waits for the statements of others.
fn build_index(sql: &Sql<'_>, index: &Migration, now: Timestamp) -> Result<()> {
    if !sql.exists(&format!("SELECT 1 WHERE pg_try_advisory_lock({INDEX_LOCK})"), &[])? {
        std::thread::sleep(INDEX_POLL_INTERVAL);
        return Ok(());
    }
    let built = build_if_missing(sql, index, now);
    let unlocked = sql.batch(&format!("SELECT pg_advisory_unlock({INDEX_LOCK})"));
    built.and(unlocked)
}

fn build_if_missing(sql: &Sql<'_>, index: &Migration, now: Timestamp) -> Result<()> {
    if schema_version(sql)? >= index.id {
        return Ok(());
    }
    let (name, statement) = index.concurrent_index();
    tracing::info!(name, "building an index of the database; the service works meanwhile");
    sql.batch("SET statement_timeout = 0")?;
    // What an interrupted attempt left is not valid.
    sql.batch(&format!("DROP INDEX CONCURRENTLY IF EXISTS {name}"))?;
    sql.batch(&statement)?;
    record(sql, index.id, now)
}

/// Begins a transaction and migrates the tables in it, without a marker: the target receives that of its source. It is empty.
pub(super) fn begin_migrated(sql: &Sql<'_>, mode: Mode, now: Timestamp) -> Result<(), MigrateError> {
    begin(sql)?;
    if schema_version(sql)? == newest_version() {
        check_mode(sql, mode)
    } else {
        migrate(sql, mode, now, None, Extent::All)
    }
}

/// Creates the tables of a version in an empty database.
pub(super) fn create_tables(sql: &Sql<'_>, version: i64) -> Result<()> {
    sql.batch(CREATE_MIGRATION_TABLE)?;
    MIGRATIONS.iter().filter(|migration| migration.id <= version).try_for_each(|migration| sql.batch(migration.text))
}

/// Begins a transaction, and creates the tables of a version in it if there are none; returns the version found. The mode of the
/// data is loaded later.
pub(super) fn begin_version(sql: &Sql<'_>, version: i64, now: Timestamp) -> Result<i64> {
    begin(sql)?;
    let found = schema_version(sql)?;
    if found == 0 {
        create_tables(sql, version)?;
        for migration in MIGRATIONS.iter().filter(|migration| migration.id <= version) {
            record(sql, migration.id, now)?;
        }
    }
    Ok(found)
}

/// Runs the missing migrations in the running transaction.
pub(super) fn complete(sql: &Sql<'_>, mode: Mode, now: Timestamp, key: &ChainKeys) -> Result<(), MigrateError> {
    migrate(sql, mode, now, Some(key), Extent::All)
}

/// Begins a transaction that excludes other migrations.
fn begin(sql: &Sql<'_>) -> Result<()> {
    match sql {
        Sql::Sqlite(_) => sql.batch("BEGIN IMMEDIATE"),
        Sql::Postgres(_) => sql.batch(&format!(
            "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
             SELECT pg_advisory_xact_lock(hashtext('deskpass ' || current_schema()));
             SET LOCAL lock_timeout = {TABLE_LOCK_TIMEOUT_MILLIS}"
        )),
    }
}

fn commit(sql: &Sql<'_>) -> Result<()> {
    match sql {
        Sql::Sqlite(_) => sql.batch("COMMIT"),
        Sql::Postgres(connection) => commit_maintenance(connection),
    }
}

/// Has vacuum leave the tables that a migration is about to change, until the end of the transaction. Nodes go on writing.
fn exclude_vacuum(sql: &Sql<'_>, migration: &Migration) -> Result<()> {
    let tables = migration.changed_tables();
    if tables.is_empty() {
        return Ok(());
    }
    sql.batch(&format!(
        "SELECT set_config('lock_timeout', (setting::bigint + {VACUUM_LOCK_TIMEOUT_MILLIS})::text, true)
             FROM pg_settings WHERE name = 'deadlock_timeout';
         LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE;
         SET LOCAL lock_timeout = {TABLE_LOCK_TIMEOUT_MILLIS}",
        tables.join(", ")
    ))
}

fn migrate(
    sql: &Sql<'_>,
    mode: Mode,
    now: Timestamp,
    key: Option<&ChainKeys>,
    extent: Extent,
) -> Result<(), MigrateError> {
    let known = newest_version();
    sql.batch(CREATE_MIGRATION_TABLE)?;
    let found = schema_version(sql)?;
    if found > known {
        return Err(MigrateError::Newer { found, known });
    }
    if found > 0 {
        check_mode(sql, mode)?;
    }
    let mut missing = MIGRATIONS.iter().filter(|migration| migration.id > found);
    match extent {
        Extent::All => missing.try_for_each(|migration| apply(sql, migration, now))?,
        Extent::Next => {
            // Another process may have run the one before meanwhile.
            for migration in missing.take(1).filter(|migration| !migration.is_index) {
                exclude_vacuum(sql, migration)?;
                apply(sql, migration, now)?;
            }
        }
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

fn apply(sql: &Sql<'_>, migration: &Migration, now: Timestamp) -> Result<()> {
    sql.batch(migration.text)?;
    record(sql, migration.id, now)
}

/// Rejects data that was created in the other mode.
pub(super) fn check_mode(sql: &Sql<'_>, wanted: Mode) -> Result<(), MigrateError> {
    let found = sql.first("SELECT mode FROM desk", &[], |row| row.text(0))?;
    let found = found.ok_or_else(|| StoreError::damaged("the database does not record its mode"))?;
    if found == wanted.name() { Ok(()) } else { Err(MigrateError::Mode { found, wanted }) }
}
