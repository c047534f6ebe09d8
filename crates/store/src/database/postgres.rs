//! PostgreSQL, shared by several nodes. Each node has a pool and one connection that reads the changes of others.

mod address;
mod connection;
mod dedicated;
mod inspect;
mod journal;
mod pool;
mod settings;

use std::sync::Arc;

use deskpass_core::Timestamp;
use tokio::sync::Notify;

pub(super) use connection::Column;
pub(crate) use connection::PostgresConnection;
pub(super) use dedicated::{display_name, with_connection, with_migrated_connection, with_read_only_connection};
pub use inspect::{PostgresStatus, inspect_postgres};
pub(super) use journal::{probe_write, sweep};
pub use settings::PostgresSettings;

use super::{Mode, OpenError, Sql, Tx};
use crate::cache::{Cache, CacheChange};
use crate::{ChainKey, StoreError};
use address::PostgresAddress;
use connection::ConnectionHealth;
use dedicated::run_migrations;
use journal::JournalReader;
use pool::{AccessMode, Pool, WorkError};

#[derive(Debug)]
pub(crate) struct PostgresDatabase {
    pool: Pool,
    cache: Arc<Cache>,
    reader: JournalReader,
    changed: Arc<Notify>,
}

impl PostgresDatabase {
    pub(super) async fn open(
        settings: &PostgresSettings,
        mode: Mode,
        cache: Arc<Cache>,
        now: Timestamp,
        key: Option<ChainKey>,
    ) -> Result<Self, OpenError> {
        let address = PostgresAddress::new(settings)?;
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

    /// Returns the signal that fires after this node commits a change that concerns other nodes.
    pub(super) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    /// Reads the changes of other nodes immediately.
    pub(super) fn catch_up(&self) {
        self.reader.wake();
    }

    /// Waits until this node has read every change that other nodes committed before this call.
    pub(super) async fn wait_until_caught_up(&self) {
        self.reader.wait_until_caught_up().await;
    }
}

/// Runs `work` in a transaction.
fn transact<T>(
    connection: &PostgresConnection,
    work: &impl Fn(&mut Tx<'_>) -> Result<T, StoreError>,
    cache: &Cache,
    changed: &Notify,
) -> Result<T, WorkError> {
    connection.batch("BEGIN").map_err(WorkError::RolledBack)?;
    let (done, mut touched) = match prepared(connection, work) {
        Ok(prepared) => prepared,
        Err(error) => {
            // A connection on which this fails is discarded, and the server rolls back.
            let _ = connection.batch("ROLLBACK");
            return Err(WorkError::RolledBack(error));
        }
    };
    let committed = connection.batch("COMMIT").map_err(WorkError::CommitUnknown);
    // This node must not cache a new session: another node may already have ended it, and this node may already have
    // read that change.
    touched.retain(|change| !matches!(change, CacheChange::SessionStarted(..)));
    if touched.iter().any(CacheChange::concerns_other_nodes) {
        changed.notify_one();
    }
    for change in touched {
        // Also applied when the result of the commit is unknown: removing a cache entry is always safe.
        cache.apply(change);
    }
    committed.map(|()| done)
}

/// Runs everything of a transaction except its commit.
fn prepared<T>(
    connection: &PostgresConnection,
    work: &impl Fn(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<(T, Vec<CacheChange>), StoreError> {
    let mut tx = Tx::new(Sql::Postgres(connection));
    let done = work(&mut tx)?;
    let changes = tx.into_changes();
    journal::write(connection, &changes)?;
    // After a failed statement, COMMIT would roll back without an error.
    if connection.health() == ConnectionHealth::Healthy {
        Ok((done, changes))
    } else {
        Err(StoreError::unavailable(&"a statement of the transaction failed"))
    }
}
