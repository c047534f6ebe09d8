//! Dedicated connections for long work such as migrations and copies.

use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::time::Instant;

use super::PostgresSettings;
use super::address::PostgresAddress;
use super::connection::{ConnectionHealth, PostgresConnection};
use super::maintenance::MAINTENANCE_TIMEOUT;
use crate::database::migrate::{self, MigrateError};
use crate::database::{Mode, OpenError, Sql};
use crate::{ChainKeys, Result, StoreError};

/// The connect timeout. It is long, because no request waits for this work.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a migration is tried while other transactions use the tables that it changes, and the delay between two attempts, in which
/// others can use the tables. It is several times as long as an attempt blocks them.
const MIGRATION_RETRY_LIMIT: Duration = Duration::from_mins(2);
const MIGRATION_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How long the start waits for a server that confirms commits, before it reads or changes anything.
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
    // A commit that times out is not cancelled, although it keeps the tables locked: it would take effect without the standby. Nodes do
    // not use the server meanwhile, and the standby confirms the commit before any heartbeat that would let them.
    migrate_all(&open_confirmed(address)?, mode, now, key)
}

/// Opens a connection for long work. Its server confirms commits: a primary that was deposed, or that has lost its synchronous standby,
/// would wait for ever at the first commit, or be read although others have later data. That is checked even if there is nothing to
/// migrate: a deposed server may know of no later version, and what follows uses the server that was found here.
fn open_confirmed(address: &PostgresAddress) -> Result<PostgresConnection> {
    let began = Instant::now();
    loop {
        let connection = open(address)?;
        let Err(error) = connection.confirm_primary() else { return Ok(connection) };
        if connection.health() != ConnectionHealth::Unproven {
            return Err(error);
        }
        connection.cancel_now(address);
        address.distrust(connection.server());
        if began.elapsed() >= STANDBY_TIMEOUT {
            return Err(error);
        }
        tracing::warn!(%error, "waiting for the synchronous standby");
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
    let address = PostgresAddress::new(settings)?;
    run_migrations(address.clone(), mode, now, None).await?;
    // With the same address: its first server is now the one that confirms commits.
    work_on(address, work).await
}

/// Runs long work on a dedicated connection, without migrations.
pub(crate) async fn with_connection<T: Send + 'static>(
    settings: &PostgresSettings,
    work: impl FnOnce(&PostgresConnection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    work_on(PostgresAddress::new(settings)?, work).await
}

async fn work_on<T: Send + 'static>(
    address: PostgresAddress,
    work: impl FnOnce(&PostgresConnection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    let server = address.to_string();
    let done = run(move || open_confirmed(&address), work).await;
    done.map_err(|error| OpenError::Server { server, error })
}

/// Returns the name of the server, without secrets.
pub(crate) fn display_name(settings: &PostgresSettings) -> Result<String, OpenError> {
    PostgresAddress::new(settings).map(|address| address.to_string())
}

/// Runs work on a dedicated connection to whatever server answers.
pub(super) async fn run_on<T: Send + 'static>(
    address: PostgresAddress,
    work: impl FnOnce(&PostgresConnection) -> T + Send + 'static,
) -> Result<T> {
    run(move || open(&address), work).await
}

async fn run<T: Send + 'static>(
    open: impl FnOnce() -> Result<PostgresConnection> + Send + 'static,
    work: impl FnOnce(&PostgresConnection) -> T + Send + 'static,
) -> Result<T> {
    let job = tokio::task::spawn_blocking(move || Ok(work(&open()?)));
    job.await.map_err(|error| StoreError::unavailable(&error))?
}

fn open(address: &PostgresAddress) -> Result<PostgresConnection> {
    let connection = PostgresConnection::open(address, Instant::now() + CONNECT_TIMEOUT)?;
    connection.reset_for(Instant::now() + MAINTENANCE_TIMEOUT);
    Ok(connection)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::super::fake_server::FakeServer;
    use super::*;

    /// The process may end right after it. Here is no runtime that would run a task in the background.
    #[tokio::test]
    async fn a_statement_is_cancelled_before_the_process_can_end() {
        let mut server = FakeServer::start(&["LOCK"]).await;
        let settings = PostgresSettings { timeout: MAINTENANCE_TIMEOUT, ..PostgresSettings::new(server.url.clone()) };
        let address = PostgresAddress::new(&settings).unwrap();
        let give_up = move || {
            let connection = PostgresConnection::open(&address, Instant::now() + MAINTENANCE_TIMEOUT).unwrap();
            // It times out at once.
            connection.reset_for(Instant::now());
            connection.batch("LOCK").unwrap_err();
            connection.cancel_now(&address);
        };
        tokio::task::spawn_blocking(|| std::thread::spawn(give_up).join().unwrap()).await.unwrap();
        assert_eq!(server.next_cancelled().await, 1);
    }

    #[test]
    fn the_time_limit_of_a_migration_counts_from_its_first_conflict() {
        let (mut first_conflict, start) = (None, Instant::now());
        let hour = Duration::from_hours(1);
        assert!(!is_retry_over(&mut first_conflict, start + hour), "it has worked for an hour");
        assert!(!is_retry_over(&mut first_conflict, start + hour + MIGRATION_RETRY_LIMIT / 2));
        assert!(is_retry_over(&mut first_conflict, start + hour + MIGRATION_RETRY_LIMIT));
    }
}
