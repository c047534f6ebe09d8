//! Passwords, hashed. That is slow and takes memory on purpose, so threads of its own do it, a few at a time, and nobody waits
//! in a line that has no end.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use deskpass_core::{Digest, EmployeeKey, Entropy, Password};
use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::agent::Counted;
use crate::{Error, Internal};

/// What every hash begins with: argon2id, 19 MiB, two passes, one lane. Whoever raises that must go on reading what was kept
/// under the lower ones.
const PREFIX: &str = "$argon2id$v=19$m=19456,t=2,p=1$";
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// How many strangers may wait; one more is sent away.
const LINE: usize = 64;
/// How many may wait besides whom we know.
const KNOWN: usize = 16;
/// How far these threads stand behind: whoever shows a token must not wait for somebody's password.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 10;

type Salt = [u8; 16];
type Hash = [u8; 32];

/// Hashes passwords, with a key that is not where the hashes are kept: whoever has only those cannot even guess.
pub(crate) struct Hasher(Arc<Queue>);

/// Who waits. Whoever is known is served first, so that strangers cannot keep them out by standing in line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Anybody.
    Stranger,
    /// Somebody signed in, or in a browser where the agent has been.
    Known,
}

struct Queue {
    line: Mutex<Line>,
    changed: Condvar,
    strangers: Arc<Semaphore>,
    known: Arc<Semaphore>,
    key: Digest,
}

#[derive(Default)]
struct Line {
    known: VecDeque<Job>,
    strangers: VecDeque<Job>,
    closed: bool,
}

impl Line {
    fn join(&mut self, rank: Rank, job: Job) {
        match rank {
            Rank::Stranger => self.strangers.push_back(job),
            Rank::Known => self.known.push_back(job),
        }
    }

    fn next(&mut self) -> Option<Job> {
        self.known.pop_front().or_else(|| self.strangers.pop_front())
    }
}

struct Job {
    /// Of the queue and of whose password it is: a hash that is moved to another agent's record matches nothing.
    key: Digest,
    password: Password,
    salt: Salt,
    done: oneshot::Sender<Option<Hash>>,
    /// Kept until it is done, also when nobody waits for it any more.
    turn: Arc<OwnedSemaphorePermit>,
}

/// A place in the line.
#[derive(Debug)]
pub(crate) struct Turn {
    queue: Arc<Queue>,
    rank: Rank,
    key: Digest,
    permit: Arc<OwnedSemaphorePermit>,
}

impl Hasher {
    /// Starts half as many threads as there are processors.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(key: &[u8; 32]) -> io::Result<Self> {
        Self::with_threads(key, thread::available_parallelism().map_or(1, |all| (all.get() / 2).max(1)))
    }

    fn with_threads(key: &[u8; 32], threads: usize) -> io::Result<Self> {
        let queue = Arc::new(Queue {
            line: Mutex::default(),
            changed: Condvar::new(),
            strangers: Arc::new(Semaphore::new(LINE + threads)),
            known: Arc::new(Semaphore::new(KNOWN)),
            key: Digest::of(&[b"deskpass passwords", key]),
        });
        let hasher = Self(queue);
        for _ in 0..threads {
            let queue = Arc::clone(&hasher.0);
            thread::Builder::new().name("passwords".into()).spawn(move || queue.work())?;
        }
        Ok(hasher)
    }

    /// A place in the line for somebody's password, unless it is too long.
    pub(crate) fn turn(&self, rank: Rank, owner: &EmployeeKey) -> Option<Turn> {
        let places = match rank {
            Rank::Stranger => &self.0.strangers,
            Rank::Known => &self.0.known,
        };
        let permit = Arc::clone(places).try_acquire_owned().ok()?;
        let key = Digest::of(&[self.0.key.bytes(), owner.corp().as_bytes(), owner.id().as_bytes()]);
        Some(Turn { queue: Arc::clone(&self.0), rank, key, permit: Arc::new(permit) })
    }
}

impl Drop for Hasher {
    fn drop(&mut self) {
        self.0.line().closed = true;
        self.0.changed.notify_all();
    }
}

impl Turn {
    /// The hash of a password, fit to be kept.
    pub(crate) async fn hash(&self, password: &Password, entropy: &Entropy) -> Result<String, Error> {
        let salt = entropy.bytes()?;
        let hash = self.run(password, salt).await?;
        Ok(format!("{PREFIX}{}${}", STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash)))
    }

    /// Whether this guess is the password whose hash was kept. Where none was, it takes as long to say no.
    pub(crate) async fn is_right(&self, guess: &Password, kept: Option<&str>, _: Counted) -> Result<bool, Error> {
        let read = kept.and_then(read);
        if kept.is_some() && read.is_none() {
            tracing::error!("a password's hash cannot be read; the agent needs another password");
        }
        let (salt, wanted) = read.unwrap_or_default();
        let hash = self.run(guess, salt).await?;
        Ok(bool::from(hash.ct_eq(&wanted)) && read.is_some())
    }

    async fn run(&self, password: &Password, salt: Salt) -> Result<Hash, Error> {
        let (done, hash) = oneshot::channel();
        let job = Job { key: self.key, password: password.clone(), salt, done, turn: Arc::clone(&self.permit) };
        self.queue.line().join(self.rank, job);
        self.queue.changed.notify_one();
        let hash = hash.await.ok().flatten();
        hash.ok_or_else(|| Internal::Hashing.into())
    }
}

