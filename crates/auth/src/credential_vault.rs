//! The protection of agents' secrets, with keys that are not stored in the database.

use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::oidc::SigningAlgorithm;
use deskpass_core::{Digest, EmployeeKey, EncryptionKeys, Entropy, KeyBytes, RecoveryCode, TotpSecret, key_id};
use deskpass_store::{KnownKeys, Seal};

use crate::hash_queue::{HashQueueState, Priority};
use crate::password_hasher::{HashSlot, PasswordHasher};
use crate::password_keys::PasswordKeys;
use crate::{Error, InternalError, Refusal};

/// Hashes passwords, seals device secrets and signing keys, and digests recovery codes. A stolen database is useless without its key.
#[derive(Debug)]
pub struct CredentialVault {
    hasher: PasswordHasher,
    /// The keys of the settings.
    configured: EncryptionKeys,
    entropy: Entropy,
    /// Replaced as a whole when the data moves to another key.
    keys: RwLock<Arc<VaultKeys>>,
}

/// What is derived from the keys, the one that the data uses now first.
#[derive(Debug)]
struct VaultKeys {
    known: KnownKeys,
    seeds: Seal,
    /// How many of the keys open the secret of a device at a sign-in: the current one and those of the settings. With the others,
    /// which were replaced, it can only be moved to the current key.
    accepted: usize,
    /// The keys for digests of recovery codes: the one for new digests, and others.
    code_keys: (Digest, Vec<Digest>),
    /// Seals the keys that sign ID tokens.
    signing_keys: Seal,
    /// The keys that tokens of OpenID Connect clients are derived with: the one for new tokens, and others.
    oidc_token_keys: (Digest, Vec<Digest>),
    /// The key of the identifiers by which OpenID Connect clients know a session.
    sid_key: Digest,
    /// The names of all keys, in the order of those of `seeds` and `signing_keys`.
    ids: Vec<String>,
}

impl VaultKeys {
    fn new(all: &EncryptionKeys, accepted: usize, known: KnownKeys, entropy: Entropy) -> Self {
        let code_key = |key: &KeyBytes| Digest::of(&[b"deskpass spare codes", key]);
        let token_key = |key: &KeyBytes| Digest::of(&[b"deskpass oidc tokens", key]);
        Self {
            known,
            seeds: Seal::new(all, "deskpass one-time-password devices", entropy),
            accepted,
            code_keys: (code_key(all.first()), all.others().iter().map(code_key).collect()),
            signing_keys: Seal::new(all, "deskpass signing keys", entropy),
            oidc_token_keys: (token_key(all.first()), all.others().iter().map(token_key).collect()),
            sid_key: Digest::of(&[b"deskpass oidc session ids", all.first()]),
            ids: all.iter().map(key_id).collect(),
        }
    }

    fn open_seed(&self, closed: &str, owner: &EmployeeKey) -> Option<(usize, Vec<u8>)> {
        self.seeds.open_by(&seal_context(owner), &URL_SAFE_NO_PAD.decode(closed).ok()?)
    }

    fn close_seed(&self, seed: &[u8], owner: &EmployeeKey) -> Result<String, Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.seeds.close(&seal_context(owner), seed)?))
    }

    fn open_signing_key(&self, closed: &str, name: SigningKeyName<'_>) -> Option<(usize, Vec<u8>)> {
        self.signing_keys.open_by(&name.seal_context(), &URL_SAFE_NO_PAD.decode(closed).ok()?)
    }

    fn close_signing_key(&self, key: &[u8], name: SigningKeyName<'_>) -> Result<String, Error> {
        Ok(URL_SAFE_NO_PAD.encode(self.signing_keys.close(&name.seal_context(), key)?))
    }
}

/// What a signing key is sealed under: moved to the row of another key or algorithm, it does not open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SigningKeyName<'a> {
    pub(crate) kid: &'a str,
    pub(crate) algorithm: SigningAlgorithm,
}

impl SigningKeyName<'_> {
    fn seal_context(self) -> String {
        format!("{}/{}", self.kid, self.algorithm.name())
    }
}

