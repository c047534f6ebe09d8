//! Nothing in Redis can be read or made without our key.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use deskpass_core::{Digest, Entropy, Timestamp};

use crate::StoreError;

const NONCE: usize = 24;

/// Between two complaints about records that cannot be read.
const REST: Duration = Duration::from_secs(1);

/// Closes and opens records.
pub(super) struct Seal {
    cipher: XChaCha20Poly1305,
    entropy: Entropy,
}

impl Seal {
    pub(super) fn new(key: &[u8; 32], entropy: Entropy) -> Self {
        let key = Digest::of(&[b"deskpass shared store", key]);
        Self { cipher: XChaCha20Poly1305::new(&Key::from(*key.bytes())), entropy }
    }

    /// Closes a record under its name: it opens under no other.
    pub(super) fn close(&self, name: &str, text: &[u8]) -> Result<Vec<u8>, StoreError> {
        let nonce: [u8; NONCE] = self.entropy.bytes().map_err(|error| StoreError::shared(error.to_string()))?;
        let payload = Payload { msg: text, aad: name.as_bytes() };
        let closed = self.cipher.encrypt(&XNonce::from(nonce), payload);
        let closed = closed.map_err(|_| StoreError::shared("a record is too long to be sealed"))?;
        Ok([nonce.as_slice(), &closed].concat())
    }

    /// What was closed under this name; `None` for anything else.
    pub(super) fn open(&self, name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let (nonce, closed) = bytes.split_first_chunk::<NONCE>()?;
        self.cipher.decrypt(&XNonce::from(*nonce), Payload { msg: closed, aad: name.as_bytes() }).ok()
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

/// When there was a complaint last: whoever has a ticket can give cause for as many as they like.
#[derive(Debug)]
pub(super) struct Complaints(AtomicI64);

impl Complaints {
    pub(super) fn new() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }

    /// Whether it is time for one, which this then is.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        now >= Timestamp::from_millis(last) + REST
            && self.0.compare_exchange(last, now.millis(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_closed_under_this_name_and_key_opens() {
        let seal = Seal::new(&[7; 32], Entropy::system());
        let closed = seal.close("a", b"text").unwrap();
        assert_eq!(seal.open("a", &closed).as_deref(), Some(b"text".as_slice()));
        assert_eq!(seal.open("b", &closed), None);
        assert_eq!(Seal::new(&[8; 32], Entropy::system()).open("a", &closed), None);
        for at in 0..closed.len() {
            let changed: Vec<u8> =
                closed.iter().enumerate().map(|(here, byte)| if here == at { byte ^ 1 } else { *byte }).collect();
            assert_eq!(seal.open("a", &changed), None, "changed at {at}");
            assert_eq!(seal.open("a", closed.get(..at).unwrap()), None, "cut at {at}");
        }
        assert_ne!(seal.close("a", b"text").unwrap(), closed, "nothing shows that two records are alike");
    }

    #[test]
    fn there_is_one_complaint_a_second() {
        let complaints = Complaints::new();
        let due = [0, 0, 999, 1_000, 1_001, 1_999, 9_000].map(|at| complaints.is_due(Timestamp::from_millis(at)));
        assert_eq!(due, [true, false, false, true, false, false, true]);
    }
}
