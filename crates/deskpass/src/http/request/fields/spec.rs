//! The values that fields accept.

use deskpass_core::InvalidId;

/// A field that a request reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldSpec {
    pub(crate) name: &'static str,
    pub(crate) kind: FieldKind,
    pub(crate) required: bool,
    /// The meaning of the field, for the API description; may be empty.
    pub(crate) doc: &'static str,
}

/// The values that a field accepts.
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
