//! Passwords, and which of them are refused because somebody else could guess them.

mod normalized;
mod strength;

use std::fmt;

use normalized::NormalizedText;

/// A password as somebody typed it, right or wrong. It prints only that it is one.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Box<str>);

impl Password {
    /// How many bytes a text may have to be looked at as a password at all.
    pub const MAX_BYTES: usize = 1_024;

    /// Takes a text for a password, unless it is longer than any.
    #[must_use]
    pub fn parse(text: String) -> Option<Self> {
        (text.len() <= Self::MAX_BYTES).then(|| Self(text.into()))
    }

    /// The text itself, for whoever hashes it or judges it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// Why a password will not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weakness {
    /// Fewer than 12 characters.
    TooShort,
    /// More than 128 characters.
    TooLong,
    /// Made of what everybody uses: common passwords, keyboard rows, counting, dates.
    Common,
    /// Has a word in it that belongs to the person or the place.
    Personal,
    /// A short piece over and over, or hardly any different characters.
    Monotonous,
}

const MIN_CHARS: usize = 12;
const MAX_CHARS: usize = 128;
/// With fewer different characters than this, even long texts are soon tried out.
const MIN_DISTINCT_CHARS: usize = 5;

/// What is wrong with a password for somebody whom the words of `about` describe: their id, their name, the product's and
/// the corporation's.
#[must_use]
pub fn weakness(password: &str, about: &[&str]) -> Option<Weakness> {
    match password.chars().count() {
        ..MIN_CHARS => return Some(Weakness::TooShort),
        MIN_CHARS..=MAX_CHARS => {}
        _ => return Some(Weakness::TooLong),
    }
    let folded = NormalizedText::of(password);
    if is_monotonous(folded.plain()) {
        Some(Weakness::Monotonous)
    } else if is_personal(&folded, about) {
        Some(Weakness::Personal)
    } else if [folded.reversed(), folded.without_repeats(), folded].iter().any(strength::is_too_weak) {
        Some(Weakness::Common)
    } else {
        None
    }
}

/// A repeated piece is as good as the piece alone, which has to be as long as any password.
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

/// The words of a name or an id that are long enough to mean something, and the whole without what parts them.
fn words(text: &str) -> Vec<NormalizedText> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned);
    let whole = text.chars().filter(|c| c.is_alphanumeric()).collect();
    parts.chain([whole]).filter(|word| is_significant(word)).map(|word| NormalizedText::of(&word)).collect()
}

/// Four letters do; of writings that need fewer of them, such as Chinese, two.
fn is_significant(word: &str) -> bool {
    let letters = word.chars().count();
    letters >= 4 || letters >= 2 && word.chars().all(|c| c >= '\u{2e80}')
}

#[cfg(test)]
mod tests;
