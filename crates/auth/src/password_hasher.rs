//! The password hasher: hashes that are stored, and their check. The hashing itself is done by the [queue](crate::hash_queue).

use std::sync::Arc;
use std::{io, thread};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use deskpass_core::{Digest, EmployeeKey, Entropy, Password, opaque_debug};
use subtle::ConstantTimeEq as _;

use crate::attempts::CountedAttempt;
use crate::hash_queue::{Hash, HashQueue, HashQueueState, Priority, QueueSlot, Salt};
use crate::password_keys::{PasswordKeys, SharedPasswordKeys};
use crate::{Error, InternalError};

/// The prefix of every hash: argon2id, 19 MiB, two passes, one lane. If these are raised, stored hashes with the lower ones must
/// stay readable.
const PREFIX: &str = "$argon2id$v=19$m=19456,t=2,p=1";
/// The name of the key follows, if the hash names one.
const KEY_NAME: &str = ",keyid=";

/// Hashes passwords with a key that is not stored with the hashes. The hashes alone do not permit guessing.
pub(crate) struct PasswordHasher {
    queue: HashQueue,
    keys: Arc<SharedPasswordKeys>,
}

/// A slot in the queue, for the password of one agent.
#[derive(Debug)]
pub(crate) struct HashSlot {
    slot: QueueSlot,
    keys: Arc<SharedPasswordKeys>,
    owner: EmployeeKey,
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
        Ok(Self { queue: HashQueue::start(threads)?, keys: Arc::new(SharedPasswordKeys::new(keys)) })
    }

    /// Reserves a slot in the queue; `None` if the queue is full.
    pub(crate) fn reserve(&self, priority: Priority, owner: &EmployeeKey) -> Option<HashSlot> {
        let slot = self.queue.reserve(priority)?;
        Some(HashSlot { slot, keys: Arc::clone(&self.keys), owner: owner.clone() })
    }

    /// Whether an anonymous request would find the queue full. Such a request counts as rejected.
    pub(crate) fn rejects_anonymous(&self) -> bool {
        self.queue.rejects_anonymous()
    }

    /// The name of the key that a stored hash was made with; `None` for a text that is no hash.
    pub(crate) fn key_of(&self, stored: &str) -> Option<String> {
        Some(self.keys.get().id_of(parse_hash(stored)?.key).to_owned())
    }

    pub(crate) fn set_keys(&self, keys: PasswordKeys) {
        self.keys.set(keys);
    }

    pub(crate) fn state(&self) -> HashQueueState {
        self.queue.state()
    }
}

impl HashSlot {
    /// The hash of a password, as it is stored.
    pub(crate) async fn hash(&self, password: &Password, entropy: &Entropy) -> Result<String, Error> {
        let (salt, keys) = (entropy.bytes()?, self.keys.get());
        let hash = self.run(keys.new_hash(&self.owner), password, salt).await?;
        let name = keys.new_name().map(|name| format!("{KEY_NAME}{name}")).unwrap_or_default();
        Ok(format!("{PREFIX}{name}${}${}", STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(hash)))
    }

    /// Whether a stored hash was made with the key of new hashes.
    pub(crate) fn is_current(&self, stored: &str) -> bool {
        parse_hash(stored).is_some_and(|parsed| self.keys.get().is_first(parsed.key))
    }

    /// Whether the password matches the stored hash. Without a stored hash the check takes as long and fails.
    pub(crate) async fn verify(
        &self,
        guess: &Password,
        stored: Option<&str>,
        _: CountedAttempt,
    ) -> Result<bool, Error> {
        let (parsed, keys) = (stored.and_then(parse_hash), self.keys.get());
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
        let hash = self.slot.hash(key, password.clone(), salt).await;
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

opaque_debug!(PasswordHasher);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::{EncryptionKeys, key_id};
    use deskpass_store::AttemptKind;

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
}
