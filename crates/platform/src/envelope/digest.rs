//! The digests that sign events.

use data_encoding::HEXLOWER;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The SHA-1 of the joined parts, in lower-case hexadecimal digits. Weak, but it is what platforms sign with.
#[must_use]
pub fn sha1_hex(parts: &[&[u8]]) -> String {
    let mut hash = Sha1::new();
    for part in parts {
        hash.update(part);
    }
    HEXLOWER.encode(&hash.finalize())
}

/// The SHA-256 of the joined parts, in lower-case hexadecimal digits.
#[must_use]
pub fn sha256_hex(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    HEXLOWER.encode(&hash.finalize())
}

/// The SHA-256 of a text.
#[must_use]
pub fn sha256(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// Whether two texts are equal. The time that the comparison takes does not depend on where they differ.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        assert_eq!(sha1_hex(&[b"a", b"bc"]), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(&[b"ab", b"c"]), expected);
        assert_eq!(HEXLOWER.encode(&sha256("abc")), expected);
    }

    #[test]
    fn only_equal_texts_are_the_same() {
        assert!(is_same("abc", "abc") && is_same("", ""));
        assert!(!is_same("abc", "abd") && !is_same("abc", "ab") && !is_same("", "a"));
    }
}
