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
mod tests {
    use std::pin::Pin;
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use deskpass_core::EmployeeKey;

    use super::*;
    use crate::cache::Freshness;

    type Job = Box<dyn Fn(&mut Tx<'_>) -> Result<()> + Send>;

    struct Fixture {
        writer: Writer,
        cache: Arc<Cache>,
        path: std::path::PathBuf,
        _directory: tempfile::TempDir,
    }

    fn fixture() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.db");
        std::fs::write(&path, "").unwrap();
        let sql = SqliteConnection::open_writer(&path).unwrap();
        sql.batch("CREATE TABLE number (n BIGINT NOT NULL PRIMARY KEY)").unwrap();
        let cache = Arc::new(Cache::new(10, Freshness::permanent()));
        let writer = Writer::start(sql, Arc::clone(&cache)).unwrap();
        Fixture { writer, cache, path, _directory: directory }
    }

    impl Fixture {
        fn numbers(&self) -> Vec<i64> {
            let sql = SqliteConnection::open_reader(&self.path).unwrap();
            sql.rows("SELECT n FROM number ORDER BY n", &[], |row| row.int(0)).unwrap()
        }

        /// Runs jobs as one group; returns which of them succeeded.
        async fn run_as_group(&self, jobs: Vec<Job>) -> Vec<bool> {
            let ((enter, entered), (release, held)) = (channel::<()>(), channel::<()>());
            // Holds the group open until all jobs are in the queue. Returns at once when it runs again.
            let gate = move |_: &mut Tx<'_>| {
                let _ = (enter.send(()), held.recv());
                Ok(())
            };
            let mut gate = Box::pin(self.writer.write(gate));
            assert!(once(gate.as_mut()).await.is_pending());
            entered.recv().unwrap();
            let mut writes: Vec<_> = jobs.into_iter().map(|job| Box::pin(self.writer.write(job))).collect();
            for write in &mut writes {
                assert!(once(write.as_mut()).await.is_pending());
            }
            release.send(()).unwrap();
            drop(release);
            let _ = gate.await;
            let mut succeeded = Vec::new();
            for write in writes {
                succeeded.push(write.await.is_ok());
            }
            succeeded
        }
    }

    fn inserting(n: i64) -> Job {
        Box::new(move |tx| insert(tx, n).map(drop))
    }

    /// Fails after its first row.
    fn failing(n: i64) -> Job {
        Box::new(move |tx| insert(tx, n).and_then(|_| insert(tx, n)).map(drop))
    }

    fn insert(tx: &Tx<'_>, n: i64) -> Result<i64> {
        tx.execute("INSERT INTO number (n) VALUES ($1)", &args![n]).map(|_| n)
    }

    #[tokio::test]
    async fn a_failed_job_is_rolled_back_alone() {
        let fixture = fixture();
        let half = |tx: &mut Tx<'_>| insert(tx, 1).and_then(|_| Err::<(), _>(StoreError::damaged("on purpose")));
        let twice = |tx: &mut Tx<'_>| insert(tx, 2).and_then(|_| insert(tx, 2));
        let panics = |tx: &mut Tx<'_>| insert(tx, 3).map(|n| assert_eq!(n, 4, "on purpose"));
        // Sent before any of them is awaited, so that they share a group.
        let all = tokio::join!(
            fixture.writer.write(half),
            fixture.writer.write(|tx| insert(tx, 10)),
            fixture.writer.write(twice),
            fixture.writer.write(panics),
            fixture.writer.write(|tx| insert(tx, 11)),
        );
        assert!(all.0.is_err() && all.2.is_err() && all.3.is_err());
        assert_eq!((all.1.unwrap(), all.4.unwrap()), (10, 11));
        assert_eq!(fixture.numbers(), [10, 11]);
    }

    #[tokio::test]
    async fn after_a_failure_the_jobs_before_it_run_again_once_and_keep_their_effects() {
        let fixture = fixture();
        let runs = Arc::new(AtomicUsize::new(0));
        let (counter, key) = (Arc::clone(&runs), EmployeeKey::from_parts("ww", "a"));
        let changed = key.clone();
        let first = move |tx: &mut Tx<'_>| {
            counter.fetch_add(1, Ordering::Relaxed);
            tx.record_change(CacheChange::Person(changed.clone()));
            insert(tx, 1).map(drop)
        };
        let jobs = vec![Box::new(first) as Job, failing(2), failing(3), inserting(4)];
        assert_eq!(fixture.run_as_group(jobs).await, [true, false, false, true]);
        assert_eq!((runs.load(Ordering::Relaxed), fixture.numbers()), (2, vec![1, 4]));
        let expected = Cache::new(10, Freshness::permanent());
        expected.apply(CacheChange::Person(key));
        assert_eq!(fixture.cache.people_changes.now(), expected.people_changes.now(), "applied once");
    }

    #[tokio::test]
    async fn a_job_that_ends_the_transaction_fails_and_the_jobs_before_it_run_again() {
        let fixture = fixture();
        let ends = |tx: &mut Tx<'_>| insert(tx, 2).and_then(|_| tx.execute("ROLLBACK", &[])).map(drop);
        let jobs = vec![inserting(1), Box::new(ends), inserting(3)];
        assert_eq!(fixture.run_as_group(jobs).await, [true, false, true]);
        assert_eq!(fixture.numbers(), [1, 3]);
    }

    #[tokio::test]
    async fn a_job_that_ends_the_transaction_when_it_runs_again_fails_those_that_ran() {
        let fixture = fixture();
        let (before, runs) = (fixture.cache.people_changes.now(), AtomicUsize::new(0));
        let ends_later = move |tx: &mut Tx<'_>| {
            tx.record_change(CacheChange::Person(EmployeeKey::from_parts("ww", "a")));
            let is_first = runs.fetch_add(1, Ordering::Relaxed) == 0;
            if is_first { insert(tx, 1).map(drop) } else { tx.execute("ROLLBACK", &[]).map(drop) }
        };
        let jobs = vec![Box::new(ends_later) as Job, failing(2), inserting(3)];
        assert_eq!(fixture.run_as_group(jobs).await, [false, false, true], "the last one gets another transaction");
        assert_eq!((fixture.numbers(), fixture.cache.people_changes.now()), (vec![3], before));
    }

    #[tokio::test]
    async fn a_job_that_cannot_be_rolled_back_alone_fails_the_whole_group() {
        let fixture = fixture();
        // Its savepoint is gone when it fails.
        let keeps_row = |tx: &mut Tx<'_>| {
            insert(tx, 3)?;
            tx.execute("RELEASE job", &[])?;
            Err(StoreError::damaged("on purpose"))
        };
        let jobs = vec![inserting(1), failing(2), Box::new(keeps_row)];
        assert_eq!(fixture.run_as_group(jobs).await, [false; 3]);
        assert_eq!(fixture.run_as_group(vec![inserting(4)]).await, [true], "the writer goes on");
        assert_eq!(fixture.numbers(), [4]);
    }

    /// The journal of its savepoint is large.
    #[tokio::test]
    async fn a_large_job_can_follow_another_and_fail_alone() {
        let fixture = fixture();
        fixture.writer.write(|tx| tx.execute("CREATE TABLE text (t TEXT NOT NULL)", &[])).await.unwrap();
        let text = "x".repeat(1_000);
        let fill = move |tx: &mut Tx<'_>| {
            (0..1_000).try_for_each(|_| tx.execute("INSERT INTO text VALUES ($1)", &args![&*text]).map(drop))
        };
        fixture.writer.write(fill).await.unwrap();
        let update = |text: &'static str| move |tx: &mut Tx<'_>| tx.execute(text, &[]).map(drop);
        let update_and_fail =
            move |tx: &mut Tx<'_>| update("UPDATE text SET t = 'z'")(tx).and_then(|()| failing(3)(tx));
        let jobs =
            vec![failing(1), inserting(2), Box::new(update("UPDATE text SET t = 'y'")), Box::new(update_and_fail)];
        assert_eq!(fixture.run_as_group(jobs).await, [false, true, true, false]);
        let sql = SqliteConnection::open_reader(&fixture.path).unwrap();
        assert_eq!(sql.first("SELECT count(*) FROM text WHERE t = 'y'", &[], |row| row.int(0)).unwrap(), Some(1_000));
        assert_eq!(fixture.numbers(), [2]);
    }

    #[tokio::test]
    async fn a_write_that_arrives_while_a_group_runs_joins_it() {
        let fixture = fixture();
        let ((enter, entered), (release, held)) = (channel::<()>(), channel::<()>());
        let mut first = Box::pin(fixture.writer.write(move |tx| {
            let _ = enter.send(());
            held.recv().map_or(Ok(0), |()| insert(tx, 1))
        }));
        assert!(once(first.as_mut()).await.is_pending());
        entered.recv().unwrap();
        let path = fixture.path.clone();
        let count_committed = move |_: &mut Tx<'_>| {
            SqliteConnection::open_reader(&path)?.first("SELECT count(*) FROM number", &[], |row| row.int(0))
        };
        let mut second = Box::pin(fixture.writer.write(count_committed));
        assert!(once(second.as_mut()).await.is_pending());
        release.send(()).unwrap();
        assert_eq!(first.await.unwrap(), 1);
        assert_eq!(second.await.unwrap(), Some(0), "the first write is not committed without the second");
        assert_eq!(fixture.numbers(), [1]);
    }

    #[tokio::test]
    async fn a_write_completes_after_its_caller_left() {
        let fixture = fixture();
        let mut abandoned = Box::pin(fixture.writer.write(|tx| insert(tx, 1)));
        // Polled once, so that it is queued; then dropped.
        assert!(once(abandoned.as_mut()).await.is_pending());
        drop(abandoned);
        fixture.writer.write(|tx| insert(tx, 2)).await.unwrap();
        assert_eq!(fixture.numbers(), [1, 2]);
    }

    #[tokio::test]
    async fn a_full_queue_rejects_at_once_and_a_stopped_writer_completes_its_queue() {
        let Fixture { writer, path, _directory, .. } = fixture();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let mut first = Box::pin(writer.write(move |tx| held.recv().map_or(Ok(0), |()| insert(tx, 0))));
        assert!(once(first.as_mut()).await.is_pending());
        let mut queued = Vec::new();
        for n in 1.. {
            let mut write = Box::pin(writer.write(move |tx| insert(tx, n)));
            match once(write.as_mut()).await {
                Poll::Ready(answer) => {
                    assert_eq!(answer.unwrap_err().kind(), StoreErrorKind::Overloaded);
                    break;
                }
                Poll::Pending => queued.push(write),
            }
        }
        // Writes that the writer has already taken do not count towards the queue limit.
        assert!(
            (MAX_QUEUED_WRITES - 1..=MAX_QUEUED_WRITES + MAX_GROUP_SIZE).contains(&queued.len()),
            "{}",
            queued.len()
        );
        let accepted = queued.len();
        release.send(()).unwrap();
        drop((first, queued));
        drop(writer);
        let sql = SqliteConnection::open_reader(&path).unwrap();
        let count = sql.first("SELECT count(*) FROM number", &[], |row| row.int(0)).unwrap();
        assert_eq!(count, Some(i64::try_from(accepted + 1).unwrap()));
    }

    /// Polls a future once.
    async fn once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
        std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
    }
}
