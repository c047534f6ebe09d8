//! Reading beside whoever uses the data: nothing is changed, nobody is held up, and no tables are brought up to date.

use super::migrate::{self, MigrateError};
use super::{Location, Mode, OpenError, Sql, postgres, sqlite};
use crate::StoreError;

/// Why data could not be read beside whoever uses it.
#[derive(Debug, thiserror::Error)]
pub enum DirectReadError {
    /// It cannot be used at all.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its tables are older than this program.
    #[error(
        "the data has version {found} and this program reads version {known}; bring it up to date with `deskpass migrate`"
    )]
    Older {
        /// The version found.
        found: i64,
        /// The version known here.
        known: i64,
    },
    /// The database failed meanwhile.
    #[error("the database failed: {0}")]
    Failed(#[from] StoreError),
}

/// Does something on a connection of its own that only reads. It may take long.
pub(crate) async fn read_directly<T: Send + 'static>(
    location: &Location,
    mode: Mode,
    work: impl FnOnce(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, DirectReadError> {
    match location {
        Location::Embedded(directory) => {
            let path = directory.join("deskpass.db");
            let place = directory.display().to_string();
            let job = tokio::task::spawn_blocking(move || {
                let broken = |error| OpenError::Database { path: path.clone(), error };
                let connection = sqlite::Connection::open_reader(&path).map_err(broken)?;
                let sql = Sql::Sqlite(&connection);
                check_schema(&sql, mode, &place, "choose another directory with --data", broken)?;
                Ok(work(&sql)?)
            });
            job.await.map_err(|error| StoreError::unavailable(&error))?
        }
        Location::Postgres(server) => {
            let place = postgres::display_name(server)?;
            let read = move |connection: &postgres::Connection| {
                let failed = |error| OpenError::Server { server: place.clone(), error };
                let sql = Sql::Postgres(connection);
                check_schema(&sql, mode, &place, "choose another database with store.url", failed)?;
                Ok(work(&sql)?)
            };
            postgres::with_read_only_connection(server, read).await?
        }
    }
}

/// Whether the tables are those that this program knows, and of this mode.
fn check_schema(
    sql: &Sql<'_>,
    mode: Mode,
    place: &str,
    instead: &'static str,
    failed: impl Fn(StoreError) -> OpenError,
) -> Result<(), DirectReadError> {
    let (found, known) = (migrate::schema_version(sql).map_err(&failed)?, migrate::newest_version());
    if found < known {
        return Err(DirectReadError::Older { found, known });
    }
    let fit = if found > known { Err(MigrateError::Newer { found, known }) } else { migrate::check_mode(sql, mode) };
    Ok(fit.map_err(|error| error.into_open_error(place, instead, failed))?)
}

/// Reads the data as it is at one moment, whatever others write meanwhile, and along its indexes: PostgreSQL would rather sort where
/// it believes that there is little, and it may not have counted for a while.
pub(crate) fn in_snapshot<T>(
    sql: &Sql<'_>,
    work: impl FnOnce(&Sql<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    sql.batch(match sql {
        Sql::Sqlite(_) => "BEGIN",
        Sql::Postgres(_) => {
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_sort = off;
             SET LOCAL enable_incremental_sort = off; SET LOCAL enable_bitmapscan = off"
        }
    })?;
    let outcome = work(sql);
    let ended = sql.batch("ROLLBACK");
    outcome.and_then(|done| ended.map(|()| done))
}
