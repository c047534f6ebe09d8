//! Requests that share a use of the database, as transactions of SQLite share a commit.
//!
//! A use of the database costs a permit, a thread and two wake-ups: more than a read itself. As long as there are few
//! requests, each has a use of its own. Requests that find all runners busy wait, and share the next use. A use takes
//! them when it begins, not when it is queued: so it takes all that have arrived by then.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::if_cached::leave_cache;
use crate::{Result, StoreError, StoreErrorKind};

/// How much longer the caller waits, so that the error of the use itself arrives.
const TIMEOUT_GRACE: Duration = Duration::from_millis(200);

/// The limit of a queue, as of SQLite's writes.
const MAX_WAITING_REQUESTS: usize = 4096;

/// The wait from which on there are spare runners: a use takes a few milliseconds.
const LONG_WAIT: Duration = Duration::from_millis(50);

/// The limits of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchLimits {
    /// How many uses of the database run at once.
    pub(crate) runners: usize,
    /// How many more run while requests wait for longer than [`LONG_WAIT`], because the others may hang.
    pub(crate) spare_runners: usize,
    /// The most requests that share a use.
    pub(crate) size: usize,
    /// Among how many uses those that wait are divided.
    pub(crate) shares: usize,
}

/// A queue of requests of type `K`, each of which has a result of type `T`.
pub(crate) struct Batches<K, T> {
    queue: Mutex<Queue<K, T>>,
    limits: BatchLimits,
}

struct Queue<K, T> {
    waiting: VecDeque<WaitingRequest<K, T>>,
    runners: usize,
}

struct WaitingRequest<K, T> {
    request: K,
    since: Instant,
    result: oneshot::Sender<Result<T>>,
}

impl<K: Clone + Send + 'static, T: Send + 'static> Batches<K, T> {
    /// Runs `request`, alone or together with others, within `limit`. `run` takes the requests of the batch when it
    /// begins, and returns a result for each, in order; if it fails, all of them have failed. It runs to its end even
    /// when the caller stops waiting. An error of kind `Overloaded` that is not of `run` says that it was not run; after
    /// any other, it may have been.
    pub(crate) async fn run<R>(
        self: &Arc<Self>,
        request: K,
        limit: Duration,
        run: impl Fn(Arc<Batch<K, T>>) -> R + Send + Sync + 'static,
    ) -> Result<T>
    where
        R: Future<Output = Result<Vec<Result<T>>>> + Send + 'static,
    {
        leave_cache().await;
        let (result, found) = oneshot::channel();
        if let Some(runner) = self.add(WaitingRequest { request, since: Instant::now(), result })? {
            // A task of its own, because other requests wait for its results, too. Some of the time is left for the use
            // itself.
            drop(tokio::spawn(runner.run(limit * 3 / 4, run)));
        }
        let found = timeout(limit + TIMEOUT_GRACE, found).await.map_err(|_| StoreError::timed_out())?;
        found.map_err(|_| StoreError::unavailable(&"the request was not run to its end"))?
    }

    /// Adds a request to the queue; returns a runner for it, unless enough of them run. When the queue is full, the request is
    /// rejected immediately.
    fn add(self: &Arc<Self>, request: WaitingRequest<K, T>) -> Result<Option<Runner<K, T>>> {
        let mut queue = self.queue();
        if queue.waiting.len() >= MAX_WAITING_REQUESTS {
            return Err(busy());
        }
        let is_late = queue.waiting.front().is_some_and(|first| first.since.elapsed() >= LONG_WAIT);
        queue.waiting.push_back(request);
        let BatchLimits { runners, spare_runners, .. } = self.limits;
        if queue.runners >= runners + if is_late { spare_runners } else { 0 } {
            return Ok(None);
        }
        queue.runners += 1;
        Ok(Some(Runner { batches: Arc::clone(self), has_ended: false }))
    }
}

impl<K, T> Batches<K, T> {
    pub(crate) fn new(limits: BatchLimits) -> Self {
        Self { queue: Mutex::new(Queue { waiting: VecDeque::new(), runners: 0 }), limits }
    }

    /// The number of requests that wait for a runner.
    pub(crate) fn waiting(&self) -> usize {
        self.queue().waiting.len()
    }

