//! PostgreSQL: shared by several nodes, each with a few connections and one that follows what the others change.

mod address;
mod connection;
mod inspect;
mod journal;
mod pool;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

pub(super) use connection::Column;
pub(crate) use connection::Connection;
pub use inspect::{PostgresStatus, inspect_postgres};
pub(super) use journal::{probe_write, sweep};

use super::migrate;
use super::{Mode, OpenError, Sql, Tx};
use crate::cache::{Cache, CacheChange};
use crate::{ChainKey, StoreError};
use address::Address;
use connection::ConnectionHealth;
use journal::JournalReader;
use pool::{AccessMode, Pool, WorkError};

/// A database server that several nodes share.
#[derive(Clone)]
pub struct PostgresSettings {
    /// `postgres://user:password@host:port/database`, with the options of such addresses.
    pub url: String,
    /// How many connections this node uses at most, besides the one that follows what others change.
    pub connections: usize,
    /// An authority to trust besides those this machine trusts.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSettings").field("connections", &self.connections).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(crate) struct PostgresDatabase {
    pool: Pool,
    cache: Arc<Cache>,
    reader: JournalReader,
    changed: Arc<Notify>,
}

/// How long the server may take to let somebody in who has time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often migrations are tried, and how long others have the tables to themselves in between.
const MIGRATION_ATTEMPTS: usize = 10;
const MIGRATION_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How long migrations and copies may take, waiting for other nodes that migrate included.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_hours(10);

impl PostgresDatabase {
    pub(super) async fn open(
        settings: &PostgresSettings,
        mode: Mode,
        cache: Arc<Cache>,
        now: Timestamp,
        key: Option<ChainKey>,
    ) -> Result<Self, OpenError> {
        let address = Address::new(settings)?;
        run_migrations(address.clone(), mode, now, key).await?;
        let reader = JournalReader::start(address.clone(), Arc::clone(&cache));
        let pool = Pool::new(address, settings.connections);
        Ok(Self { pool, cache, reader, changed: Arc::default() })
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl Fn(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.pool
            .run(AccessMode::Read, move |connection| query(&Sql::Postgres(connection)).map_err(WorkError::RolledBack))
            .await
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (cache, changed) = (Arc::clone(&self.cache), Arc::clone(&self.changed));
        self.pool.run(AccessMode::Write, move |connection| transact(connection, &work, &cache, &changed)).await
    }

    /// Fires after this node has changed something that others should hear of.
    pub(super) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    /// Reads at once what others have changed.
    pub(super) fn catch_up(&self) {
        self.reader.wake();
    }

    /// Waits until everything is read that others had changed before.
    pub(super) async fn wait_until_caught_up(&self) {
        self.reader.wait_until_caught_up().await;
    }
}

/// Does a piece of work in a transaction.
fn transact<T>(
    connection: &Connection,
    work: &impl Fn(&mut Tx<'_>) -> Result<T, StoreError>,
    cache: &Cache,
    changed: &Notify,
) -> Result<T, WorkError> {
    connection.batch("BEGIN").map_err(WorkError::RolledBack)?;
    let (done, mut touched) = match prepared(connection, work) {
        Ok(prepared) => prepared,
        Err(error) => {
            // A connection on which this fails is of no more use, and the server rolls back.
            let _ = connection.batch("ROLLBACK");
            return Err(WorkError::RolledBack(error));
        }
    };
    let committed = connection.batch("COMMIT").map_err(WorkError::CommitUnknown);
    // Of a new session nobody else knows, and this node must not either: somebody may have ended it by now, and this node
    // have heard of that.
    touched.retain(|change| !matches!(change, CacheChange::SessionStarted(..)));
    if touched.iter().any(CacheChange::concerns_other_nodes) {
        changed.notify_one();
    }
    for change in touched {
        // Also where nobody knows whether it was committed: forgetting is always right.
        cache.apply(change);
    }
    committed.map(|()| done)
}

/// Everything of a transaction but its commit.
fn prepared<T>(
    connection: &Connection,
    work: &impl Fn(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<(T, Vec<CacheChange>), StoreError> {
    let mut tx = Tx::new(Sql::Postgres(connection));
    let done = work(&mut tx)?;
    let changes = tx.into_changes();
    journal::write(connection, &changes)?;
    // After a failed statement a commit would undo everything and not say so.
    if connection.health() == ConnectionHealth::Healthy {
        Ok((done, changes))
    } else {
        Err(StoreError::unavailable(&"a statement of the transaction failed"))
    }
}

/// Brings the tables up to date; returns once they are.
async fn run_migrations(address: Address, mode: Mode, now: Timestamp, key: Option<ChainKey>) -> Result<(), OpenError> {
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
pub(super) async fn with_migrated_connection<T: Send + 'static>(
    settings: &PostgresSettings,
    mode: Mode,
    now: Timestamp,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    run_migrations(Address::new(settings)?, mode, now, None).await?;
    with_connection(settings, work).await
}

/// Does something that may take long on a connection of its own, on tables as they are.
pub(super) async fn with_connection<T: Send + 'static>(
    settings: &PostgresSettings,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    let address = Address::new(settings)?;
    let server = address.to_string();
    run_on(address, work).await.map_err(|error| OpenError::Server { server, error })
}

/// What a server is called, without secrets.
pub(super) fn display_name(settings: &PostgresSettings) -> Result<String, OpenError> {
    Address::new(settings).map(|address| address.to_string())
}

/// Does something that may take long on a connection of its own that only reads, on tables as they are.
pub(super) async fn with_read_only_connection<T: Send + 'static>(
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

async fn run_on<T: Send + 'static>(
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
