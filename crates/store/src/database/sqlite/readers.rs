//! Read-only connections. They run on blocking threads, because a read may wait for the disk. A read has a deadline, so that slow ones
//! do not keep all connections from the others.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

use super::SqliteConnection;
use crate::database::Sql;
use crate::database::erased::ReadWork;
use crate::{Result, StoreError, StoreErrorKind};

/// The number of readers. More would only compete for the disk.
const MAX_READERS: usize = 4;

/// How long a read may take, with the wait for a connection: as long as on a server, unless the settings say otherwise.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// How much longer the caller waits, so that the error of the read itself arrives.
const READ_TIMEOUT_GRACE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    timeout: Duration,
    idle: Arc<Mutex<Vec<SqliteConnection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_READERS));
        Self { path, timeout: READ_TIMEOUT, idle: Arc::default(), permits }
    }

    /// Opens a connection without a deadline.
    pub(crate) fn connect(&self) -> Result<SqliteConnection> {
        SqliteConnection::open_reader(&self.path)
    }

    pub(crate) async fn read(&self, query: ReadWork) -> Result<()> {
        let deadline = Instant::now() + self.timeout;
        let busy = |_| StoreError::new(StoreErrorKind::Overloaded, "every reader of the database is busy");
        // The rest is left for the read itself.
        let permit = timeout(self.timeout * 3 / 4, Arc::clone(&self.permits).acquire_owned()).await.map_err(busy)?;
        let permit = permit.map_err(|error| StoreError::unavailable(&error))?;
        let (idle, path) = (Arc::clone(&self.idle), self.path.clone());
        let work = move || {
            // Held until the read is done, also when the caller has stopped waiting.
            let _permit = permit;
            let free = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = free.map_or_else(|| SqliteConnection::open_reader(&path), Ok)?;
            connection.set_deadline(deadline)?;
            query(&Sql::Sqlite(&connection))?;
            // Only a working connection goes back to the pool; a broken one is replaced by the next reader.
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok(())
        };
        let done = timeout_at(deadline + READ_TIMEOUT_GRACE, tokio::task::spawn_blocking(work)).await;
        done.map_err(|_| StoreError::timed_out())?.map_err(|error| StoreError::unavailable(&error))?
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;
    use crate::database::erased::erase_read;

    const ENDLESS: &str =
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number) SELECT COUNT(*) FROM number";

    fn readers() -> (Readers, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        std::fs::write(&path, "").unwrap();
        (Readers { timeout: Duration::from_secs(1), ..Readers::new(path) }, directory)
    }

    async fn number(readers: &Readers, text: &'static str) -> Result<Option<i64>> {
        let (work, result) = erase_read(move |sql| sql.first(text, &[], |row| row.int(0)));
        readers.read(work).await?;
        result.take()
    }

    #[tokio::test]
    async fn a_read_is_ended_at_its_deadline() {
        let (readers, _directory) = readers();
        let endless = || number(&readers, ENDLESS);
        let all = tokio::join!(endless(), endless(), endless(), endless());
        for ended in [all.0, all.1, all.2, all.3] {
            assert_eq!(ended.unwrap_err().to_string(), "the database did not respond in time");
        }
        // The connections are free again, and what they read next has time.
        for _ in 0..=MAX_READERS {
            assert_eq!(number(&readers, "SELECT 7").await.unwrap(), Some(7));
        }
    }

    #[tokio::test]
    async fn a_read_does_not_wait_for_ever_for_its_turn() {
        let (readers, _directory) = readers();
        let (mut gates, mut held) = (Vec::new(), Vec::new());
        for _ in 0..MAX_READERS {
            let (release, gate) = std::sync::mpsc::channel::<()>();
            let (work, _) = erase_read(move |_| {
                let _ = gate.recv();
                Ok(())
            });
            let mut read = Box::pin(readers.read(work));
            // Polled once, so that it begins.
            assert!(poll_fn(|context| Poll::Ready(read.as_mut().poll(context))).await.is_pending());
            gates.push(release);
            held.push(read);
        }
        let refused = number(&readers, "SELECT 7").await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Overloaded);
        drop((gates, held));
        assert_eq!(number(&readers, "SELECT 7").await.unwrap(), Some(7));
    }
}
