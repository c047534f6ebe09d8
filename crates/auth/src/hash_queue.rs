//! The queue of passwords to hash. Hashing is slow and takes memory on purpose, so a few dedicated threads do it, and the
//! queue is bounded.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, iter, thread};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use deskpass_core::{Digest, Password, opaque_debug};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// The number of anonymous requests that may wait. Further ones are rejected.
const MAX_WAITING_ANONYMOUS: usize = 64;
/// The number of known users who may wait in addition.
const MAX_WAITING_KNOWN: usize = 16;
/// The niceness of the threads: token checks must not wait for passwords. A thread that wakes up takes the processor
/// from one that hashes if its turn ends first. Linux 6.6 and later give turns of 1.4 ms on two processors, stretched
/// by the weight of the niceness: nine times for 10, sixty-eight times for 19. So a token check waits for the end of a
/// turn in one of nine cases, or in one of sixty-eight. Of a processor that others keep busy, such a thread gets 1.5 %:
/// see [`MAX_STALL`].
#[cfg(target_os = "linux")]
const WORKER_NICENESS: i32 = 19;
/// When passwords wait and none was taken from the queue for this long, the processors are busy with other work. Then a
/// thread of normal priority hashes one. That takes some 20 ms (measured on two cores), so about a tenth of a processor,
/// and a full queue is empty after some 20 seconds; without that thread, it took minutes. What a worker has taken stays
/// with it: that one password takes a second or two.
const MAX_STALL: Duration = Duration::from_millis(200);

pub(crate) type Salt = [u8; 16];
pub(crate) type Hash = [u8; 32];

/// The priority of a request. Known users are served first, so that strangers cannot lock them out by filling the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Any client.
    Anonymous,
    /// A signed-in user, or a known browser of the agent.
    Known,
}

/// The state of the queue in which passwords wait to be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashQueueState {
    /// The passwords that wait.
    pub waiting: usize,
    /// The requests that found the queue full, since the start.
    pub rejected: u64,
}

/// The queue with its threads, which end with it.
pub(crate) struct HashQueue(Arc<SharedQueue>);

struct SharedQueue {
    jobs: Mutex<PendingJobs>,
    changed: Condvar,
    /// Wakes the thread of normal priority.
    stalled: Condvar,
    anonymous: Arc<Semaphore>,
    known: Arc<Semaphore>,
    /// The number of requests that found the queue full.
    rejected: AtomicU64,
}

/// A slot in the queue.
#[derive(Debug)]
pub(crate) struct QueueSlot {
    queue: Arc<SharedQueue>,
    priority: Priority,
    permit: Arc<OwnedSemaphorePermit>,
}

#[derive(Default)]
struct PendingJobs {
    known: VecDeque<HashJob>,
    anonymous: VecDeque<HashJob>,
    /// The number of jobs that were taken.
    taken: u64,
    closed: bool,
}

struct HashJob {
    key: Digest,
    password: Password,
    salt: Salt,
    done: oneshot::Sender<Option<Hash>>,
    /// Held until the job is done, even if the request has stopped waiting.
    permit: Arc<OwnedSemaphorePermit>,
}

impl HashQueue {
    pub(crate) fn start(threads: usize) -> io::Result<Self> {
        let queue = Self(Arc::new(SharedQueue {
            jobs: Mutex::default(),
            changed: Condvar::new(),
            stalled: Condvar::new(),
            anonymous: Arc::new(Semaphore::new(MAX_WAITING_ANONYMOUS + threads)),
            known: Arc::new(Semaphore::new(MAX_WAITING_KNOWN)),
            rejected: AtomicU64::default(),
        }));
        for _ in 0..threads {
            let shared = Arc::clone(&queue.0);
            thread::Builder::new().name("passwords".into()).spawn(move || shared.run_worker())?;
        }
        let shared = Arc::clone(&queue.0);
        thread::Builder::new().name("late passwords".into()).spawn(move || shared.run_stalled())?;
        Ok(queue)
    }

