//! The protection of agents' secrets, with keys that are not stored in the database.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Digest, EmployeeKey, Entropy, RecoveryCode, TotpSecret};
use deskpass_store::{KEY_CHECK_PURPOSE, KEY_CHECK_TEXT, Seal};

use crate::password_hasher::{HashQueueState, HashSlot, PasswordHasher, Priority};
use crate::{Error, InternalError, Refusal};

/// Hashes passwords, seals device secrets and digests recovery codes. A stolen database is useless without its key.
#[derive(Debug)]
pub struct CredentialVault {
    hasher: PasswordHasher,
    seeds: Seal,
    /// Seals the key check.
    checks: Seal,
    /// The key for digests of recovery codes.
    code_key: Digest,
}

impl CredentialVault {
    /// A vault with this key, which opens what was sealed under it. Fails if the hashing threads cannot start.
    pub fn new(key: &[u8; 32], entropy: Entropy) -> io::Result<Self> {
        Ok(Self {
            hasher: PasswordHasher::start(key)?,
            seeds: Seal::new(key, "deskpass one-time-password devices", entropy),
            checks: Seal::new(key, KEY_CHECK_PURPOSE, entropy),
            code_key: Digest::of(&[b"deskpass spare codes", key]),
        })
    }

    /// A slot in the queue of the password hasher.
    pub(crate) fn reserve(&self, priority: Priority, owner: &EmployeeKey) -> Result<HashSlot, Refusal> {
        self.hasher.reserve(priority, owner).ok_or(Refusal::Busy)
    }

    /// The state of the queue of the password hasher.
    #[must_use]
    pub fn hash_queue(&self) -> HashQueueState {
        self.hasher.state()
    }

    /// The digest of a recovery code, which is stored in its place.
    pub(crate) fn code_digest(&self, code: &RecoveryCode, owner: &EmployeeKey) -> Digest {
        code.digest(self.code_key.bytes(), owner)
    }

    /// A device's secret, sealed for its agent.
    pub(crate) fn seal_seed(&self, seed: &TotpSecret, owner: &EmployeeKey) -> Result<String, Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.seeds.close(&seal_context(owner), seed.bytes())?))
    }

    /// A new key check, by which this key can be recognised.
    pub(crate) fn new_key_check(&self) -> Result<String, Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.checks.close(KEY_CHECK_TEXT, KEY_CHECK_TEXT.as_bytes())?))
    }

    /// Whether the key check was made with this key.
    pub(crate) fn matches_key_check(&self, check: &str) -> bool {
        unseals_check(&self.checks, check)
    }

    /// Whether the key check was made with the given key.
    #[must_use]
    pub fn is_key_of_check(key: &[u8; 32], check: &str) -> bool {
        unseals_check(&Seal::new(key, KEY_CHECK_PURPOSE, Entropy::system()), check)
    }

    /// The secret of a device, opened for its agent.
    pub(crate) fn unseal_seed(&self, closed: &str, owner: &EmployeeKey) -> Result<TotpSecret, Error> {
        let closed = URL_SAFE_NO_PAD.decode(closed).ok();
        let seed = closed.and_then(|closed| self.seeds.open(&seal_context(owner), &closed)?.try_into().ok());
        Ok(seed.map(TotpSecret::from_bytes).ok_or(InternalError::UnsealFailed)?)
    }
}

fn unseals_check(checks: &Seal, check: &str) -> bool {
    URL_SAFE_NO_PAD.decode(check).is_ok_and(|closed| checks.open(KEY_CHECK_TEXT, &closed).is_some())
}

fn seal_context(owner: &EmployeeKey) -> String {
    // Neither part can contain a slash.
    format!("{}/{}", owner.corp(), owner.id())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_seed_opens_for_its_agent_and_under_its_key_alone() {
        let credential_vault = CredentialVault::new(&[1; 32], Entropy::system()).unwrap();
        let (one, other) = (EmployeeKey::from_parts("ww", "one"), EmployeeKey::from_parts("ww", "other"));
        let seed = TotpSecret::generate(&Entropy::system()).unwrap();
        let closed = credential_vault.seal_seed(&seed, &one).unwrap();
        assert_eq!(credential_vault.unseal_seed(&closed, &one).unwrap().bytes(), seed.bytes());
        assert!(credential_vault.unseal_seed(&closed, &other).is_err(), "moved to another agent's row");
        assert!(
            CredentialVault::new(&[2; 32], Entropy::system()).unwrap().unseal_seed(&closed, &one).is_err(),
            "another key"
        );
        assert!(!closed.contains(&seed.base32()));
        assert_ne!(closed, credential_vault.seal_seed(&seed, &one).unwrap());
    }

    #[test]
    fn a_code_digest_depends_on_owner_and_key() {
        let credential_vault = CredentialVault::new(&[1; 32], Entropy::system()).unwrap();
        let (one, other) = (EmployeeKey::from_parts("ww", "one"), EmployeeKey::from_parts("ww", "other"));
        let code = RecoveryCode::generate(&Entropy::system()).unwrap();
        assert_eq!(credential_vault.code_digest(&code, &one), credential_vault.code_digest(&code, &one));
        assert_ne!(credential_vault.code_digest(&code, &one), credential_vault.code_digest(&code, &other));
        assert_ne!(
            credential_vault.code_digest(&code, &one),
            CredentialVault::new(&[2; 32], Entropy::system()).unwrap().code_digest(&code, &one)
        );
    }
}
