//! RFC 4648 base 32 without padding: the encoding of secrets that people type. Too little code to need a crate.

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Encodes bytes as upper-case text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    bytes.chunks(5).flat_map(letters).collect()
}

/// Encodes up to five bytes (40 bits); missing bits of the last letter are zero.
fn letters(chunk: &[u8]) -> impl Iterator<Item = char> + use<> {
    let bits = chunk.iter().chain([0; 5].iter()).take(5).fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    let count = (chunk.len() * 8).div_ceil(5);
    (0..8).rev().map(move |at| letter(bits >> (at * 5))).take(count)
}

fn letter(bits: u64) -> char {
    let at = usize::try_from(bits & 31).unwrap_or(0);
    ALPHABET.get(at).copied().map_or('A', char::from)
}

/// Decodes letters of either case into exactly `LENGTH` bytes. `LENGTH` is a multiple of five.
pub(crate) fn decode<const LENGTH: usize>(letters: impl Iterator<Item = char>) -> Option<[u8; LENGTH]> {
    let values = letters.map(value).collect::<Option<Vec<_>>>()?;
    let (groups, rest) = values.as_chunks::<8>();
    let bytes: Vec<u8> = groups.iter().copied().flat_map(bytes).collect();
    rest.is_empty().then(|| bytes.try_into().ok()).flatten()
}

/// Decodes eight letters into five bytes.
fn bytes(group: [u8; 8]) -> impl Iterator<Item = u8> + use<> {
    let bits = group.iter().fold(0u64, |bits, value| bits << 5 | u64::from(*value));
    bits.to_be_bytes().into_iter().skip(3)
}

/// The value of a letter, in either case.
fn value(letter: char) -> Option<u8> {
    let letter = u8::try_from(letter).ok()?.to_ascii_uppercase();
    ALPHABET.iter().position(|known| *known == letter).and_then(|at| u8::try_from(at).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        let examples = ["MY", "MZXQ", "MZXW6", "MZXW6YQ", "MZXW6YTB", "MZXW6YTBOI"];
        for (length, text) in (1..).zip(examples) {
            assert_eq!(b"foobar".get(..length).map(encode).as_deref(), Some(text));
        }
        assert_eq!(encode(b""), "");
    }

    #[test]
    fn encoded_text_decodes_and_other_lengths_are_refused() {
        let read = |text: &str| decode::<10>(text.chars());
        assert_eq!(read("MZXW6YTBOJTG633C"), Some(*b"foobarfoob"));
        assert_eq!(read("mzxw6ytbOJTG633C"), Some(*b"foobarfoob"));
        for other in
            ["", "MZXW6YTB", "MZXW6YTBOJTG633", "MZXW6YTBOJTG633CA", "MZXW6YTBOJTG633CAAAAAAAA", "MZXW6YTBOJTG633="]
        {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn every_letter_has_its_value_in_either_case() {
        for (number, byte) in (0u8..).zip(ALPHABET) {
            assert_eq!(value(char::from(*byte)), Some(number));
            assert_eq!(value(char::from(byte.to_ascii_lowercase())), Some(number));
        }
        for other in ['0', '1', '8', '9', '=', '-', ' ', 'é', 'Ａ', '\u{17f}', '\u{212a}', '\u{141}'] {
            assert_eq!(value(other), None, "{other}");
        }
    }
}
