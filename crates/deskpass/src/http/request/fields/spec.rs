//! What fields take. A field says it once, by how it is read; what reads it and what describes it go by the same value.

use deskpass_core::InvalidId;
use serde_json::{Value, json};

/// A field that a request reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldSpec {
    pub(crate) name: &'static str,
    pub(crate) kind: FieldKind,
    pub(crate) required: bool,
}

/// What a field takes. Another kind of field is another variant here, and a method of `Fields` that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Any text.
    Text,
    /// A text of a form that has a name.
    Format(&'static TextFormat),
    /// An identifier, by the rule that others break.
    Id(InvalidId),
    /// One of a few words.
    OneOf(&'static [&'static str]),
    /// A password of at most this many bytes.
    Password(usize),
    /// A whole number from one to another.
    Integer(u64, u64),
    /// Yes or no.
    Boolean,
    /// At most this many texts.
    StringList(usize),
}

/// A form that a text must have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextFormat {
    /// Its name in JSON Schema (`date-time`, `ipv4`, …), or one of our own.
    pub(crate) name: &'static str,
    /// What matches it and nothing else, where that can be said so.
    pub(crate) pattern: Option<&'static str>,
    /// A text that has it.
    pub(crate) example: &'static str,
    /// What is said of a text that has it not, in English and Chinese: "must be …".
    pub(crate) rule: [&'static str; 2],
}

impl FieldKind {
    /// The kind of what a function reads.
    pub(super) fn id<T>(parse: fn(&str) -> Result<T, InvalidId>) -> Self {
        // Nothing is no identifier, so there is a rule that says so.
        parse("").err().map_or(Self::Text, Self::Id)
    }

    /// Something that fits, for readers to go on with while they are only being watched.
    pub(super) fn sample(&self) -> Value {
        match self {
            // A digit, since that is an identifier too.
            Self::Text | Self::Id(_) | Self::Password(_) => json!("0"),
            Self::Format(format) => json!(format.example),
            Self::OneOf(words) => json!(words.first()),
            Self::Integer(least, _) => json!(least),
            Self::Boolean => json!(true),
            Self::StringList(_) => json!(["0"]),
        }
    }
}
