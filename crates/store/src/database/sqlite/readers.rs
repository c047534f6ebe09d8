//! Read-only connections. They run on blocking threads, because a read may wait for the disk.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::SqliteConnection;
use crate::database::Sql;
use crate::database::erased::ReadWork;
use crate::{Result, StoreError};

/// The number of readers. More would only compete for the disk.
const MAX_READERS: usize = 4;

#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<SqliteConnection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, idle: Arc::default(), permits: Arc::new(Semaphore::new(MAX_READERS)) }
    }

    pub(crate) fn connect(&self) -> Result<SqliteConnection> {
        SqliteConnection::open_reader(&self.path)
    }

    pub(crate) async fn read(&self, query: ReadWork) -> Result<()> {
        let permit =
            Arc::clone(&self.permits).acquire_owned().await.map_err(|error| StoreError::unavailable(&error))?;
        let (idle, path) = (Arc::clone(&self.idle), self.path.clone());
        let work = move || {
            // Held until the read is done, also when the caller has stopped waiting.
            let _permit = permit;
            let free = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = free.map_or_else(|| SqliteConnection::open_reader(&path), Ok)?;
            query(&Sql::Sqlite(&connection))?;
            // Only a working connection goes back to the pool; a broken one is replaced by the next reader.
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok(())
        };
        tokio::task::spawn_blocking(work).await.map_err(|error| StoreError::unavailable(&error))?
    }
}
