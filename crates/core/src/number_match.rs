//! Number matching: a screen shows a two-digit number, and the phone picks it out of three. Only a person who sees the screen knows
//! which one it is, so a question that was relayed to another person's phone is not answered by accident.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Entropy, NoEntropy};

/// The number of choices on the phone.
const CHOICES: usize = 3;
const LOWEST: u8 = 10;
/// How many two-digit numbers there are.
const NUMBERS: u8 = 90;

/// A number of two digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MatchNumber(u8);

impl MatchNumber {
    /// Parses a number: two digits, without a leading zero.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: u8 = Some(text).filter(|_| digits)?.parse().ok()?;
        (number >= LOWEST).then_some(Self(number))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl fmt::Display for MatchNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The number on a screen, and the choices on the phone, in the order in which they are shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberMatch {
    number: MatchNumber,
    choices: [MatchNumber; CHOICES],
}

impl NumberMatch {
    /// Draws three different numbers, and one of them to be shown.
    pub fn generate(entropy: &Entropy) -> Result<Self, NoEntropy> {
        let mut choices = Vec::with_capacity(CHOICES);
        while choices.len() < CHOICES {
            for byte in entropy.bytes::<16>()? {
                // Bytes beyond a multiple of the range are skipped, so that all numbers are equally likely.
                let drawn = MatchNumber(LOWEST + byte % NUMBERS);
                if byte < NUMBERS * 2 && choices.len() < CHOICES && !choices.contains(&drawn) {
                    choices.push(drawn);
                }
            }
        }
        loop {
            for byte in entropy.bytes::<4>()? {
                let drawn = choices.get(usize::from(byte % 4));
                if let (Some(number), Ok(choices)) = (drawn, <[MatchNumber; CHOICES]>::try_from(choices.clone())) {
                    return Ok(Self { number: *number, choices });
                }
            }
        }
    }

    /// The number on the screen.
    #[must_use]
    pub const fn number(&self) -> MatchNumber {
        self.number
    }

    /// The choices on the phone.
    #[must_use]
    pub const fn choices(&self) -> [MatchNumber; CHOICES] {
        self.choices
    }

    /// Whether the phone picked the number on the screen.
    #[must_use]
    pub fn is_match(&self, picked: MatchNumber) -> bool {
        self.number == picked
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits() {
        for (text, number) in [("10", Some(10)), ("42", Some(42)), ("99", Some(99))] {
            assert_eq!(MatchNumber::parse(text).map(MatchNumber::get), number);
            assert_eq!(MatchNumber::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "0", "9", "09", "100", "1 ", "+1", "-1", "1.", "\u{661}\u{662}"] {
            assert_eq!(MatchNumber::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn three_different_numbers_are_drawn_and_each_place_is_as_likely() {
        let mut places = [0_u32; CHOICES];
        for _ in 0..3_000 {
            let drawn = NumberMatch::generate(&Entropy::system()).unwrap();
            let choices = drawn.choices();
            assert!(choices.iter().all(|choice| (10..=99).contains(&choice.get())));
            let unique: std::collections::HashSet<_> = choices.iter().collect();
            assert_eq!(unique.len(), CHOICES);
            let place = choices.iter().position(|choice| drawn.is_match(*choice)).unwrap();
            *places.get_mut(place).unwrap() += 1;
        }
        assert!(places.iter().all(|count| (800..=1_200).contains(count)), "{places:?}");
    }
}
