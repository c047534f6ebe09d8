//! A few connections that everybody shares. Whoever uses one does so on a thread of its own, and to the end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

use super::address::Address;
use super::connection::{Connection, ConnectionHealth};
use crate::{StoreError, StoreErrorKind};

/// How long anybody waits for the database, all in all.
const WORK_TIMEOUT: Duration = Duration::from_secs(2);
/// How long of it for a connection that is free.
const ACQUIRE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How much later than that whoever waits gives up, though the thread has not said so.
const WORK_TIMEOUT_GRACE: Duration = Duration::from_millis(200);
/// How long nobody tries to connect after that failed: a server that is down must not be stormed.
const CONNECT_BACKOFF: Duration = Duration::from_millis(100);
/// How often a piece of work is begun again.
const MAX_ATTEMPTS: usize = 4;

/// Why a piece of work was not done.
pub(super) enum WorkError {
    /// Nothing of it remains.
    RolledBack(StoreError),
    /// It may have been done all the same.
    CommitUnknown(StoreError),
}

#[derive(Clone, Debug)]
pub(super) struct Pool(Arc<PoolInner>);

#[derive(Debug)]
struct PoolInner {
    address: Address,
    idle: Mutex<Vec<Connection>>,
    /// Why the last attempt to connect failed, and how long that is taken for the answer to all.
    refused: Mutex<Option<(Instant, StoreError)>>,
    /// For every use.
    all: Arc<Semaphore>,
    /// For writes, besides. Fewer: whoever waits for rows that somebody holds must leave something to those who only read.
    writes: Arc<Semaphore>,
}

/// What a connection is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessMode {
    Read,
    Write,
}

impl Pool {
    pub(super) fn new(address: Address, connections: usize) -> Self {
        let (all, writes) = connection_limits(connections);
        let (all, writes) = (Arc::new(Semaphore::new(all)), Arc::new(Semaphore::new(writes)));
        Self(Arc::new(PoolInner { address, idle: Mutex::default(), refused: Mutex::default(), all, writes }))
    }

    /// Does a piece of work on a connection of its own. It runs to its end even when the caller stops waiting, and may be
    /// begun again where nothing of it remains.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        wanted_for: AccessMode,
        work: impl Fn(&Connection) -> Result<T, WorkError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let deadline = Instant::now() + WORK_TIMEOUT;
        let busy = |_| StoreError::new(StoreErrorKind::Overloaded, "every connection to the database is busy");
        let permits = timeout(ACQUIRE_TIMEOUT, self.acquire(wanted_for)).await.map_err(busy)?;
        let (permits, pool) = (permits.map_err(|error| StoreError::unavailable(&error))?, Arc::clone(&self.0));
        let job = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also when nobody waits for it any more.
            let _permits = permits;
            pool.attempt(deadline, &work)
        });
        let done = timeout_at(deadline + WORK_TIMEOUT_GRACE, job).await.map_err(|_| StoreError::timed_out())?;
        done.map_err(|error| StoreError::unavailable(&error))?
    }

    async fn acquire(
        &self,
        wanted_for: AccessMode,
    ) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit), AcquireError> {
        let write = match wanted_for {
            AccessMode::Read => None,
            AccessMode::Write => Some(Arc::clone(&self.0.writes).acquire_owned().await?),
        };
        Ok((write, Arc::clone(&self.0.all).acquire_owned().await?))
    }
}

/// How many connections there may be, and how many of them for writes: at least one is left to whoever only reads.
fn connection_limits(connections: usize) -> (usize, usize) {
    let all = connections.max(2);
    (all, all - (all / 4).max(1))
}

impl PoolInner {
    fn attempt<T>(
        &self,
        deadline: Instant,
        work: &impl Fn(&Connection) -> Result<T, WorkError>,
    ) -> Result<T, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let idle = self.idle().pop();
            let reused = idle.is_some();
            let connection = idle.map_or_else(|| self.open(deadline), Ok)?;
            connection.reset_for(deadline);
            let outcome = work(&connection);
            let health = connection.health();
            match health {
                ConnectionHealth::Broken => self.idle().clear(),
                ConnectionHealth::TimedOut => drop(connection),
                ConnectionHealth::Healthy | ConnectionHealth::StatementFailed | ConnectionHealth::Conflict => {
                    self.idle().push(connection);
                }
            }
            let retryable = health == ConnectionHealth::Conflict || (health == ConnectionHealth::Broken && reused);
            match outcome {
                Ok(done) => return Ok(done),
                Err(WorkError::RolledBack(_)) if retryable && tries < MAX_ATTEMPTS && Instant::now() < deadline => {}
                Err(WorkError::RolledBack(error) | WorkError::CommitUnknown(error)) => return Err(error),
            }
        }
    }

    /// A new connection; for a moment after one was refused, nobody tries again.
    fn open(&self, deadline: Instant) -> Result<Connection, StoreError> {
        let refused = self.refused().clone();
        if let Some((_, error)) = refused.filter(|(until, _)| Instant::now() < *until) {
            return Err(error);
        }
        let opened = Connection::open(&self.address, deadline);
        *self.refused() = opened.as_ref().err().map(|error| (Instant::now() + CONNECT_BACKOFF, error.clone()));
        opened
    }

    fn refused(&self) -> MutexGuard<'_, Option<(Instant, StoreError)>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::connection_limits;

    #[test]
    fn writes_leave_a_connection_to_readers() {
        for (connections, shared) in [(0, (2, 1)), (2, (2, 1)), (3, (3, 2)), (4, (4, 3)), (10, (10, 8))] {
            assert_eq!(connection_limits(connections), shared);
        }
    }
}
