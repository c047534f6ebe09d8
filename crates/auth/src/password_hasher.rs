//! The password hasher. Hashing is slow and takes memory on purpose, so a few dedicated threads do it, and the queue is bounded.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use deskpass_core::{Digest, EmployeeKey, Entropy, Password, opaque_debug};
use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::attempts::CountedAttempt;
use crate::password_keys::{PasswordKeys, SharedPasswordKeys};
use crate::{Error, InternalError};

/// The prefix of every hash: argon2id, 19 MiB, two passes, one lane. If these are raised, stored hashes with the lower ones must
/// stay readable.
const PREFIX: &str = "$argon2id$v=19$m=19456,t=2,p=1";
/// The name of the key follows, if the hash names one.
const KEY_NAME: &str = ",keyid=";
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
/// turn in one of nine cases, or in one of sixty-eight. Hashing still gets 1.5 % of a processor that other requests
/// keep busy.
#[cfg(target_os = "linux")]
const WORKER_NICENESS: i32 = 19;

type Salt = [u8; 16];
type Hash = [u8; 32];

/// Hashes passwords with a key that is not stored with the hashes. The hashes alone do not permit guessing.
pub(crate) struct PasswordHasher(Arc<HashQueue>);

/// The priority of a request. Known users are served first, so that strangers cannot lock them out by filling the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Any client.
    Anonymous,
    /// A signed-in user, or a known browser of the agent.
    Known,
}

struct HashQueue {
    jobs: Mutex<PendingJobs>,
    changed: Condvar,
    anonymous: Arc<Semaphore>,
    known: Arc<Semaphore>,
    keys: SharedPasswordKeys,
    /// The number of requests that found the queue full.
    rejected: AtomicU64,
}

/// The state of the queue in which passwords wait to be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashQueueState {
    /// The passwords that wait.
    pub waiting: usize,
    /// The requests that found the queue full, since the start.
    pub rejected: u64,
}

#[derive(Default)]
struct PendingJobs {
    known: VecDeque<HashJob>,
    anonymous: VecDeque<HashJob>,
    closed: bool,
}

impl PendingJobs {
    fn push(&mut self, priority: Priority, job: HashJob) {
        match priority {
            Priority::Anonymous => self.anonymous.push_back(job),
            Priority::Known => self.known.push_back(job),
        }
    }

    fn next(&mut self) -> Option<HashJob> {
        self.known.pop_front().or_else(|| self.anonymous.pop_front())
    }
}

struct HashJob {
    key: Digest,
    password: Password,
    salt: Salt,
    done: oneshot::Sender<Option<Hash>>,
    /// Held until the job is done, even if the request has stopped waiting.
    permit: Arc<OwnedSemaphorePermit>,
}

/// A slot in the queue.
#[derive(Debug)]
pub(crate) struct HashSlot {
    queue: Arc<HashQueue>,
    priority: Priority,
    owner: EmployeeKey,
    permit: Arc<OwnedSemaphorePermit>,
}

/// A stored hash.
#[derive(Clone, Copy)]
struct ParsedHash<'a> {
    /// The name of its key.
    key: Option<&'a str>,
    salt: Salt,
    hash: Hash,
}

impl PasswordHasher {
    /// Starts the hasher, with half as many threads as there are processors.
    pub(crate) fn start(keys: PasswordKeys) -> io::Result<Self> {
        Self::with_threads(keys, thread::available_parallelism().map_or(1, |all| (all.get() / 2).max(1)))
    }

    fn with_threads(keys: PasswordKeys, threads: usize) -> io::Result<Self> {
        let queue = Arc::new(HashQueue {
            jobs: Mutex::default(),
            changed: Condvar::new(),
            anonymous: Arc::new(Semaphore::new(MAX_WAITING_ANONYMOUS + threads)),
            known: Arc::new(Semaphore::new(MAX_WAITING_KNOWN)),
            keys: SharedPasswordKeys::new(keys),
            rejected: AtomicU64::default(),
        });
        let hasher = Self(queue);
        for _ in 0..threads {
            let queue = Arc::clone(&hasher.0);
            thread::Builder::new().name("passwords".into()).spawn(move || queue.run_worker())?;
        }
        Ok(hasher)
    }

    /// Reserves a slot in the queue; `None` if the queue is full.
    pub(crate) fn reserve(&self, priority: Priority, owner: &EmployeeKey) -> Option<HashSlot> {
        let places = match priority {
            Priority::Anonymous => &self.0.anonymous,
            Priority::Known => &self.0.known,
        };
        let permit = Arc::clone(places).try_acquire_owned().ok();
        if permit.is_none() {
            self.0.rejected.fetch_add(1, Ordering::Relaxed);
        }
        let permit = Arc::new(permit?);
        Some(HashSlot { queue: Arc::clone(&self.0), priority, owner: owner.clone(), permit })
    }

    /// Whether an anonymous request would find the queue full. Such a request counts as rejected.
    pub(crate) fn rejects_anonymous(&self) -> bool {
        let is_full = self.0.anonymous.available_permits() == 0;
        if is_full {
            self.0.rejected.fetch_add(1, Ordering::Relaxed);
        }
        is_full
    }