/// The keys of the settings, the one that the data uses now first, whatever the order in the settings, and how many they are; then
/// those that were replaced.
fn all_keys(configured: &EncryptionKeys, known: &KnownKeys) -> (EncryptionKeys, usize) {
    let valid = configured.iter().filter(|key| !known.forgotten.contains(&key_id(key)));
    let accepted = EncryptionKeys::new(known.current, valid.copied());
    let count = accepted.iter().count();
    (accepted.with_older(known.retired.iter().copied()), count)
}

fn password_keys(all: &EncryptionKeys, known: &KnownKeys) -> PasswordKeys {
    PasswordKeys::new(all, &known.unnamed, known.is_named)
}

impl CredentialVault {
    /// A vault that protects with the key that the data uses now, and accepts what was protected with the other keys of the settings
    /// or with a key that was replaced. Fails if the hashing threads cannot start.
    pub fn new(configured: &EncryptionKeys, known: KnownKeys, entropy: Entropy) -> io::Result<Self> {
        let (all, accepted) = all_keys(configured, &known);
        Ok(Self {
            hasher: PasswordHasher::start(password_keys(&all, &known))?,
            configured: configured.clone(),
            entropy,
            keys: RwLock::new(Arc::new(VaultKeys::new(&all, accepted, known, entropy))),
        })
    }

