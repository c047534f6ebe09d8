//! Dedicated connections for long work such as migrations and copies.

use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::time::Instant;

use super::PostgresSettings;
use super::address::PostgresAddress;
use super::connection::{ConnectionHealth, PostgresConnection};
use crate::database::migrate::{self, MigrateError};
use crate::database::{Mode, OpenError, Sql};
use crate::{ChainKeys, Result, StoreError};

/// The connect timeout. It is long, because no request waits for this work.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a migration is tried while other transactions use the tables that it changes, and the delay between two attempts, in which
/// others can use the tables. It is several times as long as an attempt blocks them.
const MIGRATION_RETRY_LIMIT: Duration = Duration::from_mins(2);
const MIGRATION_RETRY_DELAY: Duration = Duration::from_millis(500);
/// The timeout of migrations and copies, including the wait for other nodes that migrate.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_hours(10);

pub(super) async fn run_migrations(
    address: PostgresAddress,
    mode: Mode,
    now: Timestamp,
    key: Option<ChainKeys>,
) -> Result<(), OpenError> {
    let server = address.to_string();
    let failed = |error| OpenError::Server { server: server.clone(), error };
    let outcome = run_on(address, move |connection| migrate_all(connection, mode, now, key.as_ref()));
    let instead = "choose another database with store.url";
    outcome.await.map_err(failed)?.map_err(|error| error.into_open_error(&server, instead, failed))
}

/// Runs the missing migrations, each of them with a time limit of its own for retries.
fn migrate_all(
    connection: &PostgresConnection,
    mode: Mode,
    now: Timestamp,
    key: Option<&ChainKeys>,
) -> Result<(), MigrateError> {
    while retry_on_conflict(connection, || migrate::step(&Sql::Postgres(connection), mode, now, key))? {}
    Ok(())
}

/// Retries a step while other transactions use the tables that it changes.
fn retry_on_conflict(
    connection: &PostgresConnection,
    step: impl Fn() -> Result<bool, MigrateError>,
) -> Result<bool, MigrateError> {
    let (began, mut is_first) = (Instant::now(), true);
    loop {
        let error = match step() {
            Err(MigrateError::Store(error)) if connection.health() == ConnectionHealth::Conflict => error,
            outcome => return outcome,
        };
        if began.elapsed() >= MIGRATION_RETRY_LIMIT {
            let why =
                "a long transaction uses the tables, such as a backup or `deskpass audit verify`; try again after it";
            return Err(StoreError::unavailable(&format!("{error}: {why}")).into());
        }
        if is_first {
            tracing::info!("waiting for transactions that use the tables which a migration changes");
            is_first = false;
        }
        std::thread::sleep(MIGRATION_RETRY_DELAY);
        connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
    }
}

/// Runs long work on a dedicated connection, after the migrations.
pub(crate) async fn with_migrated_connection<T: Send + 'static>(
    settings: &PostgresSettings,
    mode: Mode,
    now: Timestamp,
    work: impl FnOnce(&PostgresConnection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    run_migrations(PostgresAddress::new(settings)?, mode, now, None).await?;
    with_connection(settings, work).await
}

/// Runs long work on a dedicated connection, without migrations.
pub(crate) async fn with_connection<T: Send + 'static>(
    settings: &PostgresSettings,
    work: impl FnOnce(&PostgresConnection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    let address = PostgresAddress::new(settings)?;
    let server = address.to_string();
    run_on(address, work).await.map_err(|error| OpenError::Server { server, error })
}

/// Returns the name of the server, without secrets.
pub(crate) fn display_name(settings: &PostgresSettings) -> Result<String, OpenError> {
    PostgresAddress::new(settings).map(|address| address.to_string())
}

pub(super) async fn run_on<T: Send + 'static>(
    address: PostgresAddress,
    work: impl FnOnce(&PostgresConnection) -> T + Send + 'static,
) -> Result<T> {
    let job = tokio::task::spawn_blocking(move || {
        let connection = PostgresConnection::open(&address, Instant::now() + CONNECT_TIMEOUT)?;
        connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
        Ok(work(&connection))
    });
    job.await.map_err(|error| StoreError::unavailable(&error))?
}
