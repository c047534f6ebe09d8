//! The database: embedded, or a server that several nodes share. The same SQL serves both.

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
pub use restart::restart_log;
pub(crate) use row::Row;
pub(crate) use sql::Sql;
pub(crate) use tx::Tx;
pub(crate) use value::Value;

use crate::cache::Cache;
use crate::{ChainKey, StoreError};

#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::PostgresDatabase),
}

impl Database {
    /// Opens the database and brings its tables up to date.
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

    /// Runs `query` on a connection that sees everything committed so far. It may run more than once.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl Fn(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(database) => database.read(query).await,
            Self::Postgres(database) => database.read(query).await,
        }
    }

    /// Runs `work` in a transaction and returns once it is on disk. When `work` fails, nothing of it remains. It runs to
    /// its end even when the caller stops waiting, and may run more than once, each time as if for the first time.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        match self {
            Self::Sqlite(database) => database.write(work).await,
            Self::Postgres(database) => database.write(work).await,
        }
    }

    /// Fires after this node has changed something that others should hear of, where there are others.
    pub(crate) fn changed(&self) -> Option<&Arc<Notify>> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) => Some(database.changed()),
        }
    }

    /// Takes notice at once of what others have changed.
    pub(crate) fn catch_up(&self) {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres(database) => database.catch_up(),
        }
    }

    /// Waits until everything is known that others had changed before.
    pub(crate) async fn wait_until_caught_up(&self) {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres(database) => database.wait_until_caught_up().await,
        }
    }
}
