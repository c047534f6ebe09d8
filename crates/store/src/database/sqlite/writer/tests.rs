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
    let update_and_fail = move |tx: &mut Tx<'_>| update("UPDATE text SET t = 'z'")(tx).and_then(|()| failing(3)(tx));
    let jobs = vec![failing(1), inserting(2), Box::new(update("UPDATE text SET t = 'y'")), Box::new(update_and_fail)];
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
    assert!((MAX_QUEUED_WRITES - 1..=MAX_QUEUED_WRITES + MAX_GROUP_SIZE).contains(&queued.len()), "{}", queued.len());
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
