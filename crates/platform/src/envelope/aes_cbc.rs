//! AES-256 in CBC mode with the padding of PKCS#7.
//!
//! The mode is written here on top of the block cipher: platforms pad to 32 bytes, which is more than a block of AES, and no
//! library of modes supports that. The mode authenticates nothing, so a signature must be checked before anything is decrypted.

use aes::cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};
use aes::{Aes256, Block};

const BLOCK_BYTES: usize = 16;

/// A key.
pub type Key = [u8; 32];

/// The value that the first block is combined with.
pub type InitializationVector = [u8; BLOCK_BYTES];

/// The length of which a padded text is a multiple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// A block of AES.
    To16,
    /// Two blocks of AES.
    To32,
}

impl Padding {
    const fn bytes(self) -> u8 {
        match self {
            Self::To16 => 16,
            Self::To32 => 32,
        }
    }

    /// The padded text. Padding is at least one byte: a full text gets a whole unit of it.
    fn add(self, text: &[u8]) -> Vec<u8> {
        let unit = usize::from(self.bytes());
        let count = unit - text.len() % unit;
        let byte = u8::try_from(count).unwrap_or(self.bytes());
        let mut padded = Vec::with_capacity(text.len() + count);
        padded.extend_from_slice(text);
        padded.resize(text.len() + count, byte);
        padded
    }

    /// The text without its padding, whose last byte is its length; `None` if it is not padding.
    fn remove(self, mut padded: Vec<u8>) -> Option<Vec<u8>> {
        let byte = *padded.last()?;
        let length = padded.len().checked_sub(usize::from(byte))?;
        let is_padding = (1..=self.bytes()).contains(&byte) && padded.iter().skip(length).all(|other| *other == byte);
        padded.truncate(length);
        is_padding.then_some(padded)
    }
}

/// Pads and encrypts a text.
#[must_use]
pub fn encrypt(key: &Key, iv: &InitializationVector, text: &[u8], padding: Padding) -> Vec<u8> {
    let cipher = Aes256::new(key.into());
    let mut bytes = padding.add(text);
    let mut previous = *iv;
    let (blocks, _) = bytes.as_chunks_mut::<BLOCK_BYTES>();
    for block in blocks {
        for (byte, before) in block.iter_mut().zip(previous) {
            *byte ^= before;
        }
        let mut encrypted = Block::from(*block);
        cipher.encrypt_block(&mut encrypted);
        *block = encrypted.into();
        previous = *block;
    }
    bytes
}

/// Decrypts a text and removes its padding; `None` if these are not whole blocks, or the padding is wrong.
#[must_use]
pub fn decrypt(key: &Key, iv: &InitializationVector, encrypted: &[u8], padding: Padding) -> Option<Vec<u8>> {
    let (blocks, rest) = encrypted.as_chunks::<BLOCK_BYTES>();
    if !rest.is_empty() {
        return None;
    }
    let cipher = Aes256::new(key.into());
    let mut text = Vec::with_capacity(encrypted.len());
    let mut previous = *iv;
    for block in blocks {
        let mut decrypted = Block::from(*block);
        cipher.decrypt_block(&mut decrypted);
        text.extend(decrypted.iter().zip(previous).map(|(byte, before)| *byte ^ before));
        previous = *block;
    }
    padding.remove(text)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use data_encoding::HEXLOWER;
    use proptest::prelude::*;

    use super::*;

    fn hex<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
        HEXLOWER.decode(text.as_bytes()).unwrap().try_into().unwrap()
    }

    /// The first two blocks of the example in NIST SP 800-38A, F.2.5.
    #[test]
    fn the_published_example_is_encrypted_as_published() {
        let key = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
        let iv = hex("000102030405060708090a0b0c0d0e0f");
        let text: [u8; 32] = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        let expected: [u8; 32] = hex("f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d");
        let encrypted = encrypt(&key, &iv, &text, Padding::To32);
        assert!(encrypted.starts_with(&expected));
        assert_eq!(decrypt(&key, &iv, &encrypted, Padding::To32), Some(text.to_vec()));
    }

    #[test]
    fn padding_is_as_long_as_it_says_and_at_most_one_unit() {
        for (padding, unit) in [(Padding::To16, 16_u8), (Padding::To32, 32)] {
            for byte in 0..=255_u8 {
                let mut text = vec![b'x'; 64 - usize::from(byte.min(64))];
                text.resize(64, byte);
                let expected = (1..=unit).contains(&byte).then(|| vec![b'x'; 64 - usize::from(byte)]);
                assert_eq!(padding.remove(text), expected, "{padding:?} {byte}");
            }
            assert_eq!(padding.remove(vec![3, 2, 3]), None, "one byte differs");
            assert_eq!(padding.remove(vec![5, 5]), None, "longer than the text");
            assert_eq!(padding.remove(Vec::new()), None);
        }
    }

    #[test]
    fn a_full_text_gets_a_whole_unit() {
        assert_eq!(Padding::To32.add(&[7; 32]).len(), 64);
        assert_eq!(Padding::To32.add(&[7; 31]).len(), 32);
        assert_eq!(Padding::To16.add(&[]), [16; 16]);
    }

    proptest! {
        #[test]
        fn what_is_encrypted_can_be_decrypted(
            key: [u8; 32],
            iv: [u8; 16],
            text in prop::collection::vec(any::<u8>(), 0..200),
            wide: bool,
        ) {
            let padding = if wide { Padding::To32 } else { Padding::To16 };
            let encrypted = encrypt(&key, &iv, &text, padding);
            prop_assert!(encrypted.len().is_multiple_of(usize::from(padding.bytes())));
            prop_assert_eq!(decrypt(&key, &iv, &encrypted, padding), Some(text));
        }

        #[test]
        fn arbitrary_bytes_do_no_harm(key: [u8; 32], iv: [u8; 16], bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = decrypt(&key, &iv, &bytes, Padding::To32);
            prop_assert!(text.is_none() || bytes.len().is_multiple_of(BLOCK_BYTES));
        }
    }
}
