//! The types that a field can have. A type reads and describes its values, so the two cannot differ.

use deskpass_core::InvalidId;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::http::error::FieldError;

/// A type of a field.
pub(crate) trait FieldValue: Sized {
    /// Whether the field must be given.
    const REQUIRED: bool = true;

    /// The values that it accepts.
    fn kind() -> FieldKind;

    fn read(given: GivenValue) -> Result<Self, FieldError>;

    /// The value of a field that is missing or null.
    fn missing() -> Result<Self, FieldError> {
        Err(FieldError::Required)
    }
}

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
    /// An identifier of the platform: a text, or a number as consoles show it.
    TextOrNumber,
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
    /// A list of at most this many objects with these fields.
    ObjectList(&'static [FieldSpec], usize),
    /// An object with a text for some of these names.
    TextsByName(&'static [&'static str]),
    /// Any JSON.
    Json,
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

impl FieldSpec {
    /// The specification of a field of this type.
    pub(crate) fn of<T: FieldValue>(name: &'static str, doc: &'static str) -> Self {
        Self { name, kind: T::kind(), required: T::REQUIRED, doc }
    }
}

/// A type whose values are texts of a format.
pub(crate) trait FormattedText: Sized {
    const FORMAT: &'static TextFormat;

    /// The value of a text; `None` where the text does not have the format.
    fn from_text(text: String) -> Option<Self>;
}

/// A value as it was sent.
#[derive(Debug)]
pub(crate) enum GivenValue {
    /// From a query, a path or a form, where numbers and booleans are texts.
    Text(String),
    /// From a JSON body.
    Json(Value),
}

impl Default for GivenValue {
    fn default() -> Self {
        Self::Json(Value::Null)
    }
}

impl<'de> Deserialize<'de> for GivenValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::Json)
    }
}

impl GivenValue {
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Json(Value::Null))
    }

    /// The text, if it is one.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Json(Value::String(text)) => Some(text),
            Self::Json(_) => None,
        }
    }

    pub(crate) fn text(self) -> Result<String, FieldError> {
        match self {
            Self::Text(text) | Self::Json(Value::String(text)) => Ok(text),
            Self::Json(_) => Err(FieldError::NotString),
        }
    }

    /// A list of at most this many texts; only bodies have lists.
    pub(super) fn texts(self, at_most: usize) -> Result<Vec<String>, FieldError> {
        let texts = match self {
            Self::Text(_) => None,
            Self::Json(value) => serde_json::from_value::<Vec<String>>(value).ok(),
        };
        texts.filter(|texts| texts.len() <= at_most).ok_or(FieldError::NotStringList(at_most))
    }
}

impl<T: FieldValue> FieldValue for Option<T> {
    const REQUIRED: bool = false;

    fn kind() -> FieldKind {
        T::kind()
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        T::read(given).map(Some)
    }

    fn missing() -> Result<Self, FieldError> {
        Ok(None)
    }
}

impl<T: FormattedText> FieldValue for T {
    fn kind() -> FieldKind {
        FieldKind::Format(T::FORMAT)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        T::from_text(given.text()?).ok_or(FieldError::Format(T::FORMAT.rule))
    }
}

impl FieldValue for String {
    fn kind() -> FieldKind {
        FieldKind::Text
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        given.text()
    }
}

impl FieldValue for bool {
    fn kind() -> FieldKind {
        FieldKind::Boolean
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let flag = match given {
            GivenValue::Text(text) => text.parse().ok(),
            GivenValue::Json(value) => value.as_bool(),
        };
        flag.ok_or(FieldError::NotBoolean)
    }
}

/// The integer that a number such as `55.0` means: JSON Schema takes it for one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
pub(crate) fn whole_number(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)).then_some(number as u64)
}

/// An integer within bounds, both inclusive.
#[derive(Debug)]
pub(crate) struct BoundedInteger<const LEAST: u64, const MOST: u64>(pub(crate) u64);

impl<const LEAST: u64, const MOST: u64> FieldValue for BoundedInteger<LEAST, MOST> {
    fn kind() -> FieldKind {
        FieldKind::Integer(LEAST, MOST)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let number = match given {
            // `parse` would also accept a sign.
            GivenValue::Text(text) if text.bytes().all(|c| c.is_ascii_digit()) => text.parse().ok(),
            GivenValue::Text(_) => None,
            GivenValue::Json(value) => value.as_u64().or_else(|| whole_number(value.as_f64()?)),
        };
        let within = number.filter(|number| (LEAST..=MOST).contains(number));
        within.map(Self).ok_or(FieldError::NotInteger(LEAST, MOST))
    }
}
