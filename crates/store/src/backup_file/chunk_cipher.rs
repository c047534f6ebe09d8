//! Seals the chunks of an encrypted backup.

use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use sha2::{Digest as _, Sha256};

use super::BackupFileError;

const NONCE_BYTES: usize = 24;
/// The bytes of a nonce that stay zero. Each file has a key of its own, so numbers do not repeat under a key.
const NONCE_PREFIX_BYTES: usize = 8;

/// Seals or opens the chunks of one file, in order.
pub(super) struct ChunkCipher {
    cipher: XChaCha20Poly1305,
    /// The SHA-256 of the header, which every chunk authenticates.
    header: [u8; 32],
    next: u64,
}

impl ChunkCipher {
    pub(super) fn new(key: &[u8; 32], header: &str) -> Self {
        let mut hash = Sha256::new();
        hash.update(header.as_bytes());
        Self { cipher: XChaCha20Poly1305::new(&Key::from(*key)), header: hash.finalize().into(), next: 0 }
    }

    /// Seals the next chunk.
    pub(super) fn close(&mut self, chunk: &[u8], is_last: bool) -> Result<Vec<u8>, BackupFileError> {
        let nonce = self.advance(is_last);
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), Payload { msg: chunk, aad: &self.header });
        sealed.map_err(|_| BackupFileError::Damaged)
    }

    /// Opens the next chunk.
    pub(super) fn open(&mut self, chunk: &[u8], is_last: bool) -> Result<Vec<u8>, BackupFileError> {
        let is_first = self.next == 0;
        let nonce = self.advance(is_last);
        let opened = self.cipher.decrypt(&XNonce::from(nonce), Payload { msg: chunk, aad: &self.header });
        opened.map_err(|_| if is_first { BackupFileError::WrongPassword } else { BackupFileError::Damaged })
    }

    /// The nonce of the next chunk: its number, and whether it is the last.
    fn advance(&mut self, is_last: bool) -> [u8; NONCE_BYTES] {
        let number = (u128::from(self.next) << 1) | u128::from(is_last);
        self.next = self.next.wrapping_add(1);
        let mut nonce = [0; NONCE_BYTES];
        for (to, from) in nonce.iter_mut().skip(NONCE_PREFIX_BYTES).zip(number.to_be_bytes()) {
            *to = from;
        }
        nonce
    }
}
