//! Bytes as text.

use std::fmt::Write as _;

/// Writes bytes as lowercase hexadecimal digits.
pub(super) fn hexadecimal<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_in_hexadecimal() {
        assert_eq!(hexadecimal(&[0, 15, 16, 255]), "000f10ff");
    }
}
