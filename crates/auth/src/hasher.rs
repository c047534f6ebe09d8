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
use deskpass_core::{Digest, Entropy};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::{Error, Internal};

/// What every hash begins with: argon2id, 19 MiB, two passes, one lane.
const PREFIX: &str = "$argon2id$v=19$m=19456,t=2,p=1$";
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// How many may wait; one more is sent away.
const LINE: usize = 64;
/// How far these threads stand behind: whoever shows a token must not wait for somebody's password.
const BEHIND: i32 = 10;

type Salt = [u8; 16];
type Hash = [u8; 32];

/// Hashes passwords, with a key that is not where the hashes are kept: whoever has only those cannot even guess.
pub(crate) struct Hasher(Arc<Queue>);

struct Queue {
    line: Mutex<Line>,
    changed: Condvar,
    turns: Arc<Semaphore>,
    key: Digest,
}

#[derive(Default)]
struct Line {
    jobs: VecDeque<Job>,
    closed: bool,
}

struct Job {
    password: Vec<u8>,
    salt: Salt,
    done: oneshot::Sender<Option<Hash>>,
    /// Kept until it is done, also when nobody waits for it any more.
    _turn: Arc<OwnedSemaphorePermit>,
}

/// A place in the line.
#[derive(Debug)]
pub(crate) struct Turn {
    queue: Arc<Queue>,
    permit: Arc<OwnedSemaphorePermit>,
}

impl Hasher {
    /// Starts half as many threads as there are processors.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(key: &[u8; 32]) -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, |all| (all.get() / 2).max(1));
        let queue = Arc::new(Queue {
            line: Mutex::default(),
            changed: Condvar::new(),
            turns: Arc::new(Semaphore::new(LINE + threads)),
            key: Digest::of(&[b"deskpass passwords", key]),
        });
        let hasher = Self(queue);
        for _ in 0..threads {
            let queue = Arc::clone(&hasher.0);
            thread::Builder::new().name("passwords".into()).spawn(move || queue.work())?;
        }
        Ok(hasher)
    }

    /// A place in the line, unless it is too long.
    pub(crate) fn turn(&self) -> Option<Turn> {
        let permit = Arc::clone(&self.0.turns).try_acquire_owned().ok()?;
        Some(Turn { queue: Arc::clone(&self.0), permit: Arc::new(permit) })
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
    pub(crate) async fn hash(&self, password: &str, entropy: &Entropy) -> Result<String, Error> {
        let salt = entropy.bytes()?;
        let hash = self.run(password, salt).await?;
        Ok(format!("{PREFIX}{}${}", STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash)))
    }

    /// Whether this is the password whose hash was kept. Where none was, it takes as long to say no.
    pub(crate) async fn is_right(&self, password: &str, kept: Option<&str>) -> Result<bool, Error> {
        let read = kept.and_then(read);
        if kept.is_some() && read.is_none() {
            tracing::error!("a password's hash cannot be read; the agent needs another password");
        }
        let (salt, wanted) = read.unwrap_or_default();
        let hash = self.run(password, salt).await?;
        // Looks at every byte, whichever differs first.
        let same = hash.iter().zip(wanted).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0;
        Ok(same && read.is_some())
    }

    async fn run(&self, password: &str, salt: Salt) -> Result<Hash, Error> {
        let (done, hash) = oneshot::channel();
        let job = Job { password: password.as_bytes().to_vec(), salt, done, _turn: Arc::clone(&self.permit) };
        self.queue.line().jobs.push_back(job);
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
            if let Some(job) = line.jobs.pop_front() {
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
        // Where it is not allowed, verify's slowest answers get a little slower under a flood of passwords.
        let _ = rustix::process::setpriority_process(None, BEHIND);
        while let Some(first) = self.wait() {
            let mut memory = vec![Block::new(); MEMORY_KIB as usize];
            let mut next = Some(first);
            while let Some(job) = next {
                if !job.done.is_closed() {
                    let hash = self.hash(&job.password, &job.salt, &mut memory);
                    let _ = job.done.send(hash);
                }
                next = self.line().jobs.pop_front();
            }
        }
    }

    fn hash(&self, password: &[u8], salt: &Salt, memory: &mut [Block]) -> Option<Hash> {
        let params = Params::new(MEMORY_KIB, PASSES, LANES, None).ok()?;
        let argon = Argon2::new_with_secret(self.key.bytes(), Algorithm::Argon2id, Version::V0x13, params).ok()?;
        let mut hash = Hash::default();
        argon.hash_password_into_with_memory(password, salt, &mut hash, memory).ok()?;
        Some(hash)
    }
}

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
    use super::*;

    fn hasher() -> Hasher {
        Hasher::start(&[7; 32]).unwrap()
    }

    #[tokio::test]
    async fn only_the_password_matches_its_hash_and_only_under_its_key() {
        let (one, other) = (hasher(), Hasher::start(&[8; 32]).unwrap());
        let kept = one.turn().unwrap().hash("correct horse", &Entropy::system()).await.unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        let is_right = |hasher: &Hasher, password: &'static str, kept: Option<String>| {
            let turn = hasher.turn().unwrap();
            async move { turn.is_right(password, kept.as_deref()).await.unwrap() }
        };
        assert!(is_right(&one, "correct horse", Some(kept.clone())).await);
        assert!(!is_right(&one, "correct horsf", Some(kept.clone())).await);
        assert!(!is_right(&other, "correct horse", Some(kept.clone())).await, "another key");
        assert!(!is_right(&one, "correct horse", None).await);
        assert!(!is_right(&one, "", Some(kept.replace("t=2", "t=1"))).await, "not written by us");
        let again = one.turn().unwrap().hash("correct horse", &Entropy::system()).await.unwrap();
        assert_ne!(kept, again, "each has a salt of its own");
    }

    #[tokio::test]
    async fn the_line_has_an_end_and_places_come_free_again() {
        let hasher = hasher();
        let turns: Vec<_> = std::iter::from_fn(|| hasher.turn()).collect();
        assert!(turns.len() > LINE && turns.len() <= LINE + 64, "{}", turns.len());
        drop(turns);
        let all = hasher.0.turns.available_permits();
        let turn = hasher.turn().unwrap();
        // Somebody stops waiting.
        drop(tokio::time::timeout(std::time::Duration::ZERO, turn.is_right("a", None)).await);
        drop(turn);
        // Whoever comes next waits until the thread has seen that.
        let next = hasher.turn().unwrap();
        assert!(!next.is_right("b", None).await.unwrap());
        drop(next);
        assert_eq!(hasher.0.turns.available_permits(), all);
    }
}
