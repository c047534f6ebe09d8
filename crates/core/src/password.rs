//! Passwords, and the check that rejects passwords that are easy to guess.

mod normalized;
mod strength;

use normalized::NormalizedText;

use crate::opaque_debug;

/// A password as the user typed it, correct or not. Its `Debug` output hides the text.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<str>);

impl Password {
    /// The maximum length in bytes of a text that is accepted as a password at all.
    pub const MAX_BYTES: usize = 1_024;

    /// Accepts a text as a password unless it is too long.
    #[must_use]
    pub fn parse(text: String) -> Option<Self> {
        (text.len() <= Self::MAX_BYTES).then(|| Self(text.into()))
    }

    /// The text itself, for hashing and for the strength check.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

opaque_debug!(Password);

/// The reason why a password is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// Fewer than 12 characters.
    TooShort,
    /// More than 128 characters.
    TooLong,
    /// Consists of common parts: common passwords, keyboard rows, sequences, dates.
    Common,
    /// Contains a word that belongs to the user or the organization.
    Personal,
    /// A short piece repeated, or too few different characters.
    Monotonous,
}

const MIN_CHARS: usize = 12;
const MAX_CHARS: usize = 128;
/// With fewer different characters than this, even a long text is found quickly.
const MIN_DISTINCT_CHARS: usize = 5;

/// The weakness of a password for the user described by the words of `about`: their id, their name, and the names of the
/// product and the corporation.
#[must_use]
pub fn weakness(password: &str, about: &[&str]) -> Option<Weakness> {
    match password.chars().count() {
        ..MIN_CHARS => return Some(Weakness::TooShort),
        MIN_CHARS..=MAX_CHARS => {}
        _ => return Some(Weakness::TooLong),
    }
    let folded = NormalizedText::of(password);
    if is_monotonous(&folded.plain) {
        Some(Weakness::Monotonous)
    } else if is_personal(&folded, about) {
        Some(Weakness::Personal)
    } else if [folded.reversed(), folded.without_repeats(), folded].iter().any(strength::is_too_weak) {
        Some(Weakness::Common)
    } else {
        None
    }
}

/// A repeated piece is only as strong as the piece itself, which must have the minimum length of a password.
fn is_monotonous(text: &[char]) -> bool {
    let mut different = text.to_vec();
    different.sort_unstable();
    different.dedup();
    let repeats = |period| text.iter().skip(period).eq(text.iter().take(text.len() - period));
    different.len() < MIN_DISTINCT_CHARS || (1..MIN_CHARS).take_while(|period| period * 2 <= text.len()).any(repeats)
}

fn is_personal(password: &NormalizedText, about: &[&str]) -> bool {
    let backwards = password.reversed();
    about.iter().flat_map(|text| words(text)).any(|word| password.contains(&word) || backwards.contains(&word))
}

/// The words of a name or an id that are long enough to be significant, and the whole text without separators.
fn words(text: &str) -> Vec<NormalizedText> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned);
    let whole = text.chars().filter(|c| c.is_alphanumeric()).collect();
    parts.chain([whole]).filter(|word| is_significant(word)).map(|word| NormalizedText::of(&word)).collect()
}

/// A word needs four letters; in scripts with shorter words, such as Chinese, two.
fn is_significant(word: &str) -> bool {
    let letters = word.chars().count();
    letters >= 4 || letters >= 2 && word.chars().all(|c| c >= '\u{2e80}')
}

#[cfg(test)]
mod tests;
