//! Writes all data to a backup, in one snapshot, while services use the database.

use std::io::Write;

use deskpass_core::{Entropy, NoEntropy, Timestamp};

use super::direct_read::read_version;
use super::snapshot::in_snapshot;
use super::tables::{Table, tables_at};
use super::{CopyProgress, DirectReadError, Location, Mode, Row, Sql, SqlValue, migrate};
use crate::backup_file::{BackupFileError, BackupHeader, BackupPassword, BackupWriter, KeyDerivation};
use crate::{Result, StoreError};

/// The number of rows that are in memory at once.
const BATCH_ROWS: usize = 1_000;

/// The oldest version of the tables that is backed up: every version. Later versions than that of this program are not: they may have
/// tables that it does not know.
const OLDEST_VERSION: i64 = 1;

/// What a backup needs besides the data.
#[derive(Debug)]
pub struct BackupSettings {
    /// The version of this program.
    pub deskpass: String,
    /// The time of the backup.
    pub now: Timestamp,
    /// The password, if the backup is to be encrypted.
    pub password: Option<BackupPassword>,
}

/// A backup that was written.
#[derive(Clone, Debug)]
pub struct BackupReport {
    /// What the file says about itself.
    pub header: BackupHeader,
    /// The tables with their numbers of rows.
    pub tables: Vec<(String, u64)>,
    /// The size of the file.
    pub bytes: u64,
}

/// Why no backup was written.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The data cannot be read.
    #[error(transparent)]
    Read(#[from] DirectReadError),
    /// The file cannot be written.
    #[error("cannot write the backup: {0}")]
    Write(#[from] BackupFileError),
    /// There are no random bytes.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

/// Writes a backup to `out`; returns what it contains, and `out`. The data is that of one moment. It is read next to running
/// services, which it does not block. While it is read, SQLite cannot shorten its write-ahead log, and PostgreSQL keeps row
/// versions that it would otherwise remove.
pub async fn backup<W: Write + Send + 'static>(
    location: &Location,
    mode: Mode,
    settings: BackupSettings,
    out: W,
    mut progress: impl FnMut(CopyProgress<'_>) + Send + 'static,
) -> Result<(BackupReport, W), BackupError> {
    let BackupSettings { deskpass, now, password } = settings;
    let encryption = password.as_ref().map(|_| KeyDerivation::new(Entropy::system())).transpose()?;
    let source = match location {
        Location::Embedded(_) => "sqlite",
        Location::Postgres(_) => "postgresql",
    };
    let mode_name = mode.name().to_owned();
    let header =
        BackupHeader { deskpass, schema: 0, mode: mode_name, created_at: now, source: source.to_owned(), encryption };
    let work = move |sql: &Sql<'_>| {
        if let Sql::Postgres(_) = sql {
            // The reader of a pipe may be slow.
            sql.batch("SET idle_in_transaction_session_timeout = 0")?;
        }
        in_snapshot(sql, |sql| match write_all(sql, header, password.as_ref(), out, &mut progress) {
            Ok(written) => Ok(Ok(written)),
            Err(WriteError::File(error)) => Ok(Err(error)),
            Err(WriteError::Store(error)) => Err(error),
        })
    };
    Ok(read_version(location, mode, OLDEST_VERSION..=migrate::newest_version(), work).await??)
}

enum WriteError {
    Store(StoreError),
    File(BackupFileError),
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BackupFileError> for WriteError {
    fn from(error: BackupFileError) -> Self {
        Self::File(error)
    }
}

fn write_all<W: Write>(
    sql: &Sql<'_>,
    header: BackupHeader,
    password: Option<&BackupPassword>,
    out: W,
    progress: &mut impl FnMut(CopyProgress<'_>),
) -> Result<(BackupReport, W), WriteError> {
    let header = BackupHeader { schema: migrate::schema_version(sql)?, ..header };
    let mut file = BackupWriter::begin(out, &header, password)?;
    for table in tables_at(header.schema)? {
        write_table(sql, &table, &mut file, progress)?;
    }
    let written = file.finish()?;
    Ok((BackupReport { header, tables: written.tables, bytes: written.bytes }, written.out))
}

fn write_table<W: Write>(
    sql: &Sql<'_>,
    table: &Table,
    file: &mut BackupWriter<W>,
    progress: &mut impl FnMut(CopyProgress<'_>),
) -> Result<(), WriteError> {
    let count = sql.first(&format!("SELECT COUNT(*) FROM {}", table.name), &[], |row| row.int(0))?;
    let mut so_far = CopyProgress { table: &table.name, rows: 0, of: count.map_or(0, i64::unsigned_abs) };
    file.begin_table(&table.name, table.column_names())?;
    let [first, next] = [statement(table, false), statement(table, true)];
    let mut rows = sql.rows(&first, &[], |row| read_row(row, table))?;
    loop {
        progress(so_far);
        file.write_rows(&rows)?;
        so_far.rows += u64::try_from(rows.len()).unwrap_or(0);
        match rows.last() {
            Some(last) if rows.len() == BATCH_ROWS && !table.key.is_empty() => {
                let after = table.key_of(last);
                rows = sql.rows(&next, &after, |row| read_row(row, table))?;
            }
            _ => break,
        }
    }
    Ok(file.end_table()?)
}

/// The statement that reads the first rows in the order of the primary key, or the rows after a given one.
fn statement(table: &Table, continues: bool) -> String {
    let (columns, name) = (table.column_names().join(", "), &table.name);
    if table.key.is_empty() {
        return format!("SELECT {columns} FROM {name}");
    }
    let key = table.key.iter().map(|(_, column)| &**column).collect::<Vec<_>>().join(", ");
    let places = (1..=table.key.len()).map(|at| format!("${at}")).collect::<Vec<_>>().join(", ");
    let after = if continues { format!("WHERE ({key}) > ({places}) ") } else { String::new() };
    format!("SELECT {columns} FROM {name} {after}ORDER BY {key} LIMIT {BATCH_ROWS}")
}

fn read_row(row: &Row<'_>, table: &Table) -> Result<Vec<SqlValue<'static>>> {
    let value = |(at, is_text): (usize, bool)| -> Result<SqlValue<'static>> {
        Ok(if is_text {
            row.maybe_text(at)?.map_or(SqlValue::Null, |text| SqlValue::Text(text.into()))
        } else {
            row.maybe_int(at)?.map_or(SqlValue::Null, SqlValue::Int)
        })
    };
    table.columns.iter().map(|column| column.is_text).enumerate().map(value).collect()
}
