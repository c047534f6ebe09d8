//! Reads by key that share a use of the database, as transactions of SQLite share a commit.
//!
//! A use of the database costs a permit, a thread and two wake-ups: more than the read itself. As long as few requests read, each has a use
//! of its own. Requests that find all runners busy wait, and share the next use.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::if_cached::leave_cache;
use crate::{Result, StoreError, StoreErrorKind};

/// How many uses of the database run at once: as many as there are readers of SQLite.
const MAX_RUNNERS: usize = 4;

/// The most reads that share a use.
const MAX_BATCH_SIZE: usize = 32;

/// How much longer the caller waits, so that the error of the read itself arrives.
const READ_TIMEOUT_GRACE: Duration = Duration::from_millis(200);

/// A queue of reads by keys of type `K`.
pub(crate) struct ReadBatches<K, T>(Mutex<ReadQueue<K, T>>);

struct ReadQueue<K, T> {
    waiting: VecDeque<WaitingRead<K, T>>,
    runners: usize,
}

struct WaitingRead<K, T> {
    key: K,
    since: Instant,
    result: oneshot::Sender<Result<T>>,
}

impl<K: Send + 'static, T: Send + 'static> ReadBatches<K, T> {
    /// Reads the value of `key`, alone or together with others, within `limit`. `read` returns a result for each key, in order; if it
    /// fails, all of them have failed. It runs to its end even when the caller stops waiting.
    pub(crate) async fn read<R>(
        self: &Arc<Self>,
        key: K,
        limit: Duration,
        read: impl Fn(Vec<K>) -> R + Send + Sync + 'static,
    ) -> Result<T>
    where
        R: Future<Output = Result<Vec<Result<T>>>> + Send + 'static,
    {
        leave_cache().await;
        let (result, found) = oneshot::channel();
        if let Some(runner) = self.add(WaitingRead { key, since: Instant::now(), result }) {
            // A task of its own, because other requests wait for its results, too. Some of the time is left for the read itself.
            drop(tokio::spawn(runner.run(limit * 3 / 4, read)));
        }
        let found = timeout(limit + READ_TIMEOUT_GRACE, found).await.map_err(|_| StoreError::timed_out())?;
        found.map_err(|_| StoreError::unavailable(&"the read was not run"))?
    }

    /// Adds a read to the queue; returns a runner for it, unless enough of them run.
    fn add(self: &Arc<Self>, read: WaitingRead<K, T>) -> Option<Runner<K, T>> {
        let mut queue = self.queue();
        queue.waiting.push_back(read);
        if queue.runners >= MAX_RUNNERS {
            return None;
        }
        queue.runners += 1;
        Some(Runner { batches: Arc::clone(self), has_ended: false })
    }
}

impl<K, T> ReadBatches<K, T> {
    fn queue(&self) -> MutexGuard<'_, ReadQueue<K, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, T> Default for ReadBatches<K, T> {
    fn default() -> Self {
        Self(Mutex::new(ReadQueue { waiting: VecDeque::new(), runners: 0 }))
    }
}

impl<K, T> fmt::Debug for ReadBatches<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBatches").finish_non_exhaustive()
    }
}

/// Reads batches until the queue is empty.
struct Runner<K, T> {
    batches: Arc<ReadBatches<K, T>>,
    has_ended: bool,
}

impl<K, T> Runner<K, T> {
    /// Reads what has not waited for longer than `max_wait`, and refuses the rest.
    async fn run<R: Future<Output = Result<Vec<Result<T>>>>>(mut self, max_wait: Duration, read: impl Fn(Vec<K>) -> R) {
        let mut batch = self.next_batch();
        while let Some(reads) = batch {
            let (late, reads): (Vec<_>, Vec<_>) = reads.into_iter().partition(|read| read.since.elapsed() >= max_wait);
            answer(late.into_iter().map(|read| read.result).collect(), Err(busy()));
            let (keys, waiting): (Vec<_>, Vec<_>) = reads.into_iter().map(|read| (read.key, read.result)).unzip();
            let results = if keys.is_empty() { Ok(Vec::new()) } else { read(keys).await };
            batch = self.next_batch();
            if batch.is_none() {
                // It may hold the database, which a caller who has the result expects to be free.
                drop(read);
                return answer(waiting, results);
            }
            answer(waiting, results);
        }
    }

