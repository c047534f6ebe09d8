//! PostgreSQL: shared by several nodes, each with a few connections and one that follows what the others change.

mod connection;
mod examine;
mod journal;
mod pool;
mod server;

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
pub(crate) use journal::Proof;
pub(super) use journal::sweep;

use super::migrate::{self, MigrateError};
use super::{Mode, OpenError, Sql, Tx};
use crate::cache::{Cache, Change, Trust};
use crate::{Cause, StoreError};
use connection::State;
use journal::Reader;
use pool::{Failure, Pool, Use};
use server::Server;

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
pub(crate) struct Shared {
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

impl Shared {
    pub(super) async fn open(
        settings: &Postgres,
        mode: Mode,
        cache_entries: usize,
        now: Timestamp,
    ) -> Result<(Self, Arc<Cache>), OpenError> {
        let server = Server::new(settings)?;
        migrated(server.clone(), mode, now).await?;
        let proof = journal::proof();
        let cache = Arc::new(Cache::trusted(cache_entries, Trust::While(Arc::clone(&proof))));
        let reader = Reader::start(server.clone(), Arc::clone(&cache), proof);
        let pool = Pool::new(server, settings.connections);
        Ok((Self { pool, cache: Arc::clone(&cache), reader, changed: Arc::default() }, cache))
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl Fn(&Sql) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.pool.run(Use::Read, move |sql| query(sql).map_err(Failure::Undone)).await
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (cache, changed) = (Arc::clone(&self.cache), Arc::clone(&self.changed));
        self.pool.run(Use::Write, move |sql| transact(sql, &work, &cache, &changed)).await
    }

    /// Fires after this node has changed something that others should hear of.
    pub(super) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    /// Reads at once what others have changed.
    pub(super) fn catch_up(&self) {
        self.reader.look();
    }
}

/// Does a piece of work in a transaction.
fn transact<T>(
    sql: &Sql,
    work: &impl Fn(&mut Tx<'_>) -> Result<T, StoreError>,
    cache: &Cache,
    changed: &Notify,
) -> Result<T, Failure> {
    sql.batch("BEGIN").map_err(Failure::Undone)?;
    let (done, touched) = match prepared(sql, work) {
        Ok(prepared) => prepared,
        Err(error) => {
            // A connection on which this fails is of no more use, and the server rolls back.
            let _ = sql.batch("ROLLBACK");
            return Err(Failure::Undone(error));
        }
    };
    let committed = sql.batch("COMMIT").map_err(Failure::Unknown);
    // Also where nobody knows whether it was committed: forgetting is always right.
    let heard_of = touched.iter().any(|change| !matches!(change, Change::Born(..)));
    for change in touched {
        cache.apply(change);
    }
    if heard_of {
        changed.notify_one();
    }
    committed.map(|()| done)
}

/// Everything of a transaction but its commit.
fn prepared<T>(
    sql: &Sql,
    work: &impl Fn(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<(T, Vec<Change>), StoreError> {
    let mut tx = Tx::new(sql);
    let done = work(&mut tx)?;
    let changes = tx.into_changes();
    journal::write(sql, &changes)?;
    // After a failed statement a commit would undo everything and not say so.
    if matches!(sql, Sql::Postgres(connection) if connection.state() != State::Well) {
        return Err(StoreError::new(Cause::Unavailable, "a statement of the transaction failed"));
    }
    Ok((done, changes))
}

/// Brings the tables up to date; returns once they are.
async fn migrated(server: Server, mode: Mode, now: Timestamp) -> Result<(), OpenError> {
    let name = server.to_string();
    let outcome = on(server, move |sql| patiently(sql, || migrate::run(sql, mode, now))).await;
    let failed = |error: StoreError| OpenError::Server { server: name.clone(), error };
    outcome.map_err(failed)?.map_err(|error| match error {
        MigrateError::Store(error) => failed(error),
        error => error.at(&name, "choose another database with store.url"),
    })
}

/// Tries again where somebody else was using what is to be changed.
fn patiently<T>(sql: &Sql, attempt: impl Fn() -> T) -> T {
    let mut outcome = attempt();
    for _ in 1..MIGRATIONS {
        match sql {
            Sql::Postgres(connection) if connection.state() == State::Conflict => connection.forgive(),
            _ => break,
        }
        std::thread::sleep(BETWEEN);
        outcome = attempt();
    }
    outcome
}

/// Does something that may take long on a connection of its own, on tables that are up to date.
pub(super) async fn on_one_connection<T: Send + 'static>(
    settings: &Postgres,
    mode: Mode,
    now: Timestamp,
    work: impl FnOnce(&Sql) -> T + Send + 'static,
) -> Result<T, OpenError> {
    let server = Server::new(settings)?;
    migrated(server.clone(), mode, now).await?;
    let name = server.to_string();
    on(server, work).await.map_err(|error| OpenError::Server { server: name, error })
}

async fn on<T: Send + 'static>(server: Server, work: impl FnOnce(&Sql) -> T + Send + 'static) -> Result<T, StoreError> {
    let job = tokio::task::spawn_blocking(move || {
        let connection = Connection::open(&server, Instant::now() + CONNECT)?;
        Ok(connection.lend(Instant::now() + LONG, work).0)
    });
    job.await.map_err(|error| StoreError::new(Cause::Unavailable, error.to_string()))?
}
