//! Creates the data from a backup, in an empty directory or database.
//!
//! All of it is one transaction, or one file that is renamed at the end. It takes effect only after the last record of the
//! backup, which is returned only if the whole file is as it was written.

use std::io::Read;

use deskpass_core::Timestamp;

use super::migrate::{self, MigrateError};
use super::platform_record::{DataPlatform, PlatformMismatch, recorded_platform};
use super::postgres::{self, Column};
use super::sqlite::{NewDatabase, NewDatabaseError};
use super::tables::{Table, tables_at, used_rows};
use super::{CopyProgress, Location, Mode, OpenError, Sql, SqlValue, Tx};
use crate::backup_file::{BackupFileError, BackupHeader, BackupPassword, BackupReader, Record};
use crate::cache::CacheChange;
use crate::login_log::{is_other_key, is_own_key, restart_chains};
use crate::sessions::{EndedByRestore, end_restored};
use crate::{ChainKeys, LogEntry, Result, StoreError};

/// The number of rows that are in memory at once.
const BATCH_ROWS: usize = 1_000;
/// The size of the rows that are in memory at once, to within one row.
const BATCH_BYTES: usize = 8 << 20;
/// What a value takes besides its text.
const VALUE_BYTES: usize = size_of::<SqlValue<'static>>();

/// What happens to the sessions of a backup, and to other things that may have ended or been used since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoredSessions {
    /// They end, since they may have ended since the backup.
    End {
        /// How long their digests are denied.
        deny_until: Timestamp,
    },
    /// They continue: nothing has changed since the backup.
    Keep,
}

/// What a restore needs besides the backup.
#[derive(Debug)]
pub struct RestoreSettings {
    /// The mode that the data must have.
    pub mode: Mode,
    /// The platform that the data must belong to.
    pub platform: DataPlatform,
    /// The time of the restore.
    pub now: Timestamp,
    /// The key that the data must have been written with. Development mode accepts any.
    pub key: ChainKeys,
    /// Whether the key that the data was written with is lost: then the log continues with `key`.
    pub key_is_lost: bool,
    /// The password of an encrypted backup.
    pub password: Option<BackupPassword>,
    /// What happens to the sessions.
    pub sessions: RestoredSessions,
}

