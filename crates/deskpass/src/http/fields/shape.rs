//! What fields take. A field says it once, by how it is read; what reads it and what describes it go by the same value.

use deskpass_core::InvalidId;
use serde_json::{Value, json};

/// A field that a request reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct Field {
    pub(in crate::http) name: &'static str,
    pub(in crate::http) shape: Shape,
    pub(in crate::http) required: bool,
}

/// What a field takes. Another kind of field is another variant here, and a method of `Fields` that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Shape {
    /// Any text.
    Text,
    /// A text of a form that has a name.
    Form(&'static Form),
    /// An identifier, by the rule that others break.
    Id(InvalidId),
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A password of at most this many bytes.
    Password(usize),
    /// A whole number from one to another.
    Count(u64, u64),
    /// Yes or no.
    Flag,
    /// At most this many texts.
    Texts(usize),
}

/// A form that a text must have.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http) struct Form {
    /// Its name in JSON Schema (`date-time`, `ipv4`, …), or one of our own.
    pub(in crate::http) name: &'static str,
    /// What matches it and nothing else, where that can be said so.
    pub(in crate::http) pattern: Option<&'static str>,
    /// A text that has it.
    pub(in crate::http) example: &'static str,
    /// What is said of a text that has it not, in English and Chinese: "must be …".
    pub(in crate::http) rule: [&'static str; 2],
}

impl Shape {
    /// The shape of what a function reads.
    pub(super) fn id<T>(parse: fn(&str) -> Result<T, InvalidId>) -> Self {
        // Nothing is no identifier, so there is a rule that says so.
        parse("").err().map_or(Self::Text, Self::Id)
    }

    /// Something that fits, for readers to go on with while they are only being watched.
    pub(super) fn sample(&self) -> Value {
        match self {
            // A digit, since that is an identifier too.
            Self::Text | Self::Id(_) | Self::Password(_) => json!("0"),
            Self::Form(form) => json!(form.example),
            Self::Word(words) => json!(words.first()),
            Self::Count(least, _) => json!(least),
            Self::Flag => json!(true),
            Self::Texts(_) => json!(["0"]),
        }
    }
}
