//! Dedicated connections for long work such as migrations and copies.

use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::time::Instant;

use super::PostgresSettings;
use super::address::PostgresAddress;
use super::connection::{ConnectionHealth, PostgresConnection};
use super::maintenance::MAINTENANCE_TIMEOUT;
use crate::database::migrate::{self, MigrateError, SchemaFit, schema_fit};
use crate::database::{Mode, OpenError, Sql};
use crate::{ChainKeys, Result, StoreError};

/// The connect timeout. It is long, because no request waits for this work.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a migration is tried while other transactions use the tables that it changes, and the delay between two attempts, in which
/// others can use the tables. It is several times as long as an attempt blocks them.
const MIGRATION_RETRY_LIMIT: Duration = Duration::from_mins(2);
const MIGRATION_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How long a migration waits for a server that confirms commits, before it changes anything.
const STANDBY_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn run_migrations(
    address: PostgresAddress,
    mode: Mode,
    now: Timestamp,
    key: Option<ChainKeys>,
) -> Result<(), OpenError> {
    let server = address.to_string();
    let failed = |error| OpenError::Server { server: server.clone(), error };
    let job = tokio::task::spawn_blocking(move || migrate_on(&address, mode, now, key.as_ref()));
    let outcome = job.await.map_err(|error| failed(StoreError::unavailable(&error)))?;
    let instead = "choose another database with store.url";
    outcome.map_err(|error| error.into_open_error(&server, instead, failed))
}

fn migrate_on(
    address: &PostgresAddress,
    mode: Mode,
    now: Timestamp,
    key: Option<&ChainKeys>,
) -> Result<(), MigrateError> {
    let connection = open_for_migration(address)?;
    let outcome = migrate_all(&connection, mode, now, key);
    if connection.health() == ConnectionHealth::TimedOut {
        // A commit that waits for a standby keeps the tables locked.
        address.cancel_in_background(connection.cancel_token());
    }
    outcome
}

/// Opens a connection for migrations. If there is something to migrate, its server confirms commits: a primary that was deposed, or
/// that has lost its synchronous standby, would wait for ever at the first commit.
fn open_for_migration(address: &PostgresAddress) -> Result<PostgresConnection> {
    let began = Instant::now();
    loop {
        let connection = PostgresConnection::open(address, Instant::now() + CONNECT_TIMEOUT)?;
        connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
        if !matches!(schema_fit(&Sql::Postgres(&connection))?, SchemaFit::Older(_)) {
            return Ok(connection);
        }
        let Err(error) = connection.confirm_primary() else { return Ok(connection) };
        if connection.health() != ConnectionHealth::Unproven {
            return Err(error);
        }
        address.cancel_in_background(connection.cancel_token());
        address.distrust(connection.server());
        if began.elapsed() >= STANDBY_TIMEOUT {
            return Err(error);
        }
        tracing::warn!(%error, "waiting for the synchronous standby before the tables are migrated");
        std::thread::sleep(MIGRATION_RETRY_DELAY);
    }
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
    let mut first_conflict = None;
    loop {
        let error = match step() {
            Err(MigrateError::Store(error)) if connection.health() == ConnectionHealth::Conflict => error,
            outcome => return outcome,
        };
        connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
        if first_conflict.is_none() {
            tracing::info!("waiting for transactions that use the tables which a migration changes");
        }
        if is_retry_over(&mut first_conflict, Instant::now()) {
            let why = "a long transaction uses the tables, such as a backup, `deskpass audit verify` or a vacuum";
            let users = table_users(connection).unwrap_or_default();
            return Err(StoreError::unavailable(&format!("{error}: {why}; try again after it{users}")).into());
        }
        std::thread::sleep(MIGRATION_RETRY_DELAY);
    }
}

/// Whether a migration that failed again is given up. The limit counts from its first conflict: its own work before may take hours.
fn is_retry_over(first_conflict: &mut Option<Instant>, now: Instant) -> bool {
    now.duration_since(*first_conflict.get_or_insert(now)) >= MIGRATION_RETRY_LIMIT
}

/// Names the other sessions that use the tables, those with the oldest transactions first. What another user's session does is hidden
/// from a user without the role `pg_read_all_stats`.
fn table_users(connection: &PostgresConnection) -> Result<String> {
    let text = "SELECT DISTINCT l.pid::bigint, concat_ws(', ', a.backend_type, NULLIF(a.application_name, ''),
            'since ' || date_trunc('second', a.xact_start)), a.xact_start
        FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid JOIN pg_class c ON c.oid = l.relation
        WHERE l.granted AND l.pid <> pg_backend_pid() AND c.relkind = 'r' AND a.datname = current_database()
            AND c.relnamespace = current_schema()::regnamespace
        ORDER BY a.xact_start NULLS FIRST LIMIT 3";
    let users = connection.rows(text, &[], |row| Ok(format!("process {} ({})", row.int(0)?, row.text(1)?)))?;
    Ok(if users.is_empty() { String::new() } else { format!("; in use by {}", users.join(", ")) })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_limit_of_a_migration_counts_from_its_first_conflict() {
        let (mut first_conflict, start) = (None, Instant::now());
        let hour = Duration::from_hours(1);
        assert!(!is_retry_over(&mut first_conflict, start + hour), "it has worked for an hour");
        assert!(!is_retry_over(&mut first_conflict, start + hour + MIGRATION_RETRY_LIMIT / 2));
        assert!(is_retry_over(&mut first_conflict, start + hour + MIGRATION_RETRY_LIMIT));
    }
}