/// Reads what [`Turn::hash`] wrote.
fn read(kept: &str) -> Option<(Salt, Hash)> {
    let (salt, hash) = kept.strip_prefix(PREFIX)?.split_once('$')?;
    let decode = |text| STANDARD_NO_PAD.decode(text).ok();
    Some((decode(salt)?.try_into().ok()?, decode(hash)?.try_into().ok()?))
}

impl Queue {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next one to do; `None` once there will be no more.
    fn wait(&self) -> Option<Job> {
        let mut line = self.line();
        loop {
            if let Some(job) = line.next() {
                return Some(job);
            }
            if line.closed {
                return None;
            }
            line = self.changed.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What a thread does, to the end. The memory is kept while there is something to do, and no longer.
    fn work(&self) {
        stand_back();
        while let Some(first) = self.wait() {
            let mut memory = vec![Block::new(); MEMORY_KIB as usize];
            let mut next = Some(first);
            while let Some(Job { key, password, salt, done, turn }) = next {
                if !done.is_closed() {
                    let hash = hash(&key, &password, &salt, &mut memory);
                    drop(turn);
                    let _ = done.send(hash);
                }
                next = self.line().next();
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

/// Makes this thread stand behind the others. Where it is not allowed, they get a little slower under a flood of passwords.
#[cfg(target_os = "linux")]
fn stand_back() {
    let _ = rustix::process::setpriority_process(None, BEHIND);
}

/// Elsewhere it would slow the whole service down.
#[cfg(not(target_os = "linux"))]
fn stand_back() {}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher")
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Queue")
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::time::Duration;

    use deskpass_store::Trial;
    use tokio::time::timeout;

    use super::*;

    const COUNTED: Counted = Counted(Trial::Password);

    fn password(text: &str) -> Password {
        Password::parse(text.to_owned()).unwrap()
    }

    fn owner() -> EmployeeKey {
        EmployeeKey::from_parts("ww", "agent01")
    }

    async fn is_right(hasher: &Hasher, guess: &str, kept: Option<&str>) -> bool {
        hasher.turn(Rank::Stranger, &owner()).unwrap().is_right(&password(guess), kept, COUNTED).await.unwrap()
    }

    #[tokio::test]
    async fn only_the_password_matches_its_hash_and_only_under_its_key() {
        let (one, other) = (Hasher::start(&[7; 32]).unwrap(), Hasher::start(&[8; 32]).unwrap());
        let hash = || async {
            let turn = one.turn(Rank::Known, &owner()).unwrap();
            turn.hash(&password("correct horse"), &Entropy::system()).await.unwrap()
        };
        let kept = hash().await;
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(is_right(&one, "correct horse", Some(&kept)).await);
        assert!(!is_right(&one, "correct horsf", Some(&kept)).await);
        assert!(!is_right(&other, "correct horse", Some(&kept)).await, "another key");
        let somebody = one.turn(Rank::Known, &EmployeeKey::from_parts("ww", "agent02")).unwrap();
        let moved = somebody.is_right(&password("correct horse"), Some(&kept), COUNTED).await.unwrap();
        assert!(!moved, "in another agent's record");
        assert!(!is_right(&one, "correct horse", None).await);
        assert!(!is_right(&one, "correct horse", Some(&kept.replace("t=2", "t=1"))).await, "not written by us");
        assert_ne!(kept, hash().await, "each has a salt of its own");
    }

    #[tokio::test]
    async fn the_line_has_an_end_and_places_come_free_again() {
        let hasher = Hasher::with_threads(&[7; 32], 1).unwrap();
        let all = hasher.0.strangers.available_permits();
        let turns: Vec<_> = std::iter::from_fn(|| hasher.turn(Rank::Stranger, &owner())).collect();
        assert_eq!((all, turns.len()), (LINE + 1, LINE + 1));
        assert!(hasher.turn(Rank::Known, &owner()).is_some(), "strangers take no places of those we know");
        drop(turns);
        let turn = hasher.turn(Rank::Stranger, &owner()).unwrap();
        // Somebody stops waiting.
        drop(timeout(Duration::ZERO, turn.is_right(&password("a"), None, COUNTED)).await);
        drop(turn);
        // Whoever comes next waits until the thread has seen that.
        assert!(!is_right(&hasher, "b", None).await);
        assert_eq!(hasher.0.strangers.available_permits(), all);
    }

    #[tokio::test]
    async fn whoever_is_known_is_served_first() {
        let hasher = Hasher::with_threads(&[7; 32], 1).unwrap();
        let order = std::sync::Mutex::new(Vec::new());
        let one = |rank, name: &'static str| {
            let turn = hasher.turn(rank, &owner()).unwrap();
            let order = &order;
            async move {
                turn.is_right(&password(name), None, COUNTED).await.unwrap();
                order.lock().unwrap().push(name);
            }
        };
        let strangers = [one(Rank::Stranger, "a"), one(Rank::Stranger, "b"), one(Rank::Stranger, "c")];
        let [a, b, c] = strangers;
        tokio::join!(a, b, c, one(Rank::Known, "known"));
        let order = order.lock().unwrap();
        assert!(order.iter().position(|name| *name == "known").unwrap() < 2, "{order:?}");
    }
}
