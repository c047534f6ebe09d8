//! The one writer. Whoever comes while a commit is under way shares the next one, so that many sign-ins cost one wait
//! for the disk.

use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::{Sql, Value};
use crate::cache::{Cache, Change};
use crate::{Cause, StoreError};

/// Writes that may wait. Beyond it the answer is "overloaded", at once.
const QUEUE: usize = 4096;

/// Writes that share a commit at most, so that the first of them does not wait for the last of a long line.
const GROUP: usize = 256;

/// A transaction under way. What it changed is told to the cache once it is on disk.
pub(crate) struct Tx<'a> {
    sql: &'a Sql,
    changes: Vec<Change>,
}

impl Tx<'_> {
    /// Runs a statement and returns how many rows it changed.
    pub(crate) fn execute(&self, text: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        self.sql.execute(text, values)
    }

    /// Notes what the cache must know once this is committed.
    pub(crate) fn touch(&mut self, change: Change) {
        self.changes.push(change);
    }
}

impl Deref for Tx<'_> {
    type Target = Sql;
    fn deref(&self) -> &Sql {
        self.sql
    }
}

/// Work waiting for its turn, with whoever waits for it.
trait Job: Send {
    /// Does the work inside the group's transaction.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError>;
    /// Tells whoever waits how it ended.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Waiting<W, T> {
    work: Option<W>,
    done: Option<T>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Job for Waiting<W, T>
where
    W: FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send,
    T: Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let work = self.work.take().ok_or_else(|| StoreError::new(Cause::Unavailable, "work was done already"))?;
        let done = catch_unwind(AssertUnwindSafe(|| work(tx)));
        self.done = Some(done.unwrap_or_else(|_| Err(StoreError::new(Cause::Unavailable, "a write panicked")))?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { done, reply, .. } = *self;
        let unfinished = || StoreError::new(Cause::Unavailable, "work was not done");
        // Whoever waited may have gone; what was committed stands all the same.
        let _ = reply.send(committed.and_then(|()| done.ok_or_else(unfinished)));
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    // An option, so that dropping can close the queue before it waits for the thread.
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(sql: Sql, cache: Arc<Cache>) -> Result<Self, StoreError> {
        let (queue, jobs) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("store-writer".into());
        let thread = thread.spawn(move || serve(&sql, &jobs, &cache));
        let thread = thread.map_err(|error| StoreError::new(Cause::Unavailable, error.to_string()))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let stopped = || StoreError::new(Cause::Unavailable, "the writer has stopped");
        let (reply, answer) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.try_send(Box::new(Waiting { work: Some(work), done: None, reply })).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::new(Cause::Overloaded, "the write queue is full"),
            TrySendError::Disconnected(_) => stopped(),
        })?;
        answer.await.map_err(|_| stopped())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            // What was accepted is committed before the process ends.
            let _ = thread.join();
        }
    }
}

fn serve(sql: &Sql, jobs: &Receiver<Box<dyn Job>>, cache: &Cache) {
    while let Ok(first) = jobs.recv() {
        let group: Vec<_> = std::iter::once(first).chain(jobs.try_iter().take(GROUP - 1)).collect();
        commit(sql, group, cache);
    }
}

/// Runs a group in one transaction and answers everyone after the commit, never before.
fn commit(sql: &Sql, group: Vec<Box<dyn Job>>, cache: &Cache) {
    let mut outcomes = Vec::with_capacity(group.len());
    let committed = run_all(sql, group, &mut outcomes).and_then(|()| sql.batch("COMMIT"));
    if let Err(error) = &committed {
        tracing::error!(%error, writes = outcomes.len(), "a commit failed; none of its writes counts");
        if !sql.is_outside_transaction() {
            let _ = sql.batch("ROLLBACK");
        }
    }
    for (job, outcome) in outcomes {
        let outcome = committed.clone().and(outcome);
        job.answer(outcome.map(|changes| changes.into_iter().for_each(|change| cache.apply(change))));
    }
}

type Outcome = (Box<dyn Job>, Result<Vec<Change>, StoreError>);

/// Fails when the transaction as a whole is lost; a job that fails alone is rolled back alone.
fn run_all(sql: &Sql, group: Vec<Box<dyn Job>>, outcomes: &mut Vec<Outcome>) -> Result<(), StoreError> {
    let mut lost = sql.batch("BEGIN IMMEDIATE");
    for mut job in group {
        let outcome = match &lost {
            Ok(()) => run_one(sql, job.as_mut()),
            Err(error) => Err(error.clone()),
        };
        if let (Ok(()), Err(error)) = (&lost, &outcome) {
            // A failing disk ends the whole transaction; what ran before in it is gone too.
            if sql.is_outside_transaction() {
                lost = Err(error.clone());
            }
        }
        outcomes.push((job, outcome));
    }
    lost
}

fn run_one(sql: &Sql, job: &mut dyn Job) -> Result<Vec<Change>, StoreError> {
    sql.execute("SAVEPOINT job", &[])?;
    let mut tx = Tx { sql, changes: Vec::new() };
    let outcome = job.run(&mut tx).and_then(|()| sql.execute("RELEASE job", &[]));
    if outcome.is_err() && !sql.is_outside_transaction() && sql.batch("ROLLBACK TO job; RELEASE job").is_err() {
        // Half a job must never be committed: rather lose the group, which was told nothing yet.
        let _ = sql.batch("ROLLBACK");
    }
    outcome.map(|_| tx.changes)
}

impl fmt::Debug for dyn Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Job")
    }
}
