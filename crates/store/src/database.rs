//! The database: embedded SQLite, or a PostgreSQL server that several nodes share. Both run the same SQL.

#[macro_use]
mod value;
mod copy;
mod direct_read;
mod location;
mod migrate;
mod open_error;
mod postgres;
mod probe;
mod restart;
mod row;
mod sql;
mod sqlite;
mod tx;

use std::sync::Arc;

use deskpass_core::Timestamp;
use tokio::sync::Notify;

pub use copy::{CopyError, CopyProgress, CopyReport, copy};
pub use direct_read::DirectReadError;
pub(crate) use direct_read::{in_snapshot, read_directly};
pub use location::{Location, Mode};
pub use migrate::newest_version;
pub use open_error::OpenError;
pub use postgres::{PostgresSettings, PostgresStatus, inspect_postgres};
pub(crate) use probe::{RECORD_TIME, probe_write, sweep_journal};
pub use restart::{SameKey, restart_log};
pub(crate) use row::Row;
pub(crate) use sql::Sql;
pub(crate) use tx::Tx;
pub(crate) use value::SqlValue;

use crate::cache::Cache;
use crate::{ChainKey, StoreError};

#[derive(Debug)]
pub(crate) enum Database {
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
        key: Option<ChainKey>,
    ) -> Result<Self, OpenError> {
        match location {
            Location::Embedded(directory) => {
                Ok(Self::Sqlite(sqlite::Sqlite::open(&directory, mode, cache, now, key.as_ref())?))
            }
            Location::Postgres(settings) => {
                Ok(Self::Postgres(postgres::PostgresDatabase::open(&settings, mode, cache, now, key).await?))
            }
        }
    }

    /// Runs `query` on a connection that sees every committed change. `query` may run more than once.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl Fn(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(database) => database.read(query).await,
            Self::Postgres(database) => database.read(query).await,
        }
    }

    /// Runs `work` in a transaction and returns after the commit is on disk. A failed `work` is rolled back. It runs to
    /// its end even when the caller stops waiting, and may run more than once, each time from a clean state.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(database) => database.write(work).await,
            Self::Postgres(database) => database.write(work).await,
        }
    }

    /// Returns the signal for a committed change that concerns other nodes, where nodes share the database.
    pub(crate) fn changed(&self) -> Option<&Arc<Notify>> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) => Some(database.changed()),
        }
    }

    /// Applies the changes of other nodes immediately.
    pub(crate) fn catch_up(&self) {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres(database) => database.catch_up(),
        }
    }

    /// Waits until this node has applied every change that other nodes committed before this call.
    pub(crate) async fn wait_until_caught_up(&self) {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres(database) => database.wait_until_caught_up().await,
        }
    }
}