    /// Refuses the first requests of the queue that have waited for this long; returns since when the first of the others waits.
    fn refuse_late(&self, max_wait: Duration) -> Option<Instant> {
        let mut queue = self.queue();
        queue.waiting.retain(|waiting| !waiting.result.is_closed());
        while let Some(late) = queue.waiting.pop_front_if(|first| first.since.elapsed() >= max_wait) {
            drop(late.result.send(Err(busy())));
        }
        queue.waiting.front().map(|first| first.since)
    }

    fn queue(&self) -> MutexGuard<'_, Queue<K, T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes requests from the queue, as long as they are wanted. Those whose caller has left are dropped.
    fn take(&self, is_wanted: impl Fn(&WaitingRequest<K, T>) -> bool) -> Vec<WaitingRequest<K, T>> {
        let BatchLimits { size, shares, .. } = self.limits;
        let mut queue = self.queue();
        queue.waiting.retain(|waiting| !waiting.result.is_closed());
        let size = queue.waiting.len().div_ceil(shares).min(size);
        let wanted = queue.waiting.iter().take(size).take_while(|waiting| is_wanted(waiting)).count();
        queue.waiting.drain(..wanted).collect()
    }
}

impl<K, T> fmt::Debug for Batches<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Requests that share a use of the database.
pub(crate) struct Batch<K, T> {
    batches: Arc<Batches<K, T>>,
    /// Requests that have waited for longer are refused.
    max_wait: Duration,
    began: Instant,
    state: Mutex<BatchState<K, T>>,
}

enum BatchState<K, T> {
    /// The use has not begun.
    Open,
    Taken {
        requests: Vec<K>,
        results: Vec<oneshot::Sender<Result<T>>>,
    },
    /// The use was given up before it began. If it begins after all, it gets none of the requests.
    GivenUp(Vec<oneshot::Sender<Result<T>>>),
    /// The requests have their results. A use that begins now was given up.
    Answered,
}

impl<K: Clone, T> Batch<K, T> {
    /// Refuses the requests that have waited for too long, and returns since when the first of the others waits: so a use has the time that
    /// it needs.
    pub(crate) fn since(&self) -> Instant {
        self.batches.refuse_late(self.max_wait).unwrap_or_else(Instant::now)
    }

    /// The requests. They are taken from the queue at the first call; there may be none any more.
    pub(crate) fn requests(&self) -> Vec<K> {
        let mut state = self.state();
        if matches!(*state, BatchState::Open) {
            *state = self.take();
        }
        state.requests().unwrap_or_default()
    }

    /// Ends the use. Returns its requests and `true`; or, if it has not begun, the requests that waited for it and `false`: then it gets
    /// none later. To be called once.
    pub(crate) fn end(&self) -> (Vec<K>, bool) {
        let mut state = self.state();
        if let Some(requests) = state.requests() {
            return (requests, true);
        }
        let waited = self.batches.take(|waiting| waiting.since <= self.began).into_iter();
        let (requests, results) = waited.map(|waiting| (waiting.request, waiting.result)).unzip();
        *state = BatchState::GivenUp(results);
        (requests, false)
    }

    fn state(&self) -> MutexGuard<'_, BatchState<K, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> BatchState<K, T> {
        let is_late = |waiting: &WaitingRequest<K, T>| waiting.since.elapsed() >= self.max_wait;
        let (late, waiting): (Vec<_>, Vec<_>) = self.batches.take(|_| true).into_iter().partition(is_late);
        answer(late.into_iter().map(|waiting| waiting.result).collect(), Err(busy()));
        let (requests, results) = waiting.into_iter().map(|waiting| (waiting.request, waiting.result)).unzip();
        BatchState::Taken { requests, results }
    }

    /// Passes the results on. If the use did not begin, its error is that of the requests that waited for it; those that came later
    /// wait for the next one.
    fn answer(&self, results: Result<Vec<Result<T>>>) {
        let waiting = match mem::replace(&mut *self.state(), BatchState::Answered) {
            BatchState::Taken { results, .. } | BatchState::GivenUp(results) => results,
            BatchState::Open | BatchState::Answered => {
                let waited = self.batches.take(|waiting| waiting.since <= self.began);
                waited.into_iter().map(|waiting| waiting.result).collect()
            }
        };
        answer(waiting, results);
    }
}

impl<K: Clone, T> BatchState<K, T> {
    fn requests(&self) -> Option<Vec<K>> {
        match self {
            Self::Taken { requests, .. } => Some(requests.clone()),
            Self::Open | Self::GivenUp(_) | Self::Answered => None,
        }
    }
}

