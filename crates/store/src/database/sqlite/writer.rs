//! The only writer. Writes that arrive during a commit, or while those before them run, share the next commit, so that many sign-ins
//! cost one disk sync.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::SqliteConnection;
use crate::cache::{Cache, CacheChange};
use crate::database::erased::{WriteWork, erase_write};
use crate::database::{Sql, Tx};
use crate::{Result, StoreError, StoreErrorKind};

/// The limit of the write queue. When it is full, writes are rejected immediately as overloaded.
const MAX_QUEUED_WRITES: usize = 4096;

/// The maximum number of writes per commit, so that the first write does not wait for a long queue.
const MAX_GROUP_SIZE: usize = 256;

/// A queued write with the channel to its caller.
struct QueuedWrite {
    work: WriteWork,
    reply: oneshot::Sender<Result<()>>,
}

impl QueuedWrite {
    /// Does the work inside the group's transaction.
    fn run(&self, tx: &mut Tx<'_>) -> Result<()> {
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(tx)));
        done.unwrap_or_else(|_| Err(StoreError::unavailable(&"a write panicked")))
    }

    /// Sends the result to the caller.
    fn answer(self, committed: Result<()>) {
        // The caller may have stopped waiting; the commit stays valid.
        let _ = self.reply.send(committed);
    }
}

pub(crate) struct Writer {
    // An option, so that `drop` can close the queue before it joins the thread.
    queue: Option<SyncSender<QueuedWrite>>,
    thread: Option<JoinHandle<()>>,
    /// The number of writes in the queue.
    waiting: Arc<AtomicUsize>,
}

debug_only!(Writer);

impl Writer {
    pub(crate) fn start(connection: SqliteConnection, cache: Arc<Cache>) -> Result<Self> {
        // The journal of a savepoint has the pages that a write has changed: hundreds for 64 sign-ins. In a file, a full temporary
        // directory would make writes fail.
        connection.batch("PRAGMA temp_store = MEMORY")?;
        let (queue, jobs) = sync_channel(MAX_QUEUED_WRITES);
        let waiting = Arc::<AtomicUsize>::default();
        let thread = std::thread::Builder::new().name("store-writer".into());
        let queued = Arc::clone(&waiting);
        let thread = thread.spawn(move || serve(&connection, &jobs, &cache, &queued));
        let thread = Some(thread.map_err(|error| StoreError::unavailable(&error))?);
        Ok(Self { queue: Some(queue), thread, waiting })
    }

    /// The number of writes that wait for the commit in progress.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (work, result) = erase_write(work);
        self.run(work).await?;
        result.take()
    }

    pub(crate) async fn run(&self, work: WriteWork) -> Result<()> {
        let stopped = || StoreError::unavailable(&"the writer has stopped");
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        // Counted first: the writer may take the write at once.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        queue.try_send(QueuedWrite { work, reply }).map_err(|error| {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            match error {
                TrySendError::Full(_) => StoreError::new(StoreErrorKind::Overloaded, "the write queue is full"),
                TrySendError::Disconnected(_) => stopped(),
            }
        })?;
        // The writer may have stopped after the commit.
        answer.await.map_err(|_| stopped().with_unknown_outcome())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // Accepted writes are committed before the process ends.
            let _ = thread.join();
        }
    }
}

