//! PostgreSQL, shared by several nodes. Each node has a pool and one connection that reads the changes of others.

mod address;
mod connection;
mod dedicated;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod fake_server;
mod inspect;
mod journal;
mod journal_position;
mod journal_reader;
mod maintenance;
mod node_lock;
mod pool;
mod primary_proof;
mod read_pace;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::Timestamp;
use tokio::sync::Notify;
use tokio::time::timeout;

pub(super) use connection::Column;
pub(crate) use connection::PostgresConnection;
pub(super) use dedicated::{display_name, with_connection, with_migrated_connection};
pub use inspect::{PostgresStatus, inspect_postgres};
pub(crate) use journal::statements as journal_statements;
pub(super) use journal::{probe_write, sweep, write as write_journal};
pub(super) use maintenance::{commit_bulk, commit_maintenance};
pub(super) use node_lock::lock_out_nodes;

use super::erased::{ReadWork, WriteWork};
use super::{Mode, OpenError, Sql, StoreLoad, Tx};
use crate::cache::{Cache, CacheChange};
use crate::{ChainKeys, Result, StoreError};
use address::PostgresAddress;
use connection::ConnectionHealth;
use dedicated::run_migrations;
use journal_reader::JournalReader;
use pool::{AccessMode, Pool, WorkError};

/// The timeout of the first read of the journal.
const FIRST_READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The settings for a PostgreSQL server that several nodes share.
#[derive(Clone)]
pub struct PostgresSettings {
    /// `postgres://user:password@host:port/database`, with the options of PostgreSQL URLs.
    pub url: String,
    /// The maximum number of connections of this node, besides the connection that reads the journal.
    pub connections: usize,
    /// The timeout of a use of the database, in total.
    pub timeout: Duration,
    /// A CA file to trust in addition to the system's certificates.
    pub ca_file: Option<PathBuf>,
}

debug_only!(PostgresSettings, connections);

impl PostgresSettings {
    /// One connection to the server at `url` with the default timeout.
    #[must_use]
    pub const fn new(url: String) -> Self {
        Self { url, connections: 1, timeout: Duration::from_secs(2), ca_file: None }
    }
}

#[derive(Debug)]
pub(crate) struct PostgresDatabase {
    pool: Arc<Pool>,
    cache: Arc<Cache>,
    pub(crate) reader: JournalReader,
    /// Fires after this node commits a change that concerns other nodes.
    pub(crate) changed: Arc<Notify>,
    /// The timeout of a use of the database, in total.
    pub(super) timeout: Duration,
}

impl PostgresDatabase {
    pub(super) async fn open(
        settings: &PostgresSettings,
        mode: Mode,
        cache: Arc<Cache>,
        now: Timestamp,
        key: Option<ChainKeys>,
    ) -> Result<Self, OpenError> {
        let address = PostgresAddress::new(settings)?;
        run_migrations(address.clone(), mode, now, key).await?;
        let reader = JournalReader::start(address.clone(), Arc::clone(&cache));
        // The reader holds the lock of the nodes: nothing is read before it, since a restore could replace it.
        let first_read = timeout(FIRST_READ_TIMEOUT, reader.wait_until_caught_up()).await;
        first_read.map_err(|_| {
            let error = StoreError::unavailable(
                &"the journal cannot be read; a restore may be running, or the synchronous standby may be down",
            );
            OpenError::Server { server: address.to_string(), error }
        })?;
        let pool = Arc::new(Pool::new(address, settings.connections, settings.timeout));
        Ok(Self { pool, cache, reader, changed: Arc::default(), timeout: settings.timeout })
    }

    /// How busy the connections of this node are.
    pub(super) fn load(&self) -> StoreLoad {
        self.pool.load()
    }

    pub(super) async fn read(&self, query: ReadWork) -> Result<()> {
        self.pool
            .run(AccessMode::Read, move |connection| {
                let read = query(&Sql::Postgres(connection));
                read.and_then(|()| connection.confirm_primary()).map_err(WorkError::RolledBack)
            })
            .await
    }

    pub(super) async fn write(&self, work: WriteWork) -> Result<()> {
        let (cache, changed) = (Arc::clone(&self.cache), Arc::clone(&self.changed));
        let run = move |connection: &PostgresConnection| transact(connection, &work, &cache, &changed);
        self.pool.run(AccessMode::Write, run).await
    }
}

fn transact(
    connection: &PostgresConnection,
    work: &WriteWork,
    cache: &Cache,
    changed: &Notify,
) -> Result<(), WorkError> {
    let done = connection.batch("BEGIN").and_then(|()| prepared(connection, work));
    let (mut touched, with_heartbeat) = match done {
        Ok(prepared) => prepared,
        Err(error) => {
            // A connection on which this fails is discarded, and the server rolls back.
            let _ = connection.batch("ROLLBACK");
            return Err(WorkError::RolledBack(error));
        }
    };
    let committed = connection.commit(with_heartbeat).map_err(WorkError::CommitUnknown);
    // A new session is not cached: another node may have ended it, and this node may have read that change.
    touched.retain(|change| !matches!(change, CacheChange::SessionStarted(..)));
    if touched.iter().any(CacheChange::concerns_other_nodes) {
        changed.notify_one();
    }
    for change in touched {
        // Also applied when the result of the commit is unknown: removing a cache entry is always safe.
        cache.apply(change);
    }
    committed
}

/// Runs everything of a transaction except its commit; returns its changes, and whether it contains a heartbeat.
fn prepared(connection: &PostgresConnection, work: &WriteWork) -> Result<(Vec<CacheChange>, bool)> {
    let mut tx = Tx::new(Sql::Postgres(connection));
    work(&mut tx)?;
    journal::write(connection, &tx.changes)?;
    // After a failed statement, COMMIT would roll back without an error.
    if connection.health() != ConnectionHealth::Healthy {
        return Err(StoreError::unavailable(&"a statement of the transaction failed"));
    }
    let with_heartbeat = connection.add_heartbeat()?;
    Ok((tx.changes, with_heartbeat))
}