    /// Takes over which key the data uses now, and which were replaced or forgotten.
    pub(crate) fn follow(&self, known: KnownKeys) {
        if self.keys().known == known {
            return;
        }
        let (all, accepted) = all_keys(&self.configured, &known);
        self.hasher.set_keys(password_keys(&all, &known));
        let keys = Arc::new(VaultKeys::new(&all, accepted, known, self.entropy));
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    fn keys(&self) -> Arc<VaultKeys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A slot in the queue of the password hasher.
    pub(crate) fn reserve(&self, priority: Priority, owner: &EmployeeKey) -> Result<HashSlot, Refusal> {
        self.hasher.reserve(priority, owner).ok_or(Refusal::Busy)
    }

    /// Refuses an anonymous request while the queue of the password hasher is full.
    pub(crate) fn require_anonymous_slot(&self) -> Result<(), Refusal> {
        if self.hasher.rejects_anonymous() { Err(Refusal::Busy) } else { Ok(()) }
    }

    /// The state of the queue of the password hasher.
    #[must_use]
    pub fn hash_queue(&self) -> HashQueueState {
        self.hasher.state()
    }

    /// The digest of a new recovery code, which is stored in its place.
    pub(crate) fn code_digest(&self, code: &RecoveryCode, owner: &EmployeeKey) -> Digest {
        code.digest(self.keys().code_keys.0.bytes(), owner)
    }

    /// The digests that may be stored for a recovery code: one for each key.
    pub(crate) fn code_digests(&self, code: &RecoveryCode, owner: &EmployeeKey) -> Vec<Digest> {
        let keys = self.keys();
        let (first, others) = &keys.code_keys;
        std::iter::once(first).chain(others).map(|key| code.digest(key.bytes(), owner)).collect()
    }

    /// A device's secret, sealed for its agent.
    pub(crate) fn seal_seed(&self, seed: &TotpSecret, owner: &EmployeeKey) -> Result<String, Error> {
        self.keys().close_seed(seed.bytes(), owner)
    }

    /// The secret of a device, opened for its agent. Refused if it is sealed with a key that was replaced and is not in the settings:
    /// the devices were moved before that key was removed, so this one may come from an attacker who has the old key.
    pub(crate) fn unseal_seed(&self, closed: &str, owner: &EmployeeKey) -> Result<TotpSecret, Error> {
        let keys = self.keys();
        let opened = keys.open_seed(closed, owner);
        if opened.as_ref().is_some_and(|(place, _)| *place >= keys.accepted) {
            tracing::error!(
                employee = %owner,
                "an authenticator is encrypted with a key that was replaced and is not in encryption_key: if `deskpass \
                 key rotate` was stopped, run it again; otherwise find out who can write to the database, and reset it"
            );
            return Err(InternalError::UnsealFailed.into());
        }
        let seed = opened.and_then(|(_, seed)| seed.try_into().ok());
        Ok(seed.map(TotpSecret::from_bytes).ok_or(InternalError::UnsealFailed)?)
    }

    /// A device's secret, sealed with the current key instead of another one.
    pub(crate) fn reseal_seed(&self, closed: &str, owner: &EmployeeKey) -> Result<String, Error> {
        let keys = self.keys();
        let (_, seed) = keys.open_seed(closed, owner).ok_or(InternalError::UnsealFailed)?;
        keys.close_seed(&seed, owner)
    }

    /// The name of the key that a device's secret is sealed with; `None` when no key opens it.
    pub(crate) fn key_of_seed(&self, closed: &str, owner: &EmployeeKey) -> Option<String> {
        let keys = self.keys();
        let (place, _) = keys.open_seed(closed, owner)?;
        keys.ids.get(place).cloned()
    }

    /// A private signing key, sealed for its row.
    pub(crate) fn seal_signing_key(&self, key: &[u8], name: SigningKeyName<'_>) -> Result<String, Error> {
        self.keys().close_signing_key(key, name)
    }

    /// A private signing key, opened for its row. Refused like the secret of a device if it is sealed with a key that was replaced and
    /// is not in the settings: an attacker who has the old key must not choose what signs.
    pub(crate) fn unseal_signing_key(&self, closed: &str, name: SigningKeyName<'_>) -> Result<Vec<u8>, Error> {
        let keys = self.keys();
        match keys.open_signing_key(closed, name) {
            Some((place, key)) if place < keys.accepted => Ok(key),
            Some(_) => Err(InternalError::SigningKey("it is encrypted with a key that was replaced").into()),
            None => Err(InternalError::SigningKey("no key in encryption_key opens it").into()),
        }
    }

    /// A private signing key, sealed with the current key instead of another one.
    pub(crate) fn reseal_signing_key(&self, closed: &str, name: SigningKeyName<'_>) -> Result<String, Error> {
        let keys = self.keys();
        let (_, key) = keys
            .open_signing_key(closed, name)
            .ok_or(InternalError::SigningKey("no key in encryption_key opens it"))?;
        keys.close_signing_key(&key, name)
    }

    /// The name of the key that a signing key is sealed with; `None` when no key opens it.
    pub(crate) fn key_of_signing_key(&self, closed: &str, name: SigningKeyName<'_>) -> Option<String> {
        let keys = self.keys();
        let (place, _) = keys.open_signing_key(closed, name)?;
        keys.ids.get(place).cloned()
    }

    /// The key that new tokens of OpenID Connect clients are derived with. It changes with the encryption key.
    pub(crate) fn oidc_token_key(&self) -> [u8; 32] {
        *self.keys().oidc_token_keys.0.bytes()
    }

    /// The keys that such tokens may have been derived with, the one for new tokens first.
    pub(crate) fn oidc_token_keys(&self) -> Vec<[u8; 32]> {
        let keys = self.keys();
        let (first, others) = &keys.oidc_token_keys;
        std::iter::once(first).chain(others).map(|key| *key.bytes()).collect()
    }

    /// The key of the identifiers by which OpenID Connect clients know a session. It changes with the encryption key: those in use
    /// are stored with their grants.
    pub(crate) fn sid_key(&self) -> [u8; 32] {
        *self.keys().sid_key.bytes()
    }

    /// The name of the key that a password was hashed with, if there is or was such a key.
    pub(crate) fn key_of_password(&self, stored: &str) -> Option<String> {
        let (id, keys) = (self.hasher.key_of(stored)?, self.keys());
        let is_known = keys.ids.contains(&id) || keys.known.forgotten.contains(&id);
        is_known.then_some(id)
    }

    /// The name of the key that protects.
    pub(crate) fn current_key(&self) -> Option<String> {
        self.keys().ids.first().cloned()
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

    /// Data that uses the first of these keys, after it has replaced the others.
    fn known(current: u8, retired: &[u8]) -> KnownKeys {
        let unnamed = key_id(&[*retired.last().unwrap_or(&current); 32]);
        let (retired, is_named) = (retired.iter().map(|key| [*key; 32]).collect(), !retired.is_empty());
        KnownKeys { current: [current; 32], retired, forgotten: Vec::new(), unnamed, is_named }
    }

    /// A vault with these keys, of data that uses the first of them.
    fn vault(first: u8, others: &[u8]) -> CredentialVault {
        let keys = EncryptionKeys::new([first; 32], others.iter().map(|key| [*key; 32]));
        CredentialVault::new(&keys, known(first, others), Entropy::system()).unwrap()
    }

    #[test]
    fn the_key_of_the_data_protects_wherever_it_is_in_the_settings() {
        let keys = EncryptionKeys::new([2; 32], [[1; 32]]);
        let both = CredentialVault::new(&keys, known(1, &[]), Entropy::system()).unwrap();
        let (seed, one) = (TotpSecret::generate(&Entropy::system()).unwrap(), EmployeeKey::from_parts("ww", "one"));
        let before = both.seal_seed(&seed, &one).unwrap();
        assert!(vault(1, &[]).unseal_seed(&before, &one).is_ok(), "the settings can still go back to the old key");
        both.follow(known(2, &[1]));
        assert_eq!(both.current_key(), Some(key_id(&[2; 32])));
        let after = both.seal_seed(&seed, &one).unwrap();
        assert!(vault(2, &[]).unseal_seed(&after, &one).is_ok() && both.unseal_seed(&before, &one).is_ok());
    }

    #[test]
    fn a_key_that_was_replaced_opens_a_device_only_to_move_it() {
        let (old, one) = (vault(1, &[]), EmployeeKey::from_parts("ww", "one"));
        let (seed, code) =
            (TotpSecret::generate(&Entropy::system()).unwrap(), RecoveryCode::generate(&Entropy::system()).unwrap());
        let forged = old.seal_seed(&seed, &one).unwrap();
        let new = CredentialVault::new(&EncryptionKeys::one([2; 32]), known(2, &[1]), Entropy::system()).unwrap();
        assert!(new.unseal_seed(&forged, &one).is_err());
        assert_eq!(new.key_of_seed(&forged, &one), old.current_key());
        let moved = new.reseal_seed(&forged, &one).unwrap();
        assert_eq!(new.unseal_seed(&moved, &one).unwrap().bytes(), seed.bytes());
        assert!(new.code_digests(&code, &one).contains(&old.code_digest(&code, &one)));
        let forgotten = vec![key_id(&[1; 32])];
        new.follow(KnownKeys { retired: Vec::new(), forgotten, ..known(2, &[1]) });
        assert!(new.reseal_seed(&forged, &one).is_err());
        assert_eq!(new.code_digests(&code, &one), [new.code_digest(&code, &one)]);
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
    fn a_signing_key_opens_in_its_own_row_only_and_moves_to_a_new_key() {
        let (old, new) = (vault(1, &[]), vault(2, &[1]));
        let name = SigningKeyName { kid: "one", algorithm: SigningAlgorithm::Rs256 };
        let closed = old.seal_signing_key(b"private", name).unwrap();
        assert_eq!(old.unseal_signing_key(&closed, name).unwrap(), b"private");
        for other in
            [SigningKeyName { kid: "two", ..name }, SigningKeyName { algorithm: SigningAlgorithm::Es256, ..name }]
        {
            assert!(old.unseal_signing_key(&closed, other).is_err(), "{other:?}");
        }
        assert_eq!(new.key_of_signing_key(&closed, name), old.current_key());
        let moved = new.reseal_signing_key(&closed, name).unwrap();
        assert_eq!(vault(2, &[]).unseal_signing_key(&moved, name).unwrap(), b"private");
        let replaced = CredentialVault::new(&EncryptionKeys::one([2; 32]), known(2, &[1]), Entropy::system()).unwrap();
        assert!(replaced.unseal_signing_key(&closed, name).is_err(), "sealed with a key that was replaced");
        assert!(replaced.reseal_signing_key(&closed, name).is_ok());
    }

    #[test]
    fn the_keys_of_tokens_and_session_ids_differ_and_depend_on_the_key() {
        let (one, two) = (vault(1, &[]), vault(2, &[1]));
        assert_ne!(one.oidc_token_key(), one.sid_key());
        assert_ne!(one.oidc_token_key(), two.oidc_token_key());
        assert_ne!(one.sid_key(), two.sid_key());
        assert_eq!(two.oidc_token_keys(), [two.oidc_token_key(), one.oidc_token_key()], "given before a replacement");
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
        assert_eq!(new.key_of_seed(&before, &one), old.current_key());
        assert_eq!(new.key_of_seed(&after, &one), new.current_key());
        assert!(old.unseal_seed(&after, &one).is_err() && old.key_of_seed(&after, &one).is_none());
        let digests = new.code_digests(&code, &one);
        assert_eq!(digests, [new.code_digest(&code, &one), old.code_digest(&code, &one)]);
    }
}