    /// The name of the key that a stored hash was made with; `None` for a text that is no hash.
    pub(crate) fn key_of(&self, stored: &str) -> Option<String> {
        Some(self.0.keys.get().id_of(parse_hash(stored)?.key).to_owned())
    }

    pub(crate) fn set_keys(&self, keys: PasswordKeys) {
        self.0.keys.set(keys);
    }

    pub(crate) fn state(&self) -> HashQueueState {
        let jobs = self.0.lock();
        let waiting = jobs.known.len() + jobs.anonymous.len();
        HashQueueState { waiting, rejected: self.0.rejected.load(Ordering::Relaxed) }
    }
}

impl Drop for PasswordHasher {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl HashSlot {
    /// The hash of a password, as it is stored.
    pub(crate) async fn hash(&self, password: &Password, entropy: &Entropy) -> Result<String, Error> {
        let (salt, keys) = (entropy.bytes()?, self.queue.keys.get());
        let hash = self.run(keys.new_hash(&self.owner), password, salt).await?;
        let name = keys.new_name().map(|name| format!("{KEY_NAME}{name}")).unwrap_or_default();
        Ok(format!("{PREFIX}{name}${}${}", STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash)))
    }

    /// Whether a stored hash was made with the key of new hashes.
    pub(crate) fn is_current(&self, stored: &str) -> bool {
        parse_hash(stored).is_some_and(|parsed| self.queue.keys.get().is_first(parsed.key))
    }

    /// Whether the password matches the stored hash. Without a stored hash the check takes as long and fails.
    pub(crate) async fn verify(
        &self,
        guess: &Password,
        stored: Option<&str>,
        _: CountedAttempt,
    ) -> Result<bool, Error> {
        let (parsed, keys) = (stored.and_then(parse_hash), self.queue.keys.get());
        let key = parsed.and_then(|parsed| keys.named(parsed.key, &self.owner));
        match (stored, parsed, key) {
            (Some(_), None, _) => tracing::error!("unreadable password hash; the agent must set a new password"),
            (Some(_), Some(ParsedHash { key, .. }), None) => tracing::error!(
                key,
                "a password was hashed with a key that is not in encryption_key: add that key to the settings, or the \
                 agent must set a new password"
            ),
            _ => {}
        }
        let (salt, wanted) = parsed.map(|parsed| (parsed.salt, parsed.hash)).unwrap_or_default();
        let hash = self.run(key.unwrap_or_else(|| keys.new_hash(&self.owner)), guess, salt).await?;
        Ok(bool::from(hash.ct_eq(&wanted)) && key.is_some())
    }

    async fn run(&self, key: Digest, password: &Password, salt: Salt) -> Result<Hash, Error> {
        let (done, hash) = oneshot::channel();
        let job = HashJob { key, password: password.clone(), salt, done, permit: Arc::clone(&self.permit) };
        self.queue.lock().push(self.priority, job);
        self.queue.changed.notify_one();
        let hash = hash.await.ok().flatten();
        hash.ok_or_else(|| InternalError::Hashing.into())
    }
}

/// Parses the output of [`HashSlot::hash`]: a PHC string with fixed parameters, so that only the rest has to be read.
fn parse_hash(stored: &str) -> Option<ParsedHash<'_>> {
    let (name, rest) = stored.strip_prefix(PREFIX)?.split_once('$')?;
    let key = if name.is_empty() { None } else { Some(name.strip_prefix(KEY_NAME)?) };
    let (salt, hash) = rest.split_once('$')?;
    let decode = |text| STANDARD_NO_PAD.decode(text).ok();
    Some(ParsedHash { key, salt: decode(salt)?.try_into().ok()?, hash: decode(hash)?.try_into().ok()? })
}

impl HashQueue {
    fn lock(&self) -> MutexGuard<'_, PendingJobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job; `None` after the hasher was closed.
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
            let mut memory = vec![Block::new(); MEMORY_KIB as usize];
            let mut next = Some(first);
            while let Some(HashJob { key, password, salt, done, permit }) = next {
                if !done.is_closed() {
                    let hash = hash(&key, &password, &salt, &mut memory);
                    drop(permit);
                    let _ = done.send(hash);
                }
                next = self.lock().next();
            }
        }
    }
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

