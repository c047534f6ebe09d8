//! Seals records that are kept in places that others can read or write: only the key opens or makes them.

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use deskpass_core::{Digest, EncryptionKeys, Entropy, KeyBytes, NoEntropy};

const NONCE: usize = 24;

/// Seals records with the first key, and opens those of all keys.
pub struct Seal {
    first: XChaCha20Poly1305,
    others: Vec<XChaCha20Poly1305>,
    entropy: Entropy,
}

/// Why a record could not be sealed.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SealError {
    /// There are no random bytes.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// The record is too long.
    #[error("a record is too long to be sealed")]
    TooLong,
}

impl Seal {
    /// Derives a seal for a purpose.
    #[must_use]
    pub fn new(keys: &EncryptionKeys, purpose: &str, entropy: Entropy) -> Self {
        let cipher = |key: &KeyBytes| {
            let key = Digest::of(&[purpose.as_bytes(), key]);
            XChaCha20Poly1305::new(&Key::from(*key.bytes()))
        };
        Self { first: cipher(keys.first()), others: keys.others().iter().map(cipher).collect(), entropy }
    }

    /// Seals a record under its name: it opens under no other name.
    pub fn close(&self, name: &str, bytes: &[u8]) -> Result<Vec<u8>, SealError> {
        let nonce: [u8; NONCE] = self.entropy.bytes()?;
        let payload = Payload { msg: bytes, aad: name.as_bytes() };
        let closed = self.first.encrypt(&XNonce::from(nonce), payload).map_err(|_| SealError::TooLong)?;
        Ok([nonce.as_slice(), &closed].concat())
    }

    /// Opens a record that was sealed under this name; `None` for anything else.
    #[must_use]
    pub fn open(&self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        self.open_by(name, bytes).map(|(_, text)| text)
    }

    /// Opens a record like [`Self::open`], and returns the place of its key among the keys.
    #[must_use]
    pub fn open_by(&self, name: &str, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        let (nonce, closed) = bytes.split_first_chunk::<NONCE>()?;
        let open = |cipher: &XChaCha20Poly1305| {
            cipher.decrypt(&XNonce::from(*nonce), Payload { msg: closed, aad: name.as_bytes() }).ok()
        };
        let ciphers = std::iter::once(&self.first).chain(&self.others);
        ciphers.enumerate().find_map(|(place, cipher)| Some((place, open(cipher)?)))
    }
}

debug_only!(Seal);

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn seal(key: u8, purpose: &str) -> Seal {
        Seal::new(&EncryptionKeys::one([key; 32]), purpose, Entropy::system())
    }

    #[test]
    fn a_value_opens_only_under_its_name_key_and_purpose() {
        let ours = seal(7, "tests");
        let closed = ours.close("a", b"text").unwrap();
        assert_eq!(ours.open("a", &closed).as_deref(), Some(b"text".as_slice()));
        assert_eq!(ours.open("b", &closed), None);
        assert_eq!(seal(8, "tests").open("a", &closed), None);
        assert_eq!(seal(7, "other tests").open("a", &closed), None);
        for at in 0..closed.len() {
            let changed: Vec<u8> =
                closed.iter().enumerate().map(|(here, byte)| if here == at { byte ^ 1 } else { *byte }).collect();
            assert_eq!(ours.open("a", &changed), None, "changed at {at}");
            assert_eq!(ours.open("a", closed.get(..at).unwrap()), None, "cut at {at}");
        }
        assert_ne!(ours.close("a", b"text").unwrap(), closed, "nothing shows that two records are alike");
    }

    #[test]
    fn the_first_key_seals_and_all_keys_open() {
        let [old, new] = [7, 8].map(|key| seal(key, "tests"));
        let both = Seal::new(&EncryptionKeys::new([8; 32], [[7; 32]]), "tests", Entropy::system());
        let closed = old.close("a", b"text").unwrap();
        assert_eq!(both.open_by("a", &closed), Some((1, b"text".to_vec())));
        let closed = both.close("a", b"text").unwrap();
        assert_eq!(both.open_by("a", &closed), Some((0, b"text".to_vec())));
        assert!(new.open("a", &closed).is_some() && old.open("a", &closed).is_none());
    }

    #[test]
    fn sealing_fails_without_random_bytes() {
        let dry = Seal::new(&EncryptionKeys::one([7; 32]), "tests", Entropy::from_fn(|_| Err(NoEntropy)));
        assert_eq!(dry.close("a", b"text"), Err(SealError::NoEntropy(NoEntropy)));
    }

    /// Nodes of the previous version seal with the key that this derivation makes.
    #[test]
    fn values_sealed_by_the_previous_version_open() {
        let key = Digest::of(&[b"deskpass shared store", &[7; 32]]);
        let cipher = XChaCha20Poly1305::new(&Key::from(*key.bytes()));
        let closed = cipher.encrypt(&XNonce::from([1; NONCE]), Payload { msg: b"text", aad: b"a" }).unwrap();
        let record = [[1; NONCE].as_slice(), &closed].concat();
        assert_eq!(seal(7, "deskpass shared store").open("a", &record).as_deref(), Some(b"text".as_slice()));
    }
}
