//! Reads a body, a query or a path field by field, and reports every invalid field, not only the first.

mod spec;

use std::fmt;
use std::ops::RangeInclusive;

use deskpass_core::{InvalidId, Password};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

pub(crate) use spec::{FieldKind, FieldSpec, TextFormat};

use crate::http::error::field_error::{FieldError, FieldErrors};

/// The fields of a request, and the errors of those read so far.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    given: Vec<(String, Value)>,
    /// Whether all values are text, as in a query: numbers are digits there.
    texts_only: bool,
    problems: FieldErrors,
    /// The fields read so far, when the request type is only described.
    recorded: Option<Vec<FieldSpec>>,
}

/// A request type that is read from fields.
pub(crate) trait FromFields: Sized {
    /// Reads the fields; `None` when a field is invalid, which `fields` then records. It reads every field before it checks any,
    /// so that a description contains all of them.
    fn from_fields(fields: &mut Fields) -> Option<Self>;
}

/// The fields that a request type reads, in that order.
pub(crate) fn describe_fields<T: FromFields>() -> Vec<FieldSpec> {
    let mut fields = Fields { recorded: Some(Vec::new()), ..Fields::default() };
    let _ = T::from_fields(&mut fields);
    fields.recorded.unwrap_or_default()
}

#[expect(clippy::option_option, reason = "None: invalid and already reported; Some(None): absent")]
impl Fields {
    /// Reads a complete request.
    pub(crate) fn parse<T: FromFields>(mut self) -> Result<T, FieldErrors> {
        let parsed = T::from_fields(&mut self);
        parsed.filter(|_| self.problems.is_empty()).ok_or(self.problems)
    }

