//! The keys of the setting `encryption_key`: the first encrypts, all decrypt.

use crate::{Digest, opaque_debug};

/// The bytes of one key.
pub type KeyBytes = [u8; 32];

/// One key or several, newest first.
#[derive(Clone, PartialEq, Eq)]
pub struct EncryptionKeys {
    first: KeyBytes,
    others: Vec<KeyBytes>,
}

impl EncryptionKeys {
    /// A key that encrypts, and others that only decrypt. A key that is given twice counts once.
    #[must_use]
    pub fn new(first: KeyBytes, others: impl IntoIterator<Item = KeyBytes>) -> Self {
        let mut keys = Self::one(first);
        for key in others {
            if !keys.contains(&key) {
                keys.others.push(key);
            }
        }
        keys
    }

    /// A single key.
    #[must_use]
    pub const fn one(key: KeyBytes) -> Self {
        Self { first: key, others: Vec::new() }
    }

    /// The key that encrypts.
    #[must_use]
    pub const fn first(&self) -> &KeyBytes {
        &self.first
    }

    /// The keys that only decrypt.
    #[must_use]
    pub fn others(&self) -> &[KeyBytes] {
        &self.others
    }

    /// All keys, the one that encrypts first.
    pub fn iter(&self) -> impl Iterator<Item = &KeyBytes> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// These keys, and more that only decrypt.
    #[must_use]
    pub fn with_older(&self, older: impl IntoIterator<Item = KeyBytes>) -> Self {
        Self::new(self.first, self.others.iter().copied().chain(older))
    }

    fn contains(&self, key: &KeyBytes) -> bool {
        self.iter().any(|known| known == key)
    }
}

opaque_debug!(EncryptionKeys);

/// The name of a key, by which records tell what they were made with. It tells nothing about the key, which is random.
#[must_use]
pub fn key_id(key: &KeyBytes) -> String {
    let [a, b, c, d, ..] = *Digest::of(&[b"deskpass key id", key]).bytes();
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_counts_once_and_the_first_stays_first() {
        let keys = EncryptionKeys::new([1; 32], [[2; 32], [1; 32], [2; 32]]);
        assert_eq!(keys.iter().collect::<Vec<_>>(), [&[1; 32], &[2; 32]]);
        let more = keys.with_older([[3; 32], [1; 32]]);
        assert_eq!((more.first(), more.others()), (&[1; 32], &[[2; 32], [3; 32]][..]));
        assert_eq!(format!("{more:?}"), "EncryptionKeys");
    }

    #[test]
    fn a_name_is_short_and_of_one_key() {
        assert_eq!(key_id(&[1; 32]).len(), 8);
        assert_eq!(key_id(&[1; 32]), key_id(&[1; 32]));
        assert_ne!(key_id(&[1; 32]), key_id(&[2; 32]));
    }
}
