//! The reference of a request, by which an operator finds it in the logs.

use std::fmt::{self, Write as _};

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

    /// Its digits, as it is shown.
    #[must_use]
    pub fn digits(self) -> [char; Self::DIGITS] {
        let Self(mut rest) = self;
        let mut digits = ['0'; Self::DIGITS];
        for digit in digits.iter_mut().rev() {
            *digit = char::from_digit(rest % 16, 16).unwrap_or('0');
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
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digits().into_iter().try_for_each(|digit| f.write_char(digit))
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
            assert_eq!(Reference::parse(&shown), Some(Reference::new(number)));
            assert_eq!(Reference::parse(&shown.to_uppercase()), Some(Reference::new(number)));
        }
        for wrong in ["", "1a2b3c4", "1a2b3c4d5", "+1a2b3c4", "1a2b3c4g", "1a2b 3c4", "１２３４５６７８"] {
            assert_eq!(Reference::parse(wrong), None, "{wrong}");
        }
    }
}
