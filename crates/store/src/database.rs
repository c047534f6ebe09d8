//! The database: embedded, or a server that several nodes share. The same SQL serves both.

#[macro_use]
mod value;
mod copy;
mod direct_read;
mod migrate;
mod postgres;
mod restart;
mod row;
mod sql;
mod sqlite;
mod tx;

use std::path::PathBuf;
use std::sync::Arc;

use deskpass_core::Timestamp;
use tokio::sync::Notify;

pub use copy::{CopyError, CopyProgress, CopyReport, copy};
pub use direct_read::DirectReadError;
pub(crate) use direct_read::{in_snapshot, read_directly};
pub use migrate::newest_version;
pub use postgres::{PostgresSettings, PostgresStatus, inspect_postgres};
pub use restart::restart_log;
pub(crate) use row::Row;
pub(crate) use sql::Sql;
pub(crate) use tx::Tx;
pub(crate) use value::Value;

use crate::cache::Cache;
use crate::tls::InvalidCaFile;
use crate::{ChainKey, StoreError};

/// Where the data is.
#[derive(Clone, Debug)]
pub enum Location {
    /// In this directory, for this process alone.
    Embedded(PathBuf),
    /// With a server that several nodes share.
    Postgres(PostgresSettings),
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Somebody else works in the directory.
    #[error("{} is in use by another deskpass process; stop that one first, or choose another directory with --data", .0.display())]
    InUse(PathBuf),
    /// The file system says no.
    #[error("cannot use the data directory {}: {source}; give it to this user, or choose another with --data", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The embedded database says no.
    #[error("cannot open {}: {}", path.display(), advised(error))]
    Database {
        /// The database's file.
        path: PathBuf,
        /// What the database said.
        error: StoreError,
    },
    /// The database server says no.
    #[error("cannot use {server}: {error}; check store.url, and that the server runs and lets this user in")]
    Server {
        /// Which server, without secrets.
        server: String,
        /// What it said, or why it could not be asked.
        error: StoreError,
    },
    /// The address of the server cannot be read.
    #[error("store.url cannot be used: {0}")]
    Url(String),
    /// The certificates of whom to trust cannot be used.
    #[error(transparent)]
    Authority(#[from] InvalidCaFile),
    /// The database is gone, though there was one.
    #[error("{} is missing or empty, though this directory had a database; restore it from a backup, or choose another directory with --data", .0.display())]
    Lost(PathBuf),
    /// The data belongs to the other mode.
    #[error("{place} was made in {found} and cannot be used in {wanted}; {instead}{}", hint(found))]
    Mode {
        /// Where it is.
        place: String,
        /// The mode it was made in.
        found: String,
        /// The mode asked for.
        wanted: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// The data was written with another key, and cannot be brought up to date with this one.
    #[error(
        "encryption_key is not the one that the data in {0} was written with, so it was not brought up to date: put that key back \
         into the settings. If it is lost for good, `deskpass audit restart --key-is-lost` goes on with the new one"
    )]
    Key(String),
    /// The data was written by a later version.
    #[error(
        "the data has version {found}, this program knows versions up to {known}; use the newer deskpass that wrote it"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
}

/// What data is for. Decided when it is made, and never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To try things with: anyone can sign in as anyone.
    Development,
    /// In earnest.
    Production,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::Development => "development mode",
            Self::Production => "production",
        }
    }
}

fn hint(found: &str) -> &'static str {
    if found == Mode::Development.name() { ", or add --dev" } else { "" }
}

/// What the database said, with what can be done about it where that is known.
fn advised(error: &StoreError) -> String {
    error.remedy().map_or_else(|| error.to_string(), |remedy| format!("{error}; {remedy}"))
}

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

/// Writes something, to see that it can be done. Nodes that share a database must not wait for each other over it.
pub(crate) fn probe_write(sql: &Sql<'_>, now: Timestamp) -> Result<(), StoreError> {
    match sql {
        Sql::Sqlite(connection) => connection.execute(RECORD_TIME, &args![now]).map(drop),
        Sql::Postgres(connection) => postgres::probe_write(connection),
    }
}

/// The newest time of all nodes stays on record.
pub(crate) const RECORD_TIME: &str = "UPDATE probe SET at = CASE WHEN at > $1 THEN at ELSE $1 END";

/// Removes from the journal what everyone has read; returns how much went.
pub(crate) fn sweep_journal(sql: &Sql<'_>) -> Result<usize, StoreError> {
    match sql {
        Sql::Sqlite(_) => Ok(0),
        Sql::Postgres(connection) => postgres::sweep(connection),
    }
}
