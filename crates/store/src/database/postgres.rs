//! PostgreSQL: shared by several nodes, each with a few connections and one that follows what the others change.

mod address;
mod connection;
mod examine;
mod journal;
mod pool;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use connection::Connection;
pub(super) use connection::{Column, is_null, number};
pub use examine::{PostgresExam, examine_postgres};
pub(super) use journal::{sweep, try_out};

use super::migrate;
use super::{Mode, OpenError, Sql, Tx};
use crate::cache::{Cache, Change};
use crate::{ChainKey, StoreError};
use address::Address;
use connection::State;
use journal::Reader;
use pool::{Failure, Pool, Use};

/// A database server that several nodes share.
#[derive(Clone)]
pub struct Postgres {
    /// `postgres://user:password@host:port/database`, with the options of such addresses.
    pub url: String,
    /// How many connections this node uses at most, besides the one that follows what others change.
    pub connections: usize,
    /// An authority to trust besides those this machine trusts.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("connections", &self.connections).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(crate) struct Pooled {
    pool: Pool,
    cache: Arc<Cache>,
    reader: Reader,
    changed: Arc<Notify>,
}

/// How long the server may take to let somebody in who has time.
const CONNECT: Duration = Duration::from_secs(5);
/// How often migrations are tried, and how long others have the tables to themselves in between.
const MIGRATIONS: usize = 10;
const BETWEEN: Duration = Duration::from_millis(500);
/// How long migrations and copies may take, waiting for other nodes that migrate included.
const LONG: Duration = Duration::from_hours(10);

impl Pooled {
    pub(super) async fn open(
        settings: &Postgres,
        mode: Mode,
        cache: Arc<Cache>,
        now: Timestamp,
        key: Option<ChainKey>,
    ) -> Result<Self, OpenError> {
        let address = Address::new(settings)?;
        migrated(address.clone(), mode, now, key).await?;
        let reader = Reader::start(address.clone(), Arc::clone(&cache));
        let pool = Pool::new(address, settings.connections);
        Ok(Self { pool, cache, reader, changed: Arc::default() })
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl Fn(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.pool.run(Use::Read, move |connection| query(&Sql::Postgres(connection)).map_err(Failure::Undone)).await
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (cache, changed) = (Arc::clone(&self.cache), Arc::clone(&self.changed));
        self.pool.run(Use::Write, move |connection| transact(connection, &work, &cache, &changed)).await
    }

    /// Fires after this node has changed something that others should hear of.
    pub(super) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    /// Reads at once what others have changed.
    pub(super) fn catch_up(&self) {
        self.reader.look();
    }

    /// Waits until everything is read that others had changed before.
    pub(super) async fn caught_up(&self) {
        self.reader.caught_up().await;
    }
}

/// Does a piece of work in a transaction.
fn transact<T>(
    connection: &Connection,
    work: &impl Fn(&mut Tx<'_>) -> Result<T, StoreError>,
    cache: &Cache,
    changed: &Notify,
) -> Result<T, Failure> {
    connection.batch("BEGIN").map_err(Failure::Undone)?;
    let (done, mut touched) = match prepared(connection, work) {
        Ok(prepared) => prepared,
        Err(error) => {
            // A connection on which this fails is of no more use, and the server rolls back.
            let _ = connection.batch("ROLLBACK");
            return Err(Failure::Undone(error));
        }
    };
    let committed = connection.batch("COMMIT").map_err(Failure::Unknown);
    // Of a new session nobody else knows, and this node must not either: somebody may have ended it by now, and this node
    // have heard of that.
    touched.retain(|change| !matches!(change, Change::Born(..)));
    if touched.iter().any(Change::is_heard_of) {
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
) -> Result<(T, Vec<Change>), StoreError> {
    let mut tx = Tx::new(Sql::Postgres(connection));
    let done = work(&mut tx)?;
    let changes = tx.into_changes();
    journal::write(connection, &changes)?;
    // After a failed statement a commit would undo everything and not say so.
    if connection.state() == State::Well {
        Ok((done, changes))
    } else {
        Err(StoreError::unavailable(&"a statement of the transaction failed"))
    }
}

/// Brings the tables up to date; returns once they are.
async fn migrated(address: Address, mode: Mode, now: Timestamp, key: Option<ChainKey>) -> Result<(), OpenError> {
    let server = address.to_string();
    let failed = |error| OpenError::Server { server: server.clone(), error };
    let outcome = on(address, move |connection| {
        patiently(connection, || migrate::run(&Sql::Postgres(connection), mode, now, key.as_ref()))
    });
    let instead = "choose another database with store.url";
    outcome.await.map_err(failed)?.map_err(|error| error.at(&server, instead, failed))
}

/// Tries again where somebody else was using what is to be changed.
fn patiently<T>(connection: &Connection, attempt: impl Fn() -> T) -> T {
    let mut outcome = attempt();
    for _ in 1..MIGRATIONS {
        if connection.state() != State::Conflict {
            break;
        }
        std::thread::sleep(BETWEEN);
        connection.lend(Instant::now() + LONG);
        outcome = attempt();
    }
    outcome
}

/// Does something that may take long on a connection of its own, on tables that are up to date.
pub(super) async fn on_one_connection<T: Send + 'static>(
    settings: &Postgres,
    mode: Mode,
    now: Timestamp,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    migrated(Address::new(settings)?, mode, now, None).await?;
    as_it_is(settings, work).await
}

/// Does something that may take long on a connection of its own, on tables as they are.
pub(super) async fn as_it_is<T: Send + 'static>(
    settings: &Postgres,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    let address = Address::new(settings)?;
    let server = address.to_string();
    on(address, work).await.map_err(|error| OpenError::Server { server, error })
}

/// What a server is called, without secrets.
pub(super) fn name(settings: &Postgres) -> Result<String, OpenError> {
    Address::new(settings).map(|address| address.to_string())
}

/// Does something that may take long on a connection of its own that only reads, on tables as they are.
pub(super) async fn only_reading<T: Send + 'static>(
    settings: &Postgres,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, OpenError> {
    let address = Address::new(settings)?;
    let server = address.to_string();
    let reading = on(address, |connection| {
        let told = connection.batch("SET statement_timeout = 0; SET default_transaction_read_only = on");
        told.map(|()| work(connection))
    });
    reading.await.and_then(|done| done).map_err(|error| OpenError::Server { server, error })
}

async fn on<T: Send + 'static>(
    address: Address,
    work: impl FnOnce(&Connection) -> T + Send + 'static,
) -> Result<T, StoreError> {
    let job = tokio::task::spawn_blocking(move || {
        let connection = Connection::open(&address, Instant::now() + CONNECT)?;
        connection.lend(Instant::now() + LONG);
        Ok(work(&connection))
    });
    job.await.map_err(|error| StoreError::unavailable(&error))?
}
