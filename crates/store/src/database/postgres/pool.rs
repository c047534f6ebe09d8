//! A pool of blocking connections; existing crates pool asynchronous ones. Each use runs to its end on its own thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::address::PostgresAddress;
use super::connection::{ConnectionHealth, PostgresConnection};
use crate::database::StoreLoad;
use crate::{Result, StoreError, StoreErrorKind};

/// The extra time after which the caller gives up, although the thread has not reported a timeout.
const WORK_TIMEOUT_GRACE: Duration = Duration::from_millis(200);
/// The time without new connection attempts after a failed one, to protect a server that is down.
const CONNECT_BACKOFF: Duration = Duration::from_millis(100);
const MAX_ATTEMPTS: usize = 4;

/// The reason why a piece of work failed.
pub(super) enum WorkError {
    /// The transaction was rolled back.
    RolledBack(StoreError),
    /// The commit may have succeeded.
    CommitUnknown(StoreError),
}

#[derive(Debug)]
pub(super) struct Pool {
    address: PostgresAddress,
    idle: Mutex<Vec<PostgresConnection>>,
    /// The error of the last connection attempt, and how long it is returned to every caller.
    refused: Mutex<Option<(Instant, StoreError)>>,
    /// The permits for all uses.
    all: Arc<Semaphore>,
    /// The additional permits for writes: fewer, so that writes waiting for locked rows leave connections to readers.
    writes: Arc<Semaphore>,
    /// The number of connections.
    limit: usize,
    /// The timeout of a use, in total.
    timeout: Duration,
    /// The number of uses that wait for a connection.
    waiting: AtomicUsize,
}

/// Counts a use that waits for a connection, until it is dropped.
struct WaitingUse<'a>(&'a AtomicUsize);

impl<'a> WaitingUse<'a> {
    fn new(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for WaitingUse<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessMode {
    Read,
    Write,
}

impl Pool {
    pub(super) fn new(address: PostgresAddress, connections: usize, timeout: Duration) -> Self {
        let (limit, writes) = connection_limits(connections);
        let (all, writes) = (Arc::new(Semaphore::new(limit)), Arc::new(Semaphore::new(writes)));
        let waiting = AtomicUsize::default();
        Self { address, idle: Mutex::default(), refused: Mutex::default(), all, writes, limit, timeout, waiting }
    }

    /// The uses that wait, the connections in use, and the number of connections.
    pub(super) fn load(&self) -> StoreLoad {
        let in_use = self.limit.saturating_sub(self.all.available_permits());
        StoreLoad { waiting: self.waiting.load(Ordering::Relaxed), connections: Some((in_use, self.limit)) }
    }

    /// Runs `work` to its end, even when the caller stops waiting. It may be retried when it was rolled back. The error says
    /// whether the outcome of a write is unknown.
    pub(super) async fn run(
        self: &Arc<Self>,
        wanted_for: AccessMode,
        work: impl Fn(&PostgresConnection) -> Result<(), WorkError> + Send + 'static,
    ) -> Result<()> {
        let since = Instant::now();
        let deadline = since + self.timeout;
        let busy = |_| StoreError::new(StoreErrorKind::Overloaded, "every connection to the database is busy");
        let waiting = WaitingUse::new(&self.waiting);
        // The rest is left for the work itself.
        let permits = timeout_at(since + self.timeout * 3 / 4, self.acquire(wanted_for)).await.map_err(busy)?;
        drop(waiting);
        let (permits, pool) = (permits.map_err(|error| StoreError::unavailable(&error))?, Arc::clone(self));
        let job = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also when the caller has stopped waiting.
            let _permits = permits;
            pool.attempt(deadline, &work)
        });
        // The thread may still commit, or may have panicked after the commit.
        let unfinished = |error: StoreError| match wanted_for {
            AccessMode::Read => error,
            AccessMode::Write => error.with_unknown_outcome(),
        };
        let done = timeout_at(deadline + WORK_TIMEOUT_GRACE, job).await;
        let done = done.map_err(|_| unfinished(StoreError::timed_out()))?;
        done.map_err(|error| unfinished(StoreError::unavailable(&error)))?
    }