opaque_debug!(PasswordHasher, HashQueue);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::time::Duration;

    use deskpass_core::{EncryptionKeys, key_id};
    use deskpass_store::AttemptKind;
    use tokio::time::timeout;

    use super::*;

    const COUNTED_ATTEMPT: CountedAttempt = CountedAttempt(AttemptKind::Password);

    fn password(text: &str) -> Password {
        Password::parse(text.to_owned()).unwrap()
    }

    fn keys(first: u8, others: &[u8], unnamed: u8) -> PasswordKeys {
        let others = others.iter().map(|other| [*other; 32]);
        PasswordKeys::new(&EncryptionKeys::new([first; 32], others), &key_id(&[unnamed; 32]), false)
    }

    async fn hash(hasher: &PasswordHasher, text: &str) -> String {
        let slot = hasher.reserve(Priority::Known, &owner()).unwrap();
        slot.hash(&password(text), &Entropy::system()).await.unwrap()
    }

    fn owner() -> EmployeeKey {
        EmployeeKey::from_parts("ww", "agent01")
    }

    async fn verify(hasher: &PasswordHasher, guess: &str, stored: Option<&str>) -> bool {
        hasher
            .reserve(Priority::Anonymous, &owner())
            .unwrap()
            .verify(&password(guess), stored, COUNTED_ATTEMPT)
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn only_the_password_matches_its_hash_and_only_under_its_key() {
        let (one, other) =
            (PasswordHasher::start(keys(7, &[], 7)).unwrap(), PasswordHasher::start(keys(8, &[], 8)).unwrap());
        let stored = hash(&one, "correct horse").await;
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify(&one, "correct horse", Some(&stored)).await);
        assert!(!verify(&one, "correct horsf", Some(&stored)).await);
        assert!(!verify(&other, "correct horse", Some(&stored)).await, "another key");
        let other_slot = one.reserve(Priority::Known, &EmployeeKey::from_parts("ww", "agent02")).unwrap();
        let moved = other_slot.verify(&password("correct horse"), Some(&stored), COUNTED_ATTEMPT).await.unwrap();
        assert!(!moved, "in another agent's record");
        assert!(!verify(&one, "correct horse", None).await);
        assert!(!verify(&one, "correct horse", Some(&stored.replace("t=2", "t=1"))).await, "not written by us");
        assert_ne!(stored, hash(&one, "correct horse").await, "each has a salt of its own");
    }

    #[tokio::test]
    async fn a_hash_is_checked_with_its_own_key_and_says_which() {
        let start = |keys| PasswordHasher::with_threads(keys, 1).unwrap();
        let (old, new) = (start(keys(7, &[], 7)), start(keys(8, &[7], 7)));
        let (unnamed, named) = (hash(&old, "correct horse").await, hash(&new, "correct horse").await);
        assert!(!unnamed.contains("keyid") && named.starts_with("$argon2id$v=19$m=19456,t=2,p=1,keyid="), "{named}");
        assert_ne!(new.key_of(&unnamed), new.key_of(&named));
        let slot = new.reserve(Priority::Known, &owner()).unwrap();
        assert!(slot.is_current(&named) && !slot.is_current(&unnamed));
        for stored in [&unnamed, &named] {
            assert!(verify(&new, "correct horse", Some(stored)).await);
            assert!(!verify(&new, "correct horsf", Some(stored)).await);
        }
        assert!(!verify(&old, "correct horse", Some(&named)).await, "it does not have that key");
        assert!(!verify(&new, "correct horse", Some(&named.replace("keyid", "keyie"))).await, "not written by us");
    }

    #[tokio::test]
    async fn the_queue_is_bounded_and_slots_are_released() {
        let hasher = PasswordHasher::with_threads(keys(7, &[], 7), 1).unwrap();
        let all = hasher.0.anonymous.available_permits();
        let slots: Vec<_> = std::iter::from_fn(|| hasher.reserve(Priority::Anonymous, &owner())).collect();
        assert_eq!((all, slots.len()), (MAX_WAITING_ANONYMOUS + 1, MAX_WAITING_ANONYMOUS + 1));
        assert!(hasher.reserve(Priority::Known, &owner()).is_some(), "anonymous requests take no slots of known users");
        assert!(hasher.rejects_anonymous());
        drop(slots);
        assert!(!hasher.rejects_anonymous());
        let slot = hasher.reserve(Priority::Anonymous, &owner()).unwrap();
        // The request stops waiting.
        drop(timeout(Duration::ZERO, slot.verify(&password("a"), None, COUNTED_ATTEMPT)).await);
        drop(slot);
        // The next request waits until the thread has noticed that.
        assert!(!verify(&hasher, "b", None).await);
        assert_eq!(hasher.0.anonymous.available_permits(), all);
    }

    #[tokio::test]
    async fn known_users_are_served_first() {
        let hasher = PasswordHasher::with_threads(keys(7, &[], 7), 1).unwrap();
        let order = std::sync::Mutex::new(Vec::new());
        let one = |priority, name: &'static str| {
            let slot = hasher.reserve(priority, &owner()).unwrap();
            let order = &order;
            async move {
                slot.verify(&password(name), None, COUNTED_ATTEMPT).await.unwrap();
                order.lock().unwrap().push(name);
            }
        };
        let requests = [one(Priority::Anonymous, "a"), one(Priority::Anonymous, "b"), one(Priority::Anonymous, "c")];
        let [a, b, c] = requests;
        tokio::join!(a, b, c, one(Priority::Known, "known"));
        let order = order.lock().unwrap();
        assert!(order.iter().position(|name| *name == "known").unwrap() < 2, "{order:?}");
    }
}