/// Data that was restored.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// What the backup says about itself.
    pub header: BackupHeader,
    /// The tables with their numbers of rows.
    pub tables: Vec<(String, u64)>,
    /// What ended; `None` if everything was kept.
    pub ended: Option<EndedByRestore>,
}

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The backup cannot be read.
    #[error(transparent)]
    File(#[from] BackupFileError),
    /// A later version wrote the backup.
    #[error(
        "deskpass {deskpass} wrote it with tables of version {found}, and this deskpass knows versions up to {known}"
    )]
    Newer {
        /// The version of the program that wrote it.
        deskpass: String,
        /// The version of the tables.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// The data has the other mode.
    #[error("its data was created in {found} and cannot be used in {wanted}")]
    Mode {
        /// The mode of the data.
        found: String,
        /// The requested mode.
        wanted: &'static str,
    },
    /// The data belongs to another platform.
    #[error(transparent)]
    Platform(#[from] PlatformMismatch),
    /// The data was written with another key.
    #[error("encryption_key is not the key that its data was written with")]
    Key,
    /// The target cannot be used.
    #[error(transparent)]
    Target(#[from] OpenError),
    /// Nodes run on the target: they would continue with what they know about an empty database.
    #[error("nodes run on it")]
    NodesRun,
    /// The target contains data.
    #[error("it is not empty: {0}")]
    NotEmpty(String),
    /// The target has tables of another version.
    #[error("it has tables of version {found}, and the backup has version {wanted}")]
    OtherTables {
        /// The version found.
        found: i64,
        /// The version of the backup.
        wanted: i64,
    },
    /// The target failed.
    #[error("it failed in {table}: {error}")]
    Broken {
        /// The table that was being written.
        table: String,
        /// The error that the database returned.
        error: StoreError,
    },
}

/// Creates the data at `to` from a backup, and logs what `entry` returns for it. The target must be empty. After a failure or an
/// interruption it is as before.
pub async fn restore<R: Read + Send + 'static>(
    from: R,
    to: &Location,
    settings: RestoreSettings,
    entry: impl FnOnce(&BackupHeader) -> LogEntry + Send + 'static,
    mut progress: impl FnMut(CopyProgress<'_>) + Send + 'static,
) -> Result<RestoreReport, RestoreError> {
    match to.clone() {
        Location::Embedded(directory) => {
            let job = tokio::task::spawn_blocking(move || {
                let backup = open(from, &settings)?;
                let target = NewDatabase::create(&directory).map_err(|error| match error {
                    NewDatabaseError::Occupied(path) => RestoreError::NotEmpty(path.display().to_string()),
                    NewDatabaseError::Open(error) => RestoreError::Target(error),
                })?;
                let place = directory.display().to_string();
                let loaded = load(&Sql::Sqlite(&target.connection), backup, &settings, entry, &mut progress, &place);
                if loaded.is_ok() {
                    target.install()?;
                } else {
                    target.discard();
                }
                loaded
            });
            job.await.map_err(|error| broken("all tables")(StoreError::unavailable(&error)))?
        }
        Location::Postgres(server) => {
            let place = postgres::display_name(&server)?;
            let work = move |target: &postgres::PostgresConnection| {
                let backup = open(from, &settings)?;
                load(&Sql::Postgres(target), backup, &settings, entry, &mut progress, &place)
            };
            postgres::with_connection(&server, work).await?
        }
    }
}

fn broken(table: &str) -> impl FnOnce(StoreError) -> RestoreError + use<> {
    let table = table.to_owned();
    move |error| RestoreError::Broken { table, error }
}

/// Opens the backup and requires that its data can be used here.
fn open<R: Read>(from: R, settings: &RestoreSettings) -> Result<BackupReader<R>, RestoreError> {
    let backup = BackupReader::open(from, settings.password.as_ref())?;
    let BackupHeader { deskpass, schema, mode, .. } = &backup.header;
    let known = migrate::newest_version();
    if *schema < 1 {
        return Err(BackupFileError::Damaged.into());
    }
    if *schema > known {
        return Err(RestoreError::Newer { deskpass: deskpass.clone(), found: *schema, known });
    }
    let wanted = settings.mode.name();
    if mode != wanted {
        return Err(RestoreError::Mode { found: mode.clone(), wanted });
    }
    Ok(backup)
}

/// Loads the backup in one transaction, and commits it.
fn load<R: Read>(
    sql: &Sql<'_>,
    mut backup: BackupReader<R>,
    settings: &RestoreSettings,
    entry: impl FnOnce(&BackupHeader) -> LogEntry,
    progress: &mut impl FnMut(CopyProgress<'_>),
    place: &str,
) -> Result<RestoreReport, RestoreError> {
    let version = backup.header.schema;
    let found = migrate::begin_version(sql, version, settings.now).map_err(broken("all tables"))?;
    if let Sql::Postgres(target) = sql
        && !postgres::lock_out_nodes(target).map_err(broken("all tables"))?
    {
        return Err(RestoreError::NodesRun);
    }
    let known = tables_at(version).map_err(broken("all tables"))?;
    if found != 0 {
        require_empty(sql, &known, found, version)?;
    }
    for table in known.iter().rev() {
        sql.execute(&format!("DELETE FROM {}", table.name), &[]).map_err(broken(&table.name))?;
    }
    let tables = load_tables(sql, &mut backup, &known, progress)?;
    let migrated = migrate::complete(sql, settings.mode, settings.now, &settings.key);
    migrated.map_err(|error| migration_error(error, place))?;
    if let Some(platform) = recorded_platform(sql).map_err(broken("desk"))? {
        platform.require(&settings.platform)?;
    }
    let entry = entry(&backup.header);
    let ended = complete(sql, settings, &entry)?;
    let committed = match sql {
        Sql::Sqlite(_) => sql.batch("COMMIT"),
        Sql::Postgres(connection) => postgres::commit_bulk(connection),
    };
    committed.map_err(broken("all tables"))?;
    Ok(RestoreReport { header: backup.header, tables, ended })
}

/// Requires that an existing database has the tables of the backup and no data, and locks out sign-ins.
fn require_empty(sql: &Sql<'_>, known: &[Table], found: i64, wanted: i64) -> Result<(), RestoreError> {
    if found != wanted {
        return Err(RestoreError::OtherTables { found, wanted });
    }
    let lock = "LOCK TABLE employee, session, denied_token, login_log IN SHARE ROW EXCLUSIVE MODE";
    if let Sql::Postgres(_) = sql {
        sql.batch(lock).map_err(broken("all tables"))?;
    }
    for Table { name, .. } in known {
        let rows = used_rows(sql, name).map_err(broken(name))?;
        if rows > 0 {
            return Err(RestoreError::NotEmpty(format!("{name} has {rows} row(s)")));
        }
    }
    Ok(())
}

fn migration_error(error: MigrateError, place: &str) -> RestoreError {
    match error {
        MigrateError::Key => RestoreError::Key,
        MigrateError::Store(error) => broken("all tables")(error),
        MigrateError::Mode { found, wanted } => RestoreError::Mode { found, wanted: wanted.name() },
        newer @ MigrateError::Newer { .. } => {
            let failed = |error| OpenError::Server { server: place.to_owned(), error };
            RestoreError::Target(newer.into_open_error(place, "", failed))
        }
    }
}

/// Loads the tables. A backup has all of them, once each, with all columns, in the order in which it was written.
fn load_tables<R: Read>(
    sql: &Sql<'_>,
    backup: &mut BackupReader<R>,
    known: &[Table],
    progress: &mut impl FnMut(CopyProgress<'_>),
) -> Result<Vec<(String, u64)>, RestoreError> {
    let mut loaded = Vec::new();
    loop {
        match backup.next_record()? {
            Record::Table { name, columns } => {
                // Names go into statements, so only those that the migrations know.
                let table = known.get(loaded.len()).filter(|table| table.name == name);
                let table = table.filter(|table| table.column_names() == columns).ok_or(BackupFileError::Damaged)?;
                let rows = load_table(sql, backup, &name, &table.columns, progress)?;
                loaded.push((name, rows));
            }
            Record::End { tables, rows } => {
                let total = loaded.iter().map(|(_, rows)| rows).sum::<u64>();
                let is_all = loaded.len() == known.len() && loaded.len() == tables && total == rows;
                return if is_all { Ok(loaded) } else { Err(BackupFileError::Damaged.into()) };
            }
            Record::Row(_) | Record::TableEnd { .. } => return Err(BackupFileError::Damaged.into()),
        }
    }
}

fn load_table<R: Read>(
    sql: &Sql<'_>,
    backup: &mut BackupReader<R>,
    table: &str,
    columns: &[Column],
    progress: &mut impl FnMut(CopyProgress<'_>),
) -> Result<u64, RestoreError> {
    let (mut batch, mut bytes, mut rows) = (Vec::new(), 0, 0);
    loop {
        let record = backup.next_record()?;
        let ended = match record {
            Record::Row(row) if fits(&row, columns) => {
                bytes += size(&row);
                batch.push(row);
                None
            }
            Record::TableEnd { rows } => Some(rows),
            _ => return Err(BackupFileError::Damaged.into()),
        };
        if batch.len() == BATCH_ROWS || bytes >= BATCH_BYTES || ended.is_some() {
            append(sql, table, columns, &batch).map_err(broken(table))?;
            rows += u64::try_from(batch.len()).unwrap_or(0);
            batch.clear();
            bytes = 0;
            progress(CopyProgress { table, rows, of: ended.unwrap_or(rows) });
        }
        if let Some(written) = ended {
            return if written == rows { Ok(rows) } else { Err(BackupFileError::Damaged.into()) };
        }
    }
}

/// The memory that a row takes.
fn size(row: &[SqlValue<'_>]) -> usize {
    let size = |value: &SqlValue<'_>| VALUE_BYTES + if let SqlValue::Text(text) = value { text.len() } else { 0 };
    row.iter().map(size).sum()
}

/// Whether a row has a value of the right type for each column.
fn fits(row: &[SqlValue<'_>], columns: &[Column]) -> bool {
    let fits = |(value, column): (&SqlValue<'_>, &Column)| match value {
        SqlValue::Null => true,
        SqlValue::Text(_) => column.is_text,
        SqlValue::Int(_) => !column.is_text,
    };
    row.len() == columns.len() && row.iter().zip(columns).all(fits)
}

fn append(sql: &Sql<'_>, table: &str, columns: &[Column], rows: &[Vec<SqlValue<'static>>]) -> Result<()> {
    match sql {
        Sql::Sqlite(connection) => {
            let names = columns.iter().map(|column| &*column.name).collect::<Vec<_>>().join(", ");
            let places = (1..=columns.len()).map(|at| format!("${at}")).collect::<Vec<_>>().join(", ");
            let text = format!("INSERT INTO {table} ({names}) VALUES ({places})");
            rows.iter().try_for_each(|row| connection.execute(&text, row).map(drop))
        }
        Sql::Postgres(_) if rows.is_empty() => Ok(()),
        Sql::Postgres(connection) => connection.append(table, columns, rows).map(drop),
    }
}

/// Checks the key, ends what may have ended since the backup, and writes the row of the log; returns what ended.
fn complete(
    sql: &Sql<'_>,
    settings: &RestoreSettings,
    entry: &LogEntry,
) -> Result<Option<EndedByRestore>, RestoreError> {
    let RestoreSettings { mode, now, key, key_is_lost, sessions, .. } = settings;
    let log = || broken("login_log");
    let is_wrong = !is_own_key(sql, key).map_err(log())? && is_other_key(sql, key).map_err(log())?;
    if is_wrong && !key_is_lost && *mode == Mode::Production {
        return Err(RestoreError::Key);
    }
    let mut tx = Tx::new(*sql);
    if is_wrong && *key_is_lost {
        restart_chains(&tx, key, *now).map_err(log())?;
    }
    let ended = match sessions {
        RestoredSessions::End { deny_until } => {
            Some(end_restored(&mut tx, *now, *deny_until).map_err(broken("session"))?)
        }
        RestoredSessions::Keep => None,
    };
    let outcome = ended.as_ref().map_or_else(|| "sessions kept".to_owned(), describe);
    let restarted = if is_wrong && *key_is_lost { "; chains restarted with another encryption_key" } else { "" };
    entry.clone().with_detail(format!("{outcome}{restarted}")).write(&tx).map_err(log())?;
    if let Sql::Postgres(connection) = sql {
        // A node of an earlier version, which holds no lock, may run on this database and has cached that it is empty.
        postgres::write_journal(connection, &[CacheChange::AllSessions]).map_err(broken("journal"))?;
    }
    Ok(ended)
}

/// What ended, for the log.
fn describe(ended: &EndedByRestore) -> String {
    let EndedByRestore { sessions, service_keys, recovery_codes, oidc_clients: _, signing_keys, timed_roles } = ended;
    let keys = service_keys.len();
    format!(
        "{sessions} session(s) ended, {keys} service key(s) revoked, {recovery_codes} recovery code(s) deleted, {signing_keys} signing \
         key(s) withdrawn, {timed_roles} temporary role(s) taken back"
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