    async fn acquire(
        &self,
        wanted_for: AccessMode,
    ) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit), AcquireError> {
        let write = match wanted_for {
            AccessMode::Read => None,
            AccessMode::Write => Some(Arc::clone(&self.writes).acquire_owned().await?),
        };
        Ok((write, Arc::clone(&self.all).acquire_owned().await?))
    }

    fn attempt(&self, deadline: Instant, work: &impl Fn(&PostgresConnection) -> Result<(), WorkError>) -> Result<()> {
        let mut tries = 0;
        loop {
            tries += 1;
            let renewal = self.address.proof.admit()?;
            let renews = renewal.is_some();
            let idle = self.take_idle();
            let reused = idle.is_some();
            let connection = idle.map_or_else(|| self.open(deadline), Ok)?;
            connection.reset_for(deadline);
            // The guard is released before the work begins.
            let confirmed = renewal.map_or(Ok(()), |_guard| connection.confirm_anew());
            let outcome = confirmed.map_err(WorkError::RolledBack).and_then(|()| work(&connection));
            let health = connection.health();
            self.keep_or_close(connection);
            let retryable = match health {
                ConnectionHealth::Conflict => true,
                ConnectionHealth::Broken => reused,
                // If the journal reader waits as well, it is most likely the standby that does not answer.
                ConnectionHealth::Unproven => reused && !renews,
                ConnectionHealth::Healthy | ConnectionHealth::StatementFailed | ConnectionHealth::TimedOut => false,
            };
            match outcome {
                Ok(()) => return Ok(()),
                Err(WorkError::RolledBack(_)) if retryable && tries < MAX_ATTEMPTS && Instant::now() < deadline => {}
                Err(WorkError::RolledBack(error)) => return Err(error),
                Err(WorkError::CommitUnknown(error)) => return Err(error.with_unknown_outcome()),
            }
        }
    }

    /// Keeps a connection for the next use, unless it is unusable.
    fn keep_or_close(&self, connection: PostgresConnection) {
        match connection.health() {
            ConnectionHealth::Broken => self.idle().clear(),
            ConnectionHealth::TimedOut => self.cancel(&connection),
            ConnectionHealth::Unproven => {
                // The other connections are kept: the standby may only be slow, and if not, the journal reader finds out.
                self.cancel(&connection);
                self.address.distrust(connection.server());
            }
            ConnectionHealth::Healthy | ConnectionHealth::StatementFailed | ConnectionHealth::Conflict => {
                // Otherwise it is closed, and the server rolls back.
                if connection.is_idle() {
                    self.idle().push(connection);
                }
            }
        }
    }

    fn cancel(&self, connection: &PostgresConnection) {
        if let Some(statement) = connection.cancel_token() {
            self.address.cancel_in_background(statement);
        }
    }

    /// Opens a connection. For a moment after a failed attempt, it returns that error without a new attempt.
    fn open(&self, deadline: Instant) -> Result<PostgresConnection> {
        let refused = self.refused().clone();
        if let Some((_, error)) = refused.filter(|(until, _)| Instant::now() < *until) {
            return Err(error);
        }
        let opened = PostgresConnection::open(&self.address, deadline);
        *self.refused() = opened.as_ref().err().map(|error| (Instant::now() + CONNECT_BACKOFF, error.clone()));
        opened
    }

    /// Takes an idle connection. Those from before the journal reader changed its server are closed.
    fn take_idle(&self) -> Option<PostgresConnection> {
        let (mut idle, generation) = (self.idle(), self.address.generation());
        idle.retain(|connection| connection.generation() == generation);
        idle.pop()
    }

    fn refused(&self) -> MutexGuard<'_, Option<(Instant, StoreError)>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PostgresConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of connections, and how many of them writes may use. At least one is left to readers.
fn connection_limits(connections: usize) -> (usize, usize) {
    let all = connections.max(2);
    (all, all - (all / 4).max(1))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