    /// Takes reads from the queue: a share of them, so that a slow disk delays few, and the other runners have something to do.
    fn next_batch(&mut self) -> Option<Vec<WaitingRead<K, T>>> {
        let mut queue = self.batches.queue();
        let size = queue.waiting.len().div_ceil(MAX_RUNNERS).min(MAX_BATCH_SIZE);
        if size == 0 {
            // Under the same lock: a read that is added now gets another runner.
            queue.runners -= 1;
            self.has_ended = true;
            return None;
        }
        Some(queue.waiting.drain(..size).collect())
    }
}

impl<K, T> Drop for Runner<K, T> {
    fn drop(&mut self) {
        // The runtime ended before the task did.
        if !self.has_ended {
            self.batches.queue().runners -= 1;
        }
    }
}

fn busy() -> StoreError {
    StoreError::new(StoreErrorKind::Overloaded, "every reader of the database is busy")
}

/// Passes the results on, as far as the requests still wait for them.
fn answer<T>(waiting: Vec<oneshot::Sender<Result<T>>>, results: Result<Vec<Result<T>>>) {
    match results {
        Ok(results) => waiting.into_iter().zip(results).for_each(|(to, result)| drop(to.send(result))),
        Err(error) => waiting.into_iter().for_each(|to| drop(to.send(Err(error.clone())))),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    type Numbers = Arc<ReadBatches<usize, usize>>;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Doubles numbers; 13 fails alone, and 99 makes its whole batch fail.
    fn doubled(keys: &[usize]) -> Result<Vec<Result<usize>>> {
        let fails = |what: &str| StoreError::unavailable(&what);
        if keys.contains(&99) {
            return Err(fails("all"));
        }
        Ok(keys.iter().map(|key| if *key == 13 { Err(fails("one")) } else { Ok(key * 2) }).collect())
    }

    #[tokio::test]
    async fn reads_that_wait_share_the_next_use_and_each_gets_its_own_result() {
        let (reads, sizes) = (Numbers::default(), Arc::new(Mutex::new(Vec::new())));
        let double = |key| {
            let sizes = Arc::clone(&sizes);
            reads.read(key, LIMIT, move |keys| {
                sizes.lock().unwrap().push(keys.len());
                async move { doubled(&keys) }
            })
        };
        let results = join_all((0..64).map(double)).await;
        for (key, result) in results.iter().enumerate() {
            assert_eq!(result.as_ref().ok(), (key != 13).then_some(&(key * 2)), "{key}");
        }
        let sizes = sizes.lock().unwrap().clone();
        // On one thread, all reads wait before the first runner runs.
        assert!(sizes.starts_with(&[16]) && sizes.iter().sum::<usize>() == 64, "{sizes:?}");
    }

    #[tokio::test]
    async fn a_failed_use_fails_its_reads_and_no_later_one() {
        let reads = Numbers::default();
        let double = |key| reads.read(key, LIMIT, |keys| async move { doubled(&keys) });
        assert_eq!(double(99).await.unwrap_err().to_string(), "all");
        assert_eq!(double(4).await.unwrap(), 8);
    }

    #[test]
    fn a_runner_that_was_dropped_makes_room_for_another() {
        let reads = Numbers::default();
        for key in 0..=2 * MAX_RUNNERS {
            let (result, _) = oneshot::channel();
            assert!(reads.add(WaitingRead { key, since: Instant::now(), result }).is_some());
        }
    }

    #[tokio::test]
    async fn reads_whose_request_has_ended_are_no_obstacle() {
        let reads = Numbers::default();
        let read = |key| reads.read(key, LIMIT, |keys| async move { doubled(&keys) });
        // Polled once, so that it waits.
        assert!(futures_util::FutureExt::now_or_never(read(1)).is_none());
        assert_eq!(read(2).await.unwrap(), 4);
    }

    #[tokio::test]
    async fn a_read_that_has_waited_for_too_long_is_refused() {
        let reads = Numbers::default();
        let read = |limit| reads.read(1, limit, |keys| async move { doubled(&keys) });
        assert_eq!(read(Duration::ZERO).await.unwrap_err().kind(), StoreErrorKind::Overloaded);
        assert_eq!(read(LIMIT).await.unwrap(), 2);
    }
}