    /// Rejects other fields in a query, where a misspelt name would silently allow more than intended.
    pub(crate) fn reject_unknown(&mut self, known: &'static [&'static str]) {
        if self.given.iter().any(|(name, _)| !known.contains(&name.as_str())) {
            self.reject("query", FieldError::UnknownFields(known));
        }
    }

    /// Rejects a field for another reason.
    pub(crate) fn reject(&mut self, name: &'static str, problem: FieldError) {
        self.problems.insert(name.into(), problem);
    }

    /// A required text.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        let value = self.required(name, || FieldKind::Text)?;
        self.text_in(name, value)
    }

    /// A text that may be missing or null. The outer `None` means that the value has another type.
    pub(crate) fn maybe_text(&mut self, name: &'static str) -> Option<Option<String>> {
        match self.optional(name, || FieldKind::Text)? {
            None => Some(None),
            Some(value) => self.text_in(name, value).map(Some),
        }
    }

    /// A required text of a format.
    pub(crate) fn formatted<T>(
        &mut self,
        name: &'static str,
        format: &'static TextFormat,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let value = self.required(name, || FieldKind::Format(format))?;
        let text = self.text_in(name, value)?;
        self.check(name, parse(&text).ok_or(FieldError::Format(format.rule)))
    }

    /// An optional text of a format.
    pub(crate) fn maybe_formatted<T>(
        &mut self,
        name: &'static str,
        format: &'static TextFormat,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<Option<T>> {
        let Some(value) = self.optional(name, || FieldKind::Format(format))? else { return Some(None) };
        let text = self.text_in(name, value)?;
        self.check(name, parse(&text).ok_or(FieldError::Format(format.rule))).map(Some)
    }

    /// A required password.
    pub(crate) fn password(&mut self, name: &'static str) -> Option<Password> {
        let value = self.required(name, || FieldKind::Password(Password::MAX_BYTES))?;
        self.password_in(name, value)
    }

    /// An optional password.
    pub(crate) fn maybe_password(&mut self, name: &'static str) -> Option<Option<Password>> {
        match self.optional(name, || FieldKind::Password(Password::MAX_BYTES))? {
            None => Some(None),
            Some(value) => self.password_in(name, value).map(Some),
        }
    }

    /// An optional word of a closed list.
    pub(crate) fn maybe_choice(
        &mut self,
        name: &'static str,
        words: &'static [&'static str],
    ) -> Option<Option<&'static str>> {
        let Some(value) = self.optional(name, || FieldKind::OneOf(words))? else { return Some(None) };
        let text = self.text_in(name, value)?;
        let word = words.iter().copied().find(|word| *word == text);
        self.check(name, word.ok_or(FieldError::NotOneOf(words))).map(Some)
    }

    /// A required word of a closed list.
    pub(crate) fn choice(&mut self, name: &'static str, words: &'static [&'static str]) -> Option<&'static str> {
        let value = self.required(name, || FieldKind::OneOf(words))?;
        let text = self.text_in(name, value)?;
        let word = words.iter().copied().find(|word| *word == text);
        self.check(name, word.ok_or(FieldError::NotOneOf(words)))
    }

    /// A required identifier.
    pub(crate) fn id<T>(&mut self, name: &'static str, parse: fn(&str) -> Result<T, InvalidId>) -> Option<T> {
        let value = self.required(name, || FieldKind::id(parse))?;
        let text = self.text_in(name, value)?;
        self.check(name, parse(&text).map_err(FieldError::Id))
    }

    /// An optional identifier.
    pub(crate) fn maybe_id<T>(
        &mut self,
        name: &'static str,
        parse: fn(&str) -> Result<T, InvalidId>,
    ) -> Option<Option<T>> {
        let Some(value) = self.optional(name, || FieldKind::id(parse))? else { return Some(None) };
        let text = self.text_in(name, value)?;
        self.check(name, parse(&text).map_err(FieldError::Id)).map(Some)
    }

    /// An optional integer.
    pub(crate) fn maybe_integer(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Option<Option<u64>> {
        match self.optional(name, || FieldKind::Integer(*range.start(), *range.end()))? {
            None => Some(None),
            Some(value) => self.count_in(name, &value, &range).map(Some),
        }
    }

    /// A required boolean.
    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        let value = self.required(name, || FieldKind::Boolean)?;
        self.flag_in(name, &value)
    }

    /// An optional boolean.
    pub(crate) fn maybe_flag(&mut self, name: &'static str) -> Option<Option<bool>> {
        match self.optional(name, || FieldKind::Boolean)? {
            None => Some(None),
            Some(value) => self.flag_in(name, &value).map(Some),
        }
    }

    /// A required list of texts; only bodies have lists.
    pub(crate) fn texts(&mut self, name: &'static str, at_most: usize) -> Option<Vec<String>> {
        let value = self.required(name, || FieldKind::StringList(at_most))?;
        self.texts_in(name, value, at_most)
    }

    /// The value of a required field.
    fn required(&mut self, name: &'static str, kind: impl FnOnce() -> FieldKind) -> Option<Value> {
        if let Some(recorded) = &mut self.recorded {
            return Some(record_field(recorded, FieldSpec { name, kind: kind(), required: true }));
        }
        let given = self.given(name)?;
        self.check(name, given.ok_or(FieldError::Required))
    }

    /// The value of a field that may be missing or null.
    fn optional(&mut self, name: &'static str, kind: impl FnOnce() -> FieldKind) -> Option<Option<Value>> {
        match &mut self.recorded {
            Some(recorded) => Some(Some(record_field(recorded, FieldSpec { name, kind: kind(), required: false }))),
            None => self.given(name),
        }
    }

    fn given(&mut self, name: &'static str) -> Option<Option<Value>> {
        let mut found = self.given.iter_mut().filter(|(given, _)| given == name).map(|(_, value)| value.take());
        match (found.next(), found.next()) {
            (_, Some(_)) => {
                self.reject(name, FieldError::Repeated);
                None
            }
            (value, None) => Some(value.filter(|value| !value.is_null())),
        }
    }

    fn text_in(&mut self, name: &'static str, value: Value) -> Option<String> {
        let text = if let Value::String(text) = value { Ok(text) } else { Err(FieldError::NotString) };
        self.check(name, text)
    }

    fn password_in(&mut self, name: &'static str, value: Value) -> Option<Password> {
        let text = self.text_in(name, value)?;
        self.check(name, Password::parse(text).ok_or(FieldError::TooLong(Password::MAX_BYTES)))
    }

    fn count_in(&mut self, name: &'static str, value: &Value, range: &RangeInclusive<u64>) -> Option<u64> {
        let digits = |text: &&str| text.bytes().all(|c| c.is_ascii_digit());
        let number = match value {
            Value::String(text) if self.texts_only => {
                Some(text.as_str()).filter(digits).and_then(|text| text.parse().ok())
            }
            value => value.as_u64(),
        };
        let number = number.filter(|number| range.contains(number));
        self.check(name, number.ok_or(FieldError::NotInteger(*range.start(), *range.end())))
    }

    fn flag_in(&mut self, name: &'static str, value: &Value) -> Option<bool> {
        let flag = match value {
            Value::String(text) if self.texts_only => text.parse().ok(),
            value => value.as_bool(),
        };
        self.check(name, flag.ok_or(FieldError::NotBoolean))
    }

    fn texts_in(&mut self, name: &'static str, value: Value, at_most: usize) -> Option<Vec<String>> {
        let texts = serde_json::from_value::<Vec<String>>(value).ok().filter(|texts| texts.len() <= at_most);
        self.check(name, texts.ok_or(FieldError::NotStringList(at_most)))
    }

    fn check<T>(&mut self, name: &'static str, checked: Result<T, FieldError>) -> Option<T> {
        checked.map_err(|problem| self.reject(name, problem)).ok()
    }
}

/// Records a field, and returns a valid sample value.
fn record_field(recorded: &mut Vec<FieldSpec>, field: FieldSpec) -> Value {
    let sample = field.kind.sample();
    recorded.push(field);
    sample
}

impl FromIterator<(String, String)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        let given = pairs.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        Self { given, texts_only: true, ..Self::default() }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut given = Vec::with_capacity(2);
                while let Some(entry) = map.next_entry()? {
                    given.push(entry);
                }
                Ok(Fields { given, ..Fields::default() })
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