    /// Reserves a slot; `None` if the queue is full.
    pub(crate) fn reserve(&self, priority: Priority) -> Option<QueueSlot> {
        let slots = match priority {
            Priority::Anonymous => &self.0.anonymous,
            Priority::Known => &self.0.known,
        };
        let permit = Arc::clone(slots).try_acquire_owned().ok();
        if permit.is_none() {
            self.0.rejected.fetch_add(1, Ordering::Relaxed);
        }
        Some(QueueSlot { queue: Arc::clone(&self.0), priority, permit: Arc::new(permit?) })
    }

    /// Whether an anonymous request would find the queue full. Such a request counts as rejected.
    pub(crate) fn rejects_anonymous(&self) -> bool {
        let is_full = self.0.anonymous.available_permits() == 0;
        if is_full {
            self.0.rejected.fetch_add(1, Ordering::Relaxed);
        }
        is_full
    }

    pub(crate) fn state(&self) -> HashQueueState {
        HashQueueState { waiting: self.0.lock().len(), rejected: self.0.rejected.load(Ordering::Relaxed) }
    }
}

impl Drop for HashQueue {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
        self.0.stalled.notify_all();
    }
}

impl QueueSlot {
    /// Waits for the hash of a password; `None` if it could not be made.
    pub(crate) async fn hash(&self, key: Digest, password: Password, salt: Salt) -> Option<Hash> {
        let (done, hash) = oneshot::channel();
        let job = HashJob { key, password, salt, done, permit: Arc::clone(&self.permit) };
        self.queue.lock().push(self.priority, job);
        self.queue.changed.notify_one();
        self.queue.stalled.notify_one();
        hash.await.ok().flatten()
    }
}

impl PendingJobs {
    fn push(&mut self, priority: Priority, job: HashJob) {
        match priority {
            Priority::Anonymous => self.anonymous.push_back(job),
            Priority::Known => self.known.push_back(job),
        }
    }

    fn len(&self) -> usize {
        self.known.len() + self.anonymous.len()
    }

    /// Takes the next job. Those whose request has stopped waiting are dropped.
    fn next(&mut self) -> Option<HashJob> {
        let mut jobs = iter::from_fn(|| self.known.pop_front().or_else(|| self.anonymous.pop_front()));
        let job = jobs.find(|job| !job.done.is_closed())?;
        self.taken += 1;
        Some(job)
    }
}

impl SharedQueue {
    fn lock(&self) -> MutexGuard<'_, PendingJobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; `None` after the queue was closed.
    fn next_job(&self) -> Option<HashJob> {
        let mut jobs = self.lock();
        loop {
            if let Some(job) = jobs.next() {
                return Some(job);
            }
            if jobs.closed {
                return None;
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The loop of a thread. The memory is kept only while there are jobs.
    fn run_worker(&self) {
        lower_thread_priority();
        while let Some(first) = self.next_job() {
            let mut memory = new_memory();
            let mut next = Some(first);
            while let Some(job) = next {
                job.run(&mut memory);
                next = self.lock().next();
            }
        }
    }
}

/// The thread of normal priority.
impl SharedQueue {
    fn run_stalled(&self) {
        while let Some(job) = self.next_stalled_job() {
            job.run(&mut new_memory());
        }
    }

    /// Waits for a stall and returns the next job; `None` after the queue was closed.
    fn next_stalled_job(&self) -> Option<HashJob> {
        let mut jobs = self.lock();
        while !jobs.closed {
            let is_idle = |jobs: &mut PendingJobs| jobs.len() == 0 && !jobs.closed;
            jobs = self.stalled.wait_while(jobs, is_idle).unwrap_or_else(PoisonError::into_inner);
            let taken = jobs.taken;
            let is_stalled = |jobs: &mut PendingJobs| jobs.taken == taken && !jobs.closed;
            let waited = self.stalled.wait_timeout_while(jobs, MAX_STALL, is_stalled);
            let (after, result) = waited.unwrap_or_else(PoisonError::into_inner);
            jobs = after;
            if result.timed_out()
                && let Some(job) = jobs.next()
            {
                return Some(job);
            }
        }
        None
    }
}

impl HashJob {
    fn run(self, memory: &mut [Block]) {
        let hash = hash(&self.key, &self.password, &self.salt, memory);
        drop(self.permit);
        let _ = self.done.send(hash);
    }
}

fn new_memory() -> Vec<Block> {
    vec![Block::new(); MEMORY_KIB as usize]
}

fn hash(key: &Digest, password: &Password, salt: &Salt, memory: &mut [Block]) -> Option<Hash> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).ok()?;
    let argon = Argon2::new_with_secret(key.bytes(), Algorithm::Argon2id, Version::V0x13, params).ok()?;
    let mut hash = Hash::default();
    argon.hash_password_into_with_memory(password.expose().as_bytes(), salt, &mut hash, memory).ok()?;
    Some(hash)
}

/// Lowers the priority of this thread. If that is not permitted, other requests get slightly slower under a flood of passwords.
#[cfg(target_os = "linux")]
fn lower_thread_priority() {
    let _ = rustix::process::setpriority_process(None, WORKER_NICENESS);
}

/// On other systems it would slow down the whole process.
#[cfg(not(target_os = "linux"))]
fn lower_thread_priority() {}

opaque_debug!(HashQueue, SharedQueue);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn hash(slot: &QueueSlot, text: &str) -> Hash {
        let password = Password::parse(text.to_owned()).unwrap();
        slot.hash(Digest::of(&[b"key"]), password, Salt::default()).await.unwrap()
    }

