//! Reads data that a running service may be using: changes nothing, blocks no other connection, and runs no migrations.

use std::ops::{Bound, RangeBounds};

use super::erased::{SingleRead, erase_single_read};
use super::migrate::{self, MigrateError, SchemaFit};
use super::postgres::{self, PostgresConnection};
use super::sqlite::SqliteConnection;
use super::{Location, Mode, OpenError, Sql};
use crate::{Result, StoreError};

/// The reason why a direct read failed.
#[derive(Debug, thiserror::Error)]
pub enum DirectReadError {
    /// The data cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The tables are older than this program.
    #[error("the data has version {found} and this deskpass reads version {known}; run `deskpass migrate`")]
    Older {
        /// The version found.
        found: i64,
        /// The version known here.
        known: i64,
    },
    /// The database failed during the read.
    #[error("the database failed: {0}")]
    Failed(#[from] StoreError),
}

/// Runs `work` on a dedicated read-only connection. It may take long. The tables have the version of this program, or a later one that it
/// can use.
pub(crate) async fn read_directly<T: Send + 'static>(
    location: &Location,
    mode: Mode,
    work: impl FnOnce(&Sql<'_>) -> Result<T> + Send + 'static,
) -> Result<T, DirectReadError> {
    read_version(location, mode, migrate::newest_version().., work).await
}

/// Does the same with tables of other versions. Of the later ones among `versions`, those that this program can use are read.
pub(crate) async fn read_version<T: Send + 'static>(
    location: &Location,
    mode: Mode,
    versions: impl RangeBounds<i64>,
    work: impl FnOnce(&Sql<'_>) -> Result<T> + Send + 'static,
) -> Result<T, DirectReadError> {
    let versions = (versions.start_bound().cloned(), versions.end_bound().cloned());
    let (work, result) = erase_single_read(work);
    read_erased(location, mode, versions, work).await?;
    Ok(result.take()?)
}

type Versions = (Bound<i64>, Bound<i64>);

async fn read_erased(
    location: &Location,
    mode: Mode,
    versions: Versions,
    work: SingleRead,
) -> Result<(), DirectReadError> {
    match location {
        Location::Embedded(directory) => {
            let path = directory.join("deskpass.db");
            let place = directory.display().to_string();
            let job = tokio::task::spawn_blocking(move || {
                let broken = |error| OpenError::Database { path: path.clone(), error };
                let connection = SqliteConnection::open_reader(&path).map_err(broken)?;
                let sql = Sql::Sqlite(&connection);
                check_schema(&sql, (mode, versions), &place, "choose another directory with --data", broken)?;
                Ok(work(&sql)?)
            });
            job.await.map_err(|error| StoreError::unavailable(&error))?
        }
        Location::Postgres(server) => {
            let place = postgres::display_name(server)?;
            let read = move |connection: &PostgresConnection| {
                let failed = |error| OpenError::Server { server: place.clone(), error };
                let read_only = "SET statement_timeout = 0; SET default_transaction_read_only = on";
                connection.batch(read_only).map_err(failed)?;
                let sql = Sql::Postgres(connection);
                check_schema(&sql, (mode, versions), &place, "choose another database with store.url", failed)?;
                Ok(work(&sql)?)
            };
            postgres::with_connection(server, read).await?
        }
    }
}

/// Checks that the schema version and the mode of the data match this program.
fn check_schema(
    sql: &Sql<'_>,
    (mode, versions): (Mode, Versions),
    place: &str,
    instead: &'static str,
    failed: impl Fn(StoreError) -> OpenError,
) -> Result<(), DirectReadError> {
    let known = migrate::newest_version();
    let fit = match migrate::schema_fit(sql).map_err(&failed)? {
        SchemaFit::Older(found) if !versions.contains(&found) => return Err(DirectReadError::Older { found, known }),
        SchemaFit::Compatible(found) if !versions.contains(&found) => Err(MigrateError::Newer { found, known }),
        SchemaFit::Newer { found, known } => Err(MigrateError::Newer { found, known }),
        SchemaFit::Same | SchemaFit::Older(_) | SchemaFit::Compatible(_) => migrate::check_mode(sql, mode),
    };
    Ok(fit.map_err(|error| error.into_open_error(place, instead, failed))?)
}
