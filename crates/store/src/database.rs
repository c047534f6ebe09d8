//! The database: embedded SQLite, or a PostgreSQL server that several nodes share. Both run the same SQL.

#[macro_use]
mod value;
mod backup;
mod copy;
mod direct_read;
mod erased;
mod migrate;
mod mode;
mod observer;
mod open_error;
mod platform_record;
mod postgres;
mod restart;
mod restore;
mod row;
mod row_reader;
mod snapshot;
mod sql;
mod sqlite;
mod tables;
mod tx;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::time::Instant;

pub use backup::{BackupError, BackupReport, BackupSettings, backup};
pub use copy::{CopyError, CopyProgress, CopyReport, copy};
pub use direct_read::DirectReadError;
pub(crate) use direct_read::{read_directly, read_version};
pub use migrate::{SchemaFit, newest_version};
pub(crate) use migrate::{require_known_version, schema_version};
pub use mode::Mode;
pub(crate) use observer::OperationObserver;
pub use observer::{Operation, OperationReport, StoreLoad};
pub use open_error::OpenError;
pub(crate) use platform_record::recorded_platform;
pub use platform_record::{DataPlatform, PlatformMismatch};
pub(crate) use postgres::journal_statements;
pub use postgres::{PostgresSettings, PostgresStatus, inspect_postgres};
pub use restart::{SameKey, restart_log};
pub use restore::{RestoreError, RestoreReport, RestoreSettings, RestoredSessions, restore};
pub(crate) use row::Row;
pub(crate) use snapshot::in_snapshot;
pub(crate) use sql::Sql;
pub(crate) use tx::Tx;
pub(crate) use value::SqlValue;

use erased::{ReadWork, Running, WriteWork, erase_read, erase_write};

use crate::cache::Cache;
use crate::{ChainKeys, Result, StoreError};

/// How long an attempt may have taken after which another one is made in the same request.
const SQLITE_RETRY_LIMIT: Duration = Duration::from_millis(500);

/// The location of the data.
#[derive(Clone, Debug)]
pub enum Location {
    /// In this directory, used by this process only.
    Embedded(PathBuf),
    /// On a server that several nodes share.
    Postgres(PostgresSettings),
}

#[derive(Debug)]
pub(crate) struct Database {
    backend: Backend,
    /// Receives a report of each operation.
    pub(crate) observer: OperationObserver,
}

#[derive(Debug)]
enum Backend {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::PostgresDatabase),
}

impl Database {
    /// Opens the database and runs the missing migrations.
    pub(crate) async fn open(
        location: Location,
        mode: Mode,
        cache: Arc<Cache>,
        now: Timestamp,
        key: Option<ChainKeys>,
    ) -> Result<Self, OpenError> {
        let backend = match location {
            Location::Embedded(directory) => {
                Backend::Sqlite(sqlite::Sqlite::open(&directory, mode, cache, now, key.as_ref())?)
            }
            Location::Postgres(settings) => {
                Backend::Postgres(postgres::PostgresDatabase::open(&settings, mode, cache, now, key).await?)
            }
        };
        Ok(Self { backend, observer: OperationObserver::default() })
    }

    /// Runs `query` on a connection that sees every committed change. `query` may run more than once.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        query: impl Fn(&Sql<'_>) -> Result<T> + Send + 'static,
    ) -> Running<'_, T> {
        let (query, result) = erase_read(query);
        Running::new(self.read_erased(query), result)
    }

    async fn read_erased(&self, query: ReadWork) -> Result<()> {
        let began = Instant::now();
        let done = match &self.backend {
            Backend::Sqlite(database) => database.readers.read(query).await,
            Backend::Postgres(database) => database.read(query).await,
        };
        self.observer.report(Operation::Read, &done, began.elapsed());
        done
    }

    /// Runs `work` in a transaction and returns after the commit is on disk. A failed `work` is rolled back; when the commit
    /// fails, the error says whether its outcome is unknown. It runs to its end even when the caller stops waiting, and may run
    /// more than once, each time from a clean state.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Running<'_, T> {
        let (work, result) = erase_write(work);
        Running::new(self.write_erased(work), result)
    }

    async fn write_erased(&self, work: WriteWork) -> Result<()> {
        let began = Instant::now();
        let done = match &self.backend {
            Backend::Sqlite(database) => database.writer.run(work).await,
            Backend::Postgres(database) => database.write(work).await,
        };
        self.observer.report(Operation::Write, &done, began.elapsed());
        done
    }

    /// Runs work that has no further effect when it was committed before: so it runs again, once, if it is unknown whether it was,
    /// and the first attempt took little of the time that a request has. The work is told whether it runs again.
    pub(crate) async fn write_repeatably<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Tx<'_>, bool) -> Result<T> + Clone + Send + 'static,
    ) -> Result<T> {
        let began = Instant::now();
        let again = work.clone();
        match self.write(move |tx| work(tx, false)).await {
            Err(error) if error.is_outcome_unknown() && began.elapsed() < self.retry_limit() => {
                tracing::info!(%error, "the outcome of a commit is unknown: trying again");
                // If this fails, too, it is still unknown whether the first attempt was committed.
                self.write(move |tx| again(tx, true)).await.map_err(StoreError::with_unknown_outcome)
            }
            outcome => outcome,
        }
    }

    fn retry_limit(&self) -> Duration {
        match &self.backend {
            Backend::Sqlite(_) => SQLITE_RETRY_LIMIT,
            Backend::Postgres(database) => database.timeout / 4,
        }
    }

    /// Returns the database that several nodes share, if it is one.
    pub(crate) fn shared(&self) -> Option<&postgres::PostgresDatabase> {
        match &self.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(database) => Some(database),
        }
    }

    /// How busy the database is.
    pub(crate) fn load(&self) -> StoreLoad {
        match &self.backend {
            Backend::Sqlite(database) => StoreLoad { waiting: database.writer.waiting(), connections: None },
            Backend::Postgres(database) => database.load(),
        }
    }
}

/// Writes to the database, to check that it accepts writes. Nodes that share a database must not block each other here.
pub(crate) fn probe_write(sql: &Sql<'_>, now: Timestamp) -> Result<()> {
    match sql {
        Sql::Sqlite(connection) => connection.execute(RECORD_TIME, &args![now]).map(drop),
        Sql::Postgres(connection) => postgres::probe_write(connection),
    }
}

/// Records the newest time of all nodes.
pub(crate) const RECORD_TIME: &str = "UPDATE probe SET at = CASE WHEN at > $1 THEN at ELSE $1 END";

/// Removes the journal rows of another server, and the old ones that were visible in the snapshot `seen`; returns their number. The
/// transaction must not have written to the journal.
pub(crate) fn sweep_journal(sql: &Sql<'_>, seen: Option<&str>) -> Result<usize> {
    match sql {
        Sql::Postgres(connection) => postgres::sweep(connection, seen),
        Sql::Sqlite(_) => Ok(0),
    }
}
