//! What agents' secrets are kept with: keys that are not where the secrets are.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Digest, EmployeeKey, Entropy, Seed, SpareCode};
use deskpass_store::{KEY_CHECK, KEY_CHECKS, Seal};

use crate::hasher::{Hasher, Rank, Turn};
use crate::{Auth, Error, Internal, Refusal};

/// Hashes, seals and marks what agents prove themselves with. A stolen database is of no use without it.
#[derive(Debug)]
pub struct Locker {
    hasher: Hasher,
    seeds: Seal,
    /// Tells this key from others.
    checks: Seal,
    /// Marks spare codes.
    spare: Digest,
}

impl Locker {
    /// A locker that opens what was put in under the same key.
    ///
    /// # Errors
    /// When the system gives no threads to hash passwords on.
    pub fn new(key: &[u8; 32], entropy: Entropy) -> io::Result<Self> {
        Ok(Self {
            hasher: Hasher::start(key)?,
            seeds: Seal::new(key, "deskpass one-time-password devices", entropy),
            checks: Seal::new(key, KEY_CHECKS, entropy),
            spare: Digest::of(&[b"deskpass spare codes", key]),
        })
    }

    /// A place in the line of passwords to be hashed.
    pub(crate) fn turn(&self, rank: Rank, owner: &EmployeeKey) -> Result<Turn, Refusal> {
        self.hasher.turn(rank, owner).ok_or(Refusal::Busy)
    }

    /// What is kept of a spare code.
    pub(crate) fn mark(&self, code: &SpareCode, owner: &EmployeeKey) -> Digest {
        code.digest(self.spare.bytes(), owner)
    }

    /// A device's secret, closed for everyone but its agent.
    pub(crate) fn close(&self, seed: &Seed, owner: &EmployeeKey) -> Result<String, Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.seeds.close(&name(owner), seed.bytes())?))
    }

    /// Something by which this key can be told from others.
    fn check(&self) -> Result<String, Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.checks.close(KEY_CHECK, KEY_CHECK.as_bytes())?))
    }

    /// Whether somebody with this key left that.
    fn left(&self, check: &str) -> bool {
        opens(&self.checks, check)
    }

    /// Whether somebody with this key left that, to tell the key by.
    #[must_use]
    pub fn is_key_of(key: &[u8; 32], check: &str) -> bool {
        opens(&Seal::new(key, KEY_CHECKS, Entropy::system()), check)
    }

    /// A device's secret.
    pub(crate) fn open(&self, closed: &str, owner: &EmployeeKey) -> Result<Seed, Error> {
        let closed = URL_SAFE_NO_PAD.decode(closed).ok();
        let seed = closed.and_then(|closed| self.seeds.open(&name(owner), &closed)?.try_into().ok());
        Ok(seed.map(Seed::from_bytes).ok_or(Internal::Unopened)?)
    }
}

fn opens(checks: &Seal, check: &str) -> bool {
    URL_SAFE_NO_PAD.decode(check).is_ok_and(|closed| checks.open(KEY_CHECK, &closed).is_some())
}

impl Auth {
    /// Whether the key is the one that agents' secrets were made with, and the log. Where there are neither, it is from then on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn knows_key(&self) -> Result<bool, Error> {
        let before = self.store.key_check().await?;
        if before.as_deref().is_some_and(|check| self.locker.left(check)) {
            return Ok(true);
        }
        match (self.store.is_key_of_log(self.chain.clone()).await?, &before) {
            (Some(false), _) => return Ok(false),
            (None, Some(_)) if self.store.keeps_secrets().await? => return Ok(false),
            // The log cannot be made to say so without the key; the check can be changed by whoever writes to the database.
            (Some(true), Some(_)) => tracing::error!(
                "encryption_key is the one that the log was written with, but the key check in the database is not: it was changed \
                 there, and is made anew"
            ),
            (Some(true) | None, _) => {}
        }
        self.store.keep_key_check(self.locker.check()?, before).await?;
        Ok(self.store.key_check().await?.is_some_and(|check| self.locker.left(&check)))
    }
}

fn name(owner: &EmployeeKey) -> String {
    // Neither part can have a slash in it.
    format!("{}/{}", owner.corp(), owner.id())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_seed_opens_for_its_agent_and_under_its_key_alone() {
        let locker = Locker::new(&[1; 32], Entropy::system()).unwrap();
        let (one, other) = (EmployeeKey::from_parts("ww", "one"), EmployeeKey::from_parts("ww", "other"));
        let seed = Seed::generate(&Entropy::system()).unwrap();
        let closed = locker.close(&seed, &one).unwrap();
        assert_eq!(locker.open(&closed, &one).unwrap().bytes(), seed.bytes());
        assert!(locker.open(&closed, &other).is_err(), "moved to another agent's row");
        assert!(Locker::new(&[2; 32], Entropy::system()).unwrap().open(&closed, &one).is_err(), "another key");
        assert!(!closed.contains(&seed.base32()));
        assert_ne!(closed, locker.close(&seed, &one).unwrap());
    }

    #[test]
    fn a_spare_code_is_marked_for_its_owner_and_key() {
        let locker = Locker::new(&[1; 32], Entropy::system()).unwrap();
        let (one, other) = (EmployeeKey::from_parts("ww", "one"), EmployeeKey::from_parts("ww", "other"));
        let code = SpareCode::generate(&Entropy::system()).unwrap();
        assert_eq!(locker.mark(&code, &one), locker.mark(&code, &one));
        assert_ne!(locker.mark(&code, &one), locker.mark(&code, &other));
        assert_ne!(locker.mark(&code, &one), Locker::new(&[2; 32], Entropy::system()).unwrap().mark(&code, &one));
    }
}
