//! Work that may take long, such as migrations and copies, on a connection of its own.

use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::time::Instant;

use super::PostgresSettings;
use super::address::Address;
use super::connection::{Connection, ConnectionHealth};
use crate::database::{Mode, OpenError, Sql, migrate};
use crate::{ChainKey, StoreError};

/// How long the server may take to let somebody in who has time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often migrations are tried, and how long others have the tables to themselves in between.
const MIGRATION_ATTEMPTS: usize = 10;
const MIGRATION_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How long migrations and copies may take, waiting for other nodes that migrate included.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_hours(10);

/// Brings the tables up to date; returns once they are.
pub(super) async fn run_migrations(
    address: Address,
    mode: Mode,
    now: Timestamp,
    key: Option<ChainKey>,
) -> Result<(), OpenError> {
    let server = address.to_string();
    let failed = |error| OpenError::Server { server: server.clone(), error };
    let outcome = run_on(address, move |connection| {
        retry_on_conflict(connection, || migrate::run(&Sql::Postgres(connection), mode, now, key.as_ref()))
    });
    let instead = "choose another database with store.url";
    outcome.await.map_err(failed)?.map_err(|error| error.into_open_error(&server, instead, failed))
}

/// Tries again where somebody else was using what is to be changed.
fn retry_on_conflict<T>(connection: &Connection, attempt: impl Fn() -> T) -> T {
    let mut outcome = attempt();
    for _ in 1..MIGRATION_ATTEMPTS {
        if connection.health() != ConnectionHealth::Conflict {
            break;
        }
        std::thread::sleep(MIGRATION_RETRY_DELAY);
        connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
        outcome = attempt();
    }
    outcome
}

/// Does something that may take long on a connection of its own, on tables that are up to date.
pub(crate) async fn with_migrated_connection<T: Send + 'static>(
    settings: &PostgresSettings,
    mode: Mode,
    now: Timestamp,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    run_migrations(Address::new(settings)?, mode, now, None).await?;
    with_connection(settings, work).await
}

/// Does something that may take long on a connection of its own, on tables as they are.
pub(crate) async fn with_connection<T: Send + 'static>(
    settings: &PostgresSettings,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    let address = Address::new(settings)?;
    let server = address.to_string();
    run_on(address, work).await.map_err(|error| OpenError::Server { server, error })
}

/// Does something that may take long on a connection of its own that only reads, on tables as they are.
pub(crate) async fn with_read_only_connection<T: Send + 'static>(
    settings: &PostgresSettings,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    let address = Address::new(settings)?;
    let server = address.to_string();
    let reading = run_on(address, |connection| {
        let told = connection.batch("SET statement_timeout = 0; SET default_transaction_read_only = on");
        told.map(|()| work(connection))
    });
    reading.await.and_then(|done| done).map_err(|error| OpenError::Server { server, error })
}

/// What a server is called, without secrets.
pub(crate) fn display_name(settings: &PostgresSettings) -> Result<String, OpenError> {
    Address::new(settings).map(|address| address.to_string())
}

pub(super) async fn run_on<T: Send + 'static>(
    address: Address,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, StoreError> {
    let job = tokio::task::spawn_blocking(move || {
        let connection = Connection::open(&address, Instant::now() + CONNECT_TIMEOUT)?;
        connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
        Ok(work(&connection))
    });
    job.await.map_err(|error| StoreError::unavailable(&error))?
}
