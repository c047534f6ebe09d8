//! Reads a body, a query or a path field by field and reports every bad one, not only the first.

mod spec;

use std::fmt;
use std::ops::RangeInclusive;

use deskpass_core::{InvalidId, Password};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

pub(crate) use spec::{FieldKind, FieldSpec, TextFormat};

use crate::http::error::field_error::{FieldError, FieldErrors};

/// The fields of a request, and what was wrong with those read so far.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    given: Vec<(String, Value)>,
    /// Whether nothing but text can be given, as in a query: numbers are digits there.
    texts_only: bool,
    problems: FieldErrors,
    /// What was read so far, while somebody only watches what a request reads.
    recorded: Option<Vec<FieldSpec>>,
}

/// A request that can be read from its fields.
pub(crate) trait FromFields: Sized {
    /// Reads what it needs; `None` when something was wrong, which `fields` then knows. It reads every field before it
    /// looks at any, so that whoever watches sees them all.
    fn from_fields(fields: &mut Fields) -> Option<Self>;
}

/// The fields that a request reads, in that order.
pub(crate) fn describe_fields<T: FromFields>() -> Vec<FieldSpec> {
    let mut fields = Fields { recorded: Some(Vec::new()), ..Fields::default() };
    let _ = T::from_fields(&mut fields);
    fields.recorded.unwrap_or_default()
}

#[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
impl Fields {
    /// Reads a whole request.
    pub(crate) fn parse<T: FromFields>(mut self) -> Result<T, FieldErrors> {
        let parsed = T::from_fields(&mut self);
        parsed.filter(|_| self.problems.is_empty()).ok_or(self.problems)
    }

    /// Reports fields of a query besides these, where a slip in a name would quietly allow more than was meant.
    pub(crate) fn reject_unknown(&mut self, known: &'static [&'static str]) {
        if self.given.iter().any(|(name, _)| !known.contains(&name.as_str())) {
            self.reject("query", FieldError::UnknownFields(known));
        }
    }

    /// Reports a field that is wrong for another reason.
    pub(crate) fn reject(&mut self, name: &'static str, problem: FieldError) {
        self.problems.insert(name.into(), problem);
    }

    /// A text that must be there.
    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        let value = self.required(name, || FieldKind::Text)?;
        self.text_in(name, value)
    }

    /// A text that may be missing or null. The outer `None` means that something else stands there.
    pub(crate) fn maybe_text(&mut self, name: &'static str) -> Option<Option<String>> {
        match self.optional(name, || FieldKind::Text)? {
            None => Some(None),
            Some(value) => self.text_in(name, value).map(Some),
        }
    }

    /// A text of a certain form that must be there.
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

    /// A text of a certain form that may be missing.
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

    /// A password that must be there.
    pub(crate) fn password(&mut self, name: &'static str) -> Option<Password> {
        let value = self.required(name, || FieldKind::Password(Password::MAX_BYTES))?;
        self.password_in(name, value)
    }

    /// A password that may be missing.
    pub(crate) fn maybe_password(&mut self, name: &'static str) -> Option<Option<Password>> {
        match self.optional(name, || FieldKind::Password(Password::MAX_BYTES))? {
            None => Some(None),
            Some(value) => self.password_in(name, value).map(Some),
        }
    }

    /// One of a few words, or none.
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

    /// One of a few words, which must be there.
    pub(crate) fn choice(&mut self, name: &'static str, words: &'static [&'static str]) -> Option<&'static str> {
        let value = self.required(name, || FieldKind::OneOf(words))?;
        let text = self.text_in(name, value)?;
        let word = words.iter().copied().find(|word| *word == text);
        self.check(name, word.ok_or(FieldError::NotOneOf(words)))
    }

    /// An identifier that must be there.
    pub(crate) fn id<T>(&mut self, name: &'static str, parse: fn(&str) -> Result<T, InvalidId>) -> Option<T> {
        let value = self.required(name, || FieldKind::id(parse))?;
        let text = self.text_in(name, value)?;
        self.check(name, parse(&text).map_err(FieldError::Id))
    }

    /// An identifier that may be missing.
    pub(crate) fn maybe_id<T>(
        &mut self,
        name: &'static str,
        parse: fn(&str) -> Result<T, InvalidId>,
    ) -> Option<Option<T>> {
        let Some(value) = self.optional(name, || FieldKind::id(parse))? else { return Some(None) };
        let text = self.text_in(name, value)?;
        self.check(name, parse(&text).map_err(FieldError::Id)).map(Some)
    }

    /// A whole number that may be missing.
    pub(crate) fn maybe_integer(&mut self, name: &'static str, range: RangeInclusive<u64>) -> Option<Option<u64>> {
        match self.optional(name, || FieldKind::Integer(*range.start(), *range.end()))? {
            None => Some(None),
            Some(value) => self.count_in(name, &value, &range).map(Some),
        }
    }

    /// Yes or no, which must be there.
    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        let value = self.required(name, || FieldKind::Boolean)?;
        self.flag_in(name, &value)
    }

    /// Yes or no, or nothing.
    pub(crate) fn maybe_flag(&mut self, name: &'static str) -> Option<Option<bool>> {
        match self.optional(name, || FieldKind::Boolean)? {
            None => Some(None),
            Some(value) => self.flag_in(name, &value).map(Some),
        }
    }

    /// A list of texts that must be there, of a body only.
    pub(crate) fn texts(&mut self, name: &'static str, at_most: usize) -> Option<Vec<String>> {
        let value = self.required(name, || FieldKind::StringList(at_most))?;
        self.texts_in(name, value, at_most)
    }

    /// What stands in a field that must be there.
    fn required(&mut self, name: &'static str, kind: impl FnOnce() -> FieldKind) -> Option<Value> {
        if let Some(recorded) = &mut self.recorded {
            return Some(record_field(recorded, FieldSpec { name, kind: kind(), required: true }));
        }
        let given = self.given(name)?;
        self.check(name, given.ok_or(FieldError::Required))
    }

    /// What stands in a field that may be missing or null.
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

/// Notes a field, and hands out something that fits.
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
