//! The protection of agents' secrets, with keys that are not stored in the database.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Digest, EmployeeKey, EncryptionKeys, Entropy, KeyBytes, RecoveryCode, TotpSecret, key_id};
use deskpass_store::{KnownKeys, Seal};

use crate::password_hasher::{HashQueueState, HashSlot, PasswordHasher, Priority};
use crate::password_keys::PasswordKeys;
use crate::{Error, InternalError, Refusal};

/// Hashes passwords, seals device secrets and digests recovery codes. A stolen database is useless without its key.
#[derive(Debug)]
pub struct CredentialVault {
    hasher: PasswordHasher,
    seeds: Seal,
    /// The keys for digests of recovery codes: the one for new digests, and others.
    code_keys: (Digest, Vec<Digest>),
    /// The names of all keys, in the order of those of `seeds`.
    key_ids: Vec<String>,
}

impl CredentialVault {
    /// A vault that protects with the first of these keys, and accepts what was protected with the others or with a key that was
    /// replaced. Fails if the hashing threads cannot start.
    pub fn new(keys: &EncryptionKeys, known: &KnownKeys, entropy: Entropy) -> io::Result<Self> {
        let keys = keys.with_older(known.retired.iter().copied());
        let code_key = |key: &KeyBytes| Digest::of(&[b"deskpass spare codes", key]);
        Ok(Self {
            hasher: PasswordHasher::start(PasswordKeys::new(&keys, &known.unnamed))?,
            seeds: Seal::new(&keys, "deskpass one-time-password devices", entropy),
            code_keys: (code_key(keys.first()), keys.others().iter().map(code_key).collect()),
            key_ids: keys.iter().map(key_id).collect(),
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

    /// The digest of a new recovery code, which is stored in its place.
    pub(crate) fn code_digest(&self, code: &RecoveryCode, owner: &EmployeeKey) -> Digest {
        code.digest(self.code_keys.0.bytes(), owner)
    }

    /// The digests that may be stored for a recovery code: one for each key.
    pub(crate) fn code_digests(&self, code: &RecoveryCode, owner: &EmployeeKey) -> Vec<Digest> {
        let (first, others) = &self.code_keys;
        std::iter::once(first).chain(others).map(|key| code.digest(key.bytes(), owner)).collect()
    }

    /// A device's secret, sealed for its agent.
    pub(crate) fn seal_seed(&self, seed: &TotpSecret, owner: &EmployeeKey) -> Result<String, Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.seeds.close(&seal_context(owner), seed.bytes())?))
    }

    /// The secret of a device, opened for its agent.
    pub(crate) fn unseal_seed(&self, closed: &str, owner: &EmployeeKey) -> Result<TotpSecret, Error> {
        let seed = self.open_seed(closed, owner).and_then(|(_, seed)| seed.try_into().ok());
        Ok(seed.map(TotpSecret::from_bytes).ok_or(InternalError::UnsealFailed)?)
    }

    /// The name of the key that a device's secret is sealed with; `None` when no key opens it.
    pub(crate) fn key_of_seed(&self, closed: &str, owner: &EmployeeKey) -> Option<&str> {
        let (place, _) = self.open_seed(closed, owner)?;
        self.key_ids.get(place).map(|id| &**id)
    }

    /// The name of the key that a password was hashed with, if there is such a key.
    pub(crate) fn key_of_password(&self, stored: &str) -> Option<&str> {
        let id = self.hasher.key_of(stored)?;
        self.key_ids.iter().map(|id| &**id).find(|known| *known == id)
    }

    /// The name of the key that protects.
    pub(crate) fn first_key(&self) -> Option<&str> {
        self.key_ids.first().map(|id| &**id)
    }

    fn open_seed(&self, closed: &str, owner: &EmployeeKey) -> Option<(usize, Vec<u8>)> {
        self.seeds.open_by(&seal_context(owner), &URL_SAFE_NO_PAD.decode(closed).ok()?)
    }
}

fn seal_context(owner: &EmployeeKey) -> String {
    // Neither part can contain a slash.
    format!("{}/{}", owner.corp(), owner.id())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// A vault with these keys, of data whose first key was the last of them.
    fn vault(first: u8, others: &[u8]) -> CredentialVault {
        let keys = EncryptionKeys::new([first; 32], others.iter().map(|key| [*key; 32]));
        let known = KnownKeys { retired: Vec::new(), unnamed: [*others.last().unwrap_or(&first); 32] };
        CredentialVault::new(&keys, &known, Entropy::system()).unwrap()
    }

    #[test]
    fn a_seed_opens_for_its_agent_and_under_its_key_alone() {
        let credential_vault = vault(1, &[]);
        let (one, other) = (EmployeeKey::from_parts("ww", "one"), EmployeeKey::from_parts("ww", "other"));
        let seed = TotpSecret::generate(&Entropy::system()).unwrap();
        let closed = credential_vault.seal_seed(&seed, &one).unwrap();
        assert_eq!(credential_vault.unseal_seed(&closed, &one).unwrap().bytes(), seed.bytes());
        assert!(credential_vault.unseal_seed(&closed, &other).is_err(), "moved to another agent's row");
        assert!(vault(2, &[]).unseal_seed(&closed, &one).is_err(), "another key");
        assert!(!closed.contains(&seed.base32()));
        assert_ne!(closed, credential_vault.seal_seed(&seed, &one).unwrap());
    }

    #[test]
    fn a_code_digest_depends_on_owner_and_key() {
        let credential_vault = vault(1, &[]);
        let (one, other) = (EmployeeKey::from_parts("ww", "one"), EmployeeKey::from_parts("ww", "other"));
        let code = RecoveryCode::generate(&Entropy::system()).unwrap();
        assert_eq!(credential_vault.code_digest(&code, &one), credential_vault.code_digest(&code, &one));
        assert_ne!(credential_vault.code_digest(&code, &one), credential_vault.code_digest(&code, &other));
        assert_ne!(credential_vault.code_digest(&code, &one), vault(2, &[]).code_digest(&code, &one));
    }

    #[test]
    fn what_an_older_key_protected_stays_valid() {
        let (old, new, one) = (vault(1, &[]), vault(2, &[1]), EmployeeKey::from_parts("ww", "one"));
        let (seed, code) =
            (TotpSecret::generate(&Entropy::system()).unwrap(), RecoveryCode::generate(&Entropy::system()).unwrap());
        let [before, after] = [&old, &new].map(|vault| vault.seal_seed(&seed, &one).unwrap());
        for closed in [&before, &after] {
            assert_eq!(new.unseal_seed(closed, &one).unwrap().bytes(), seed.bytes());
        }
        assert_eq!(new.key_of_seed(&before, &one), old.first_key());
        assert_eq!(new.key_of_seed(&after, &one), new.first_key());
        assert!(old.unseal_seed(&after, &one).is_err() && old.key_of_seed(&after, &one).is_none());
        let digests = new.code_digests(&code, &one);
        assert_eq!(digests, [new.code_digest(&code, &one), old.code_digest(&code, &one)]);
    }
}
