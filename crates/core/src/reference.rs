//! The reference of a request, by which an operator finds it in the logs.

use std::fmt;

use crate::Digest;

/// The reference of a request: eight hexadecimal digits that a page shows with an error, and that the service log and the
/// audit log have.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reference(u32);

impl Reference {
    /// The number of its digits.
    pub const DIGITS: usize = 8;

    /// The reference with this number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The reference of everything that has this digest.
    #[must_use]
    pub const fn of(digest: &Digest) -> Self {
        let [a, b, c, d, ..] = *digest.bytes();
        Self(u32::from_be_bytes([a, b, c, d]))
    }

    /// Appends its digits to a text.
    pub fn append_to(self, text: &mut String) {
        text.push_str(str::from_utf8(&self.digits()).unwrap_or_default());
    }

    /// Its digits, as it is shown.
    fn digits(self) -> [u8; Self::DIGITS] {
        let Self(mut rest) = self;
        let mut digits = [b'0'; Self::DIGITS];
        for digit in digits.iter_mut().rev() {
            let [value, ..] = (rest % 16).to_le_bytes();
            *digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
            rest /= 16;
        }
        digits
    }

    /// Reads a reference as a user types it, in lower or upper case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == Self::DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(text, 16).ok().filter(|_| digits).map(Self)
    }

    /// Finds the reference in a text that was copied with it, such as `Reference: 1A2B3C4D`, `ref=1a2b3c4d` or a request id.
    /// Letters that look like digits are read as those digits. `None` if there is none, or more than one.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let words = || text.split(|character: char| !character.is_ascii_alphanumeric());
        let similar = |word: &str| Self::parse(&word.replace(['o', 'O'], "0").replace(['l', 'I', 'i'], "1"));
        only(words().filter_map(Self::parse)).or_else(|| only(words().filter_map(similar)))
    }

    /// The references that differ in one digit, or in the order of two neighbours.
    #[must_use]
    pub fn neighbours(self) -> Vec<Self> {
        let digits = self.digits();
        let replaced = (0..Self::DIGITS).flat_map(|place| {
            b"0123456789abcdef".map(|digit| {
                let mut other = digits;
                other.iter_mut().skip(place).take(1).for_each(|old| *old = digit);
                other
            })
        });
        let swapped = (1..Self::DIGITS).map(|place| {
            let mut other = digits;
            other.swap(place - 1, place);
            other
        });
        let read = |digits: [u8; Self::DIGITS]| Self::parse(str::from_utf8(&digits).ok()?);
        let mut found: Vec<_> = replaced.chain(swapped).filter_map(read).filter(|other| *other != self).collect();
        found.sort_unstable_by_key(|Self(number)| *number);
        found.dedup();
        found
    }
}

/// The only value of an iterator, however often it occurs.
fn only(mut values: impl Iterator<Item = Reference>) -> Option<Reference> {
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.digits()).unwrap_or_default())
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_is_shown_and_in_upper_case() {
        for number in [0, 1, 0x1a2b_3c4d, u32::MAX] {
            let shown = Reference::new(number).to_string();
            assert_eq!(shown, format!("{number:08x}"));
            let mut appended = String::new();
            Reference::new(number).append_to(&mut appended);
            assert_eq!(appended, shown);
            assert_eq!(Reference::parse(&shown), Some(Reference::new(number)));
            assert_eq!(Reference::parse(&shown.to_uppercase()), Some(Reference::new(number)));
        }
        for wrong in ["", "1a2b3c4", "1a2b3c4d5", "+1a2b3c4", "1a2b3c4g", "1a2b 3c4", "１２３４５６７８"] {
            assert_eq!(Reference::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_reference_is_found_in_what_was_copied_with_it() {
        let meant = Some(Reference::new(0x1a2b_3c4d));
        for text in [
            "1a2b3c4d",
            " 1A2B3C4D\n",
            "Reference: 1a2b3c4d",
            "Reference 1a2b3c4d",
            "参考编号 1a2b3c4d",
            "参考编号：1a2b3c4d。",
            "ref=1a2b3c4d",
            "(ref 1a2b3c4d)",
            "1a2b3c4d-17",
            "https://desk.example.com/h5/#error=disabled&code=1003&ref=1a2b3c4d",
            "la2b3c4d",
            "1a2b3c4d 1A2B3C4D",
        ] {
            assert_eq!(Reference::find(text), meant, "{text}");
        }
        assert_eq!(Reference::find("1O2b3c4d"), Some(Reference::new(0x102b_3c4d)));
        for text in ["", "Reference", "1a2b3c4", "1a2b3c4d5", "1a2b3c4d 1a2b3c4e", "1a2b-3c4d"] {
            assert_eq!(Reference::find(text), None, "{text}");
        }
    }

    #[test]
    fn neighbours_are_one_slip_away() {
        let reference = Reference::new(0x1a2b_3c4d);
        let near = reference.neighbours();
        assert_eq!(near.len(), 8 * 15 + 7);
        for other in [0x1a2b_3c4e, 0x0a2b_3c4d, 0xa12b_3c4d, 0x1a2b_3cd4] {
            assert!(near.contains(&Reference::new(other)), "{other:08x}");
        }
        assert!(!near.contains(&reference));
        assert_eq!(Reference::new(0).neighbours().len(), 8 * 15, "equal digits have no other order");
    }
}
