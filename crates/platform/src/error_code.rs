//! The error codes of the platforms.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The error code of a platform: most platforms use numbers, some words.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ErrorCode {
    /// A number.
    Number(i64),
    /// A word, such as `InvalidAuthentication`.
    Word(Box<str>),
}

/// The maximum length of a word, in characters.
const MAX_WORD_CHARS: usize = 96;

impl ErrorCode {
    /// A word of the platform, with nothing but the characters of identifiers.
    #[must_use]
    pub fn word(text: &str) -> Self {
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
        Self::Word(text.chars().filter(plain).take(MAX_WORD_CHARS).collect())
    }

    /// The number, if the code is one.
    #[must_use]
    pub const fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Word(_) => None,
        }
    }

    /// The word, if the code is one.
    #[must_use]
    pub const fn as_word(&self) -> Option<&str> {
        match self {
            Self::Number(_) => None,
            Self::Word(word) => Some(word),
        }
    }
}

impl From<i64> for ErrorCode {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}