/// Runs batches until the queue is empty.
struct Runner<K, T> {
    batches: Arc<Batches<K, T>>,
    has_ended: bool,
}

impl<K: Clone, T> Runner<K, T> {
    /// Runs what has not waited for longer than `max_wait`, and refuses the rest.
    async fn run<R: Future<Output = Result<Vec<Result<T>>>>>(
        mut self,
        max_wait: Duration,
        run: impl Fn(Arc<Batch<K, T>>) -> R,
    ) {
        while !self.ends() {
            let (batches, began) = (Arc::clone(&self.batches), Instant::now());
            let batch = Arc::new(Batch { batches, max_wait, began, state: Mutex::new(BatchState::Open) });
            let results = run(Arc::clone(&batch)).await;
            if self.ends() {
                // It may hold the database, which a caller who has the result expects to be free.
                drop(run);
                return batch.answer(results);
            }
            batch.answer(results);
        }
    }

    /// Ends the runner if no request waits.
    fn ends(&mut self) -> bool {
        let mut queue = self.batches.queue();
        if !self.has_ended && queue.waiting.is_empty() {
            // Under the same lock: a request that is added now gets another runner.
            queue.runners -= 1;
            self.has_ended = true;
        }
        self.has_ended
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
    StoreError::new(StoreErrorKind::Overloaded, "too many requests wait for the database")
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

    type Numbers = Batches<usize, usize>;

    const LIMIT: Duration = Duration::from_secs(10);

    const RUNNERS: usize = 4;

    fn numbers() -> Arc<Numbers> {
        Arc::new(Numbers::new(BatchLimits { runners: RUNNERS, spare_runners: 1, size: 32, shares: RUNNERS }))
    }

    /// Doubles numbers; 13 fails alone, and 99 makes its whole batch fail.
    fn doubled(keys: &[usize]) -> Result<Vec<Result<usize>>> {
        let fails = |what: &str| StoreError::unavailable(&what);
        if keys.contains(&99) {
            return Err(fails("all"));
        }
        Ok(keys.iter().map(|key| if *key == 13 { Err(fails("one")) } else { Ok(key * 2) }).collect())
    }

    #[tokio::test]
    async fn requests_that_wait_share_the_next_use_and_each_gets_its_own_result() {
        let (reads, sizes) = (numbers(), Arc::new(Mutex::new(Vec::new())));
        let double = |key| {
            let sizes = Arc::clone(&sizes);
            reads.run(key, LIMIT, move |batch| {
                let keys = batch.requests();
                sizes.lock().unwrap().push(keys.len());
                async move { doubled(&keys) }
            })
        };
        let results = join_all((0..64).map(double)).await;
        for (key, result) in results.iter().enumerate() {
            assert_eq!(result.as_ref().ok(), (key != 13).then_some(&(key * 2)), "{key}");
        }
        let sizes = sizes.lock().unwrap().clone();
        // On one thread, all requests wait before the first runner runs.
        assert!(sizes.starts_with(&[16]) && sizes.iter().sum::<usize>() == 64, "{sizes:?}");
    }

    #[tokio::test]
    async fn a_failed_use_fails_its_requests_and_no_later_one() {
        let reads = numbers();
        let double = |key| reads.run(key, LIMIT, |batch| async move { doubled(&batch.requests()) });
        assert_eq!(double(99).await.unwrap_err().to_string(), "all");
        assert_eq!(double(4).await.unwrap(), 8);
    }

    #[test]
    fn a_runner_that_was_dropped_makes_room_for_another() {
        let reads = numbers();
        for request in 0..=2 * RUNNERS {
            let (result, _) = oneshot::channel();
            assert!(reads.add(WaitingRequest { request, since: Instant::now(), result }).unwrap().is_some());
        }
    }

    #[test]
    fn requests_that_wait_for_long_get_a_spare_runner() {
        let now = Instant::now();
        for (since, runners) in [(now + LIMIT, RUNNERS), (now - LONG_WAIT, RUNNERS + 1)] {
            let reads = numbers();
            let add = |request| {
                let (result, _) = oneshot::channel();
                reads.add(WaitingRequest { request, since, result }).unwrap()
            };
            assert_eq!((0..2 * RUNNERS).filter_map(add).collect::<Vec<_>>().len(), runners);
        }
    }

    #[tokio::test]
    async fn requests_whose_caller_has_left_are_no_obstacle() {
        let reads = numbers();
        let read = |key| reads.run(key, LIMIT, |batch| async move { doubled(&batch.requests()) });
        // Polled once, so that it waits.
        assert!(futures_util::FutureExt::now_or_never(read(1)).is_none());
        assert_eq!(read(2).await.unwrap(), 4);
    }

    #[tokio::test]
    async fn a_request_that_has_waited_for_too_long_is_refused() {
        let reads = numbers();
        let read = |limit| reads.run(1, limit, |batch| async move { doubled(&batch.requests()) });
        assert_eq!(read(Duration::ZERO).await.unwrap_err().kind(), StoreErrorKind::Overloaded);
        assert_eq!(read(LIMIT).await.unwrap(), 2);
    }

    /// Its use was given up before it began, and begins after all.
    #[tokio::test]
    async fn a_batch_that_was_given_up_takes_no_later_requests() {
        let (reads, kept) = (numbers(), Arc::new(Mutex::new(None)));
        let keep = Arc::clone(&kept);
        let given_up = reads.run(1, LIMIT, move |batch| {
            let is_first = keep.lock().unwrap().is_none();
            if is_first {
                *keep.lock().unwrap() = Some(Arc::clone(&batch));
            }
            async move { if is_first { Err(StoreError::timed_out()) } else { doubled(&batch.requests()) } }
        });
        assert!(given_up.await.is_err());
        let late = kept.lock().unwrap().take().unwrap();
        let next = reads.run(2, LIMIT, move |batch| {
            assert!(late.requests().is_empty());
            async move { doubled(&batch.requests()) }
        });
        assert_eq!(next.await.unwrap(), 4);
    }

    fn waiting(reads: &Numbers, request: usize, since: Instant) -> oneshot::Receiver<Result<usize>> {
        let (result, found) = oneshot::channel();
        reads.queue().waiting.push_back(WaitingRequest { request, since, result });
        found
    }

    fn batch(reads: &Arc<Numbers>) -> Batch<usize, usize> {
        Batch {
            batches: Arc::clone(reads),
            max_wait: LIMIT,
            began: Instant::now(),
            state: Mutex::new(BatchState::Open),
        }
    }

    #[tokio::test]
    async fn a_use_has_the_time_of_its_first_request_that_is_not_late() {
        let (reads, since) = (numbers(), Instant::now());
        let late = waiting(&reads, 1, since - LIMIT);
        drop(waiting(&reads, 2, since - LIMIT / 2));
        let mut in_time = waiting(&reads, 3, since);
        assert_eq!(batch(&reads).since(), since, "the caller of the second request has left");
        assert_eq!(late.await.unwrap().unwrap_err().kind(), StoreErrorKind::Overloaded);
        assert!(in_time.try_recv().is_err(), "it still waits");
    }

    #[tokio::test]
    async fn a_use_that_has_not_begun_is_ended_with_the_requests_that_waited_for_it() {
        let reads = Arc::new(Numbers::new(BatchLimits { runners: 1, spare_runners: 0, size: 32, shares: 1 }));
        let first = waiting(&reads, 1, Instant::now());
        let given_up = batch(&reads);
        let mut later = waiting(&reads, 2, given_up.began + LIMIT);
        assert_eq!(given_up.end(), (vec![1], false));
        assert!(given_up.requests().is_empty(), "it gets none any more");
        given_up.answer(Ok(vec![Ok(5)]));
        assert_eq!(first.await.unwrap().unwrap(), 5);
        assert!(later.try_recv().is_err(), "it waits for the next use");

        let begun = batch(&reads);
        assert_eq!((begun.requests(), begun.end()), (vec![2], (vec![2], true)));
    }

    #[tokio::test]
    async fn a_full_queue_rejects_immediately() {
        let reads = numbers();
        let mut callers = Vec::new();
        for request in 0..MAX_WAITING_REQUESTS {
            let (result, caller) = oneshot::channel();
            // Its runner is dropped, so nobody takes it.
            drop(reads.add(WaitingRequest { request, since: Instant::now(), result }).unwrap());
            callers.push(caller);
        }
        let read = || reads.run(1, LIMIT, |batch| async move { doubled(&batch.requests()) });
        assert_eq!(read().await.unwrap_err().kind(), StoreErrorKind::Overloaded);
        // Once the callers have left, their requests are dropped.
        drop(callers);
        reads.take(|_| false);
        assert_eq!(read().await.unwrap(), 2);
    }
}