fn serve(sql: &SqliteConnection, jobs: &Receiver<QueuedWrite>, cache: &Cache, waiting: &AtomicUsize) {
    while let Ok(first) = jobs.recv() {
        // Taken one by one while the group runs: of clients that wait for their responses, most send the next write just then, and it
        // would have to wait for another commit.
        let group = std::iter::once(first).chain(jobs.try_iter().take(MAX_GROUP_SIZE - 1));
        let group = group.inspect(|_| {
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
        commit(sql, group, cache);
    }
}

/// Runs a group in one transaction and sends the results only after the commit.
fn commit(sql: &SqliteConnection, group: impl Iterator<Item = QueuedWrite>, cache: &Cache) {
    let mut outcomes = Vec::new();
    let committed = run_all(sql, group, &mut outcomes).and_then(|()| sql.commit());
    if let Err(error) = &committed {
        let effect = if error.is_outcome_unknown() {
            "its writes take no effect, unless they are found on disk after a crash"
        } else {
            "none of its writes took effect"
        };
        tracing::error!(%error, writes = outcomes.len(), "commit failed: {effect}");
        if !sql.is_outside_transaction() {
            let _ = sql.batch("ROLLBACK");
        }
    }
    for (job, outcome) in outcomes {
        let outcome = outcome.and_then(|changes| committed.clone().map(|()| changes));
        job.answer(outcome.map(|changes| changes.into_iter().for_each(|change| cache.apply(change))));
    }
}

type JobOutcome = (QueuedWrite, Result<Vec<CacheChange>>);

/// Runs all jobs of a group. Fails when the whole transaction is lost; a job that fails alone is rolled back alone.
///
/// A savepoint for each job would copy every page before it is changed, about seven pages for a sign-in. Jobs rarely fail, so they run
/// without savepoints until one does. Then the transaction is rolled back, and the jobs that had succeeded run again, once, with savepoints.
fn run_all(
    sql: &SqliteConnection,
    group: impl Iterator<Item = QueuedWrite>,
    outcomes: &mut Vec<JobOutcome>,
) -> Result<()> {
    if let Err(error) = sql.batch("BEGIN IMMEDIATE") {
        // It would fail for the others as well, and each could wait for a lock.
        outcomes.extend(group.map(|job| (job, Err(error.clone()))));
        return Err(error);
    }
    let mut with_savepoints = false;
    for job in group {
        let mut transaction = Ok(());
        let outcome = if with_savepoints {
            let outcome = run_in_savepoint(sql, &job);
            transaction = outcome.as_ref().map(drop).map_err(Clone::clone);
            outcome.flatten()
        } else {
            let outcome = run_without_savepoint(sql, &job);
            if let Err(error) = &outcome {
                tracing::debug!(%error, writes = outcomes.len(), "a write failed: the writes before it run again");
                transaction = run_again(sql, outcomes);
                with_savepoints = true;
            }
            outcome
        };
        outcomes.push((job, outcome));
        // The jobs that are still in the queue get another transaction.
        transaction?;
    }
    Ok(())
}

/// Runs a job directly in the transaction of the group. After an error, the changes of the job are still in the transaction.
fn run_without_savepoint(sql: &SqliteConnection, job: &QueuedWrite) -> Result<Vec<CacheChange>> {
    let mut tx = Tx::new(Sql::Sqlite(sql));
    job.run(&mut tx)?;
    if sql.is_outside_transaction() {
        return Err(StoreError::unavailable(&"the transaction was rolled back"));
    }
    Ok(tx.changes)
}

/// Rolls back a group, and runs the jobs that had succeeded again.
fn run_again(sql: &SqliteConnection, outcomes: &mut [JobOutcome]) -> Result<()> {
    if !sql.is_outside_transaction() {
        sql.batch("ROLLBACK")?;
    }
    sql.batch("BEGIN IMMEDIATE")?;
    for (job, outcome) in outcomes {
        *outcome = run_in_savepoint(sql, job)?;
    }
    Ok(())
}

/// Runs a job so that it can be rolled back alone. Fails when the whole transaction is lost: a disk failure ends it, including the jobs
/// that ran before, and a job that cannot be rolled back must not be committed.
fn run_in_savepoint(sql: &SqliteConnection, job: &QueuedWrite) -> Result<Result<Vec<CacheChange>>> {
    sql.execute("SAVEPOINT job", &[])?;
    let mut tx = Tx::new(Sql::Sqlite(sql));
    let outcome = job.run(&mut tx).and_then(|()| sql.execute("RELEASE job", &[]));
    if let Err(error) = &outcome {
        if sql.is_outside_transaction() {
            return Err(error.clone());
        }
        sql.batch("ROLLBACK TO job; RELEASE job")?;
    }
    Ok(outcome.map(|_| tx.changes))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
