//! The keys that passwords are hashed with. A hash names its key, so that checking it takes one hash, however many keys there are.

use std::sync::{Arc, PoisonError, RwLock};

use deskpass_core::{Digest, EmployeeKey, EncryptionKeys, KeyBytes, key_id, opaque_debug};

/// The keys of the password hashes.
pub(crate) struct PasswordKeys {
    /// The key of new hashes.
    first: PasswordKey,
    others: Vec<PasswordKey>,
    /// The name of the key of hashes that name none.
    unnamed: String,
    /// Whether the key was ever replaced.
    is_named: bool,
}

struct PasswordKey {
    id: String,
    key: Digest,
}

impl PasswordKey {
    fn new(key: &KeyBytes) -> Self {
        Self { id: key_id(key), key: Digest::of(&[b"deskpass passwords", key]) }
    }

    /// Derived from the key and the owner: a hash that is moved to another agent's record matches nothing.
    fn of(&self, owner: &EmployeeKey) -> Digest {
        Digest::of(&[self.key.bytes(), owner.corp().as_bytes(), owner.id().as_bytes()])
    }
}

impl PasswordKeys {
    /// The keys, the one of new hashes first; `unnamed` is the name of the key of hashes that name none, and `is_named` whether the
    /// key was ever replaced.
    pub(crate) fn new(keys: &EncryptionKeys, unnamed: &str, is_named: bool) -> Self {
        let others = keys.others().iter().map(PasswordKey::new).collect();
        Self { first: PasswordKey::new(keys.first()), others, unnamed: unnamed.to_owned(), is_named }
    }

    /// The key for a new hash.
    pub(crate) fn new_hash(&self, owner: &EmployeeKey) -> Digest {
        self.first.of(owner)
    }

    /// The name for a new hash. A key that was never replaced is not named: nodes of the previous version read such hashes only.
    pub(crate) fn new_name(&self) -> Option<&str> {
        let is_unnamed = !self.is_named && self.unnamed == self.first.id;
        (!is_unnamed).then_some(&self.first.id)
    }

    /// The key of a hash with this name; `None` when there is no such key any more.
    pub(crate) fn named(&self, name: Option<&str>, owner: &EmployeeKey) -> Option<Digest> {
        let name = self.id_of(name);
        let mut keys = std::iter::once(&self.first).chain(&self.others);
        keys.find(|key| key.id == name).map(|key| key.of(owner))
    }

    /// Whether a hash with this name was made with the key of new hashes.
    pub(crate) fn is_first(&self, name: Option<&str>) -> bool {
        self.id_of(name) == self.first.id
    }

    /// The name of the key of a hash with this name.
    pub(crate) fn id_of<'a>(&'a self, name: Option<&'a str>) -> &'a str {
        name.unwrap_or(&self.unnamed)
    }
}

/// The keys, replaced as a whole when the data moves to another key.
pub(crate) struct SharedPasswordKeys(RwLock<Arc<PasswordKeys>>);

impl SharedPasswordKeys {
    pub(crate) fn new(keys: PasswordKeys) -> Self {
        Self(RwLock::new(Arc::new(keys)))
    }

    pub(crate) fn get(&self) -> Arc<PasswordKeys> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set(&self, keys: PasswordKeys) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }
}

opaque_debug!(PasswordKeys, SharedPasswordKeys);
