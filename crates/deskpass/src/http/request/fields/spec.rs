//! The values that fields accept. Reading and describing a field use the same specification, so they cannot differ.

use deskpass_core::InvalidId;
use serde_json::{Value, json};

/// A field that a request reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldSpec {
    pub(crate) name: &'static str,
    pub(crate) kind: FieldKind,
    pub(crate) required: bool,
}

/// The values that a field accepts. A new kind is a new variant, and a method of `Fields` that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Any text.
    Text,
    /// A text of a named format.
    Format(&'static TextFormat),
    /// An identifier, with the error that invalid ones cause.
    Id(InvalidId),
    /// A word of a closed list.
    OneOf(&'static [&'static str]),
    /// A password of at most this many bytes.
    Password(usize),
    /// An integer from the first to the second number, inclusive.
    Integer(u64, u64),
    /// A boolean.
    Boolean,
    /// A list of at most this many texts.
    StringList(usize),
}

/// The format of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextFormat {
    /// Its name in JSON Schema (`date-time`, `ipv4`, …), or a name of this service.
    pub(crate) name: &'static str,
    /// A pattern that matches exactly the valid texts, where there is one.
    pub(crate) pattern: Option<&'static str>,
    /// A valid text.
    pub(crate) example: &'static str,
    /// The error of an invalid text, in English and Chinese: "must be …".
    pub(crate) rule: [&'static str; 2],
}

impl FieldKind {
    /// The kind of the identifiers that a function parses.
    pub(super) fn id<T>(parse: fn(&str) -> Result<T, InvalidId>) -> Self {
        // An empty text is never an identifier, so parsing it returns the error with the rule.
        parse("").err().map_or(Self::Text, Self::Id)
    }

    /// A valid sample value, for reading a request type that is only described.
    pub(super) fn sample(&self) -> Value {
        match self {
            // A digit, since that is a valid identifier, too.
            Self::Text | Self::Id(_) | Self::Password(_) => json!("0"),
            Self::Format(format) => json!(format.example),
            Self::OneOf(words) => json!(words.first()),
            Self::Integer(least, _) => json!(least),
            Self::Boolean => json!(true),
            Self::StringList(_) => json!(["0"]),
        }
    }
}