    #[tokio::test]
    async fn the_queue_is_bounded_and_slots_are_released() {
        // Only the thread of normal priority: on a busy machine, two of them would not work in order.
        let queue = HashQueue::start(0).unwrap();
        let all = queue.0.anonymous.available_permits();
        let slots: Vec<_> = std::iter::from_fn(|| queue.reserve(Priority::Anonymous)).collect();
        assert_eq!((all, slots.len()), (MAX_WAITING_ANONYMOUS, MAX_WAITING_ANONYMOUS));
        assert!(queue.reserve(Priority::Known).is_some(), "anonymous requests take no slots of known users");
        assert!(queue.rejects_anonymous());
        drop(slots);
        assert!(!queue.rejects_anonymous());
        for _ in 1..all {
            // The request stops waiting.
            let slot = queue.reserve(Priority::Anonymous).unwrap();
            drop(timeout(Duration::ZERO, hash(&slot, "a")).await);
        }
        // The next request waits until the thread has dropped those, which takes no time of its own.
        let slot = queue.reserve(Priority::Anonymous).unwrap();
        timeout(MAX_STALL * 40, hash(&slot, "b")).await.unwrap();
        drop(slot);
        assert_eq!(queue.0.anonymous.available_permits(), all);
    }

    #[tokio::test]
    async fn passwords_are_hashed_when_the_threads_of_low_priority_get_no_processor() {
        let queue = HashQueue::start(0).unwrap();
        let slots = [Priority::Anonymous, Priority::Known].map(|priority| queue.reserve(priority).unwrap());
        tokio::join!(hash(&slots[0], "a"), hash(&slots[1], "b"));
        assert_eq!(queue.state().waiting, 0);
    }

    #[test]
    fn known_users_are_served_first_and_those_who_have_left_not_at_all() {
        let slot = HashQueue::start(0).unwrap().reserve(Priority::Known).unwrap();
        let (mut jobs, mut callers) = (PendingJobs::default(), Vec::new());
        for (priority, name) in [(Priority::Anonymous, "a"), (Priority::Anonymous, "b"), (Priority::Known, "known")] {
            let ((done, caller), password) = (oneshot::channel(), Password::parse(name.to_owned()).unwrap());
            let (key, permit) = (Digest::of(&[b"key"]), Arc::clone(&slot.permit));
            jobs.push(priority, HashJob { key, password, salt: Salt::default(), done, permit });
            callers.push(caller);
        }
        drop(callers.remove(0));
        let order: Vec<_> = iter::from_fn(|| jobs.next()).map(|job| job.password.expose().to_owned()).collect();
        assert_eq!(order, ["known", "b"]);
        assert_eq!(jobs.taken, 2);
    }
}
