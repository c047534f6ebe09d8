//! What makes a password too weak.

use serde::{Deserialize, Serialize};

/// Why a password is too easy to guess, or cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Weakness {
    /// It has fewer than 12 characters.
    TooShort,
    /// It has more than 128 characters.
    TooLong,
    /// Many people use it.
    Common,
    /// It has a word in it that is about its owner.
    Personal,
    /// It is one short piece over and over.
    Monotonous,
}
