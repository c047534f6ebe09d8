//! Reads a body, a query or a path field by field, and reports every invalid field, not only the first.

mod types;
mod value;

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

pub(crate) use deskpass_derive::FromFields;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

pub(crate) use types::{OidcClientId, ReasonText, RoleGroups, ServiceKeyId, SignInId, is_hexadecimal};
pub(crate) use value::{
    BoundedInteger, FieldKind, FieldSpec, FieldValue, FormattedText, GivenValue, TextFormat, whole_number,
};

use crate::http::error::{FieldError, FieldErrors};

/// The fields of a request, and the errors of those read so far.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    given: Vec<(String, GivenValue)>,
    problems: FieldErrors,
}

/// A request type that is read from fields. It is derived, so that each field is declared once.
pub(crate) trait FromFields: Sized {
    /// Adds the fields, in the order of their declaration.
    fn describe(specs: &mut Vec<FieldSpec>);

    /// Reads every field; `None` when one is invalid, which `fields` then records.
    fn from_fields(fields: &mut Fields) -> Option<Self>;
}

/// The fields that a request type reads, in that order.
pub(crate) fn describe_fields<T: FromFields>() -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    T::describe(&mut specs);
    specs
}

/// The error of a conversion: the fields that its rules reject, and why.
#[derive(Debug)]
pub(crate) struct InvalidFields(pub(crate) Vec<(&'static str, FieldError)>);

impl InvalidFields {
    /// Checks rules: each is whether it is broken, the field that it then rejects, and why.
    pub(crate) fn check<const N: usize>(rules: [(bool, &'static str, FieldError); N]) -> Result<(), Self> {
        let broken = rules.into_iter().filter(|(broken, ..)| *broken).map(|(_, name, problem)| (name, problem));
        let problems: Vec<_> = broken.collect();
        if problems.is_empty() { Ok(()) } else { Err(Self(problems)) }
    }
}

impl From<Infallible> for InvalidFields {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Fields {
    /// Reads a complete request.
    pub(crate) fn parse<T: FromFields>(mut self) -> Result<T, FieldErrors> {
        let parsed = T::from_fields(&mut self);
        parsed.filter(|_| self.problems.is_empty()).ok_or(self.problems)
    }

    /// Reads a field; `None` when it is invalid.
    pub(crate) fn read<T: FieldValue>(&mut self, name: &'static str) -> Option<T> {
        let read = self.take(name).and_then(|given| given.map_or_else(T::missing, T::read));
        read.map_err(|problem| self.reject(name, problem)).ok()
    }

    /// Reads a field that has a default.
    pub(crate) fn read_or<T: FieldValue>(&mut self, name: &'static str, default: T) -> Option<T> {
        self.read::<Option<T>>(name).map(|given| given.unwrap_or(default))
    }

    /// Converts what was read; `None` when a rule of the conversion rejects fields.
    pub(crate) fn convert<T, U: TryInto<T, Error: Into<InvalidFields>>>(&mut self, read: U) -> Option<T> {
        let converted = read.try_into().map_err(Into::into);
        converted.map_err(|InvalidFields(all)| all.into_iter().for_each(|(name, why)| self.reject(name, why))).ok()
    }

    /// The texts that were given for a field, as often as it was given.
    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.given.iter().filter(move |(given, _)| given == name).map(|(_, value)| value);
        values.filter_map(GivenValue::as_text)
    }

    /// Rejects other fields in a query, where a misspelt name would silently allow more than intended.
    pub(crate) fn deny_unknown<T: FromFields>(&mut self) {
        let known: Vec<_> = describe_fields::<T>().into_iter().map(|spec| spec.name).collect();
        if self.given.iter().any(|(name, _)| !known.contains(&name.as_str())) {
            self.reject("query", FieldError::UnknownFields(known));
        }
    }

    fn reject(&mut self, name: &'static str, problem: FieldError) {
        self.problems.insert(name.into(), problem);
    }

    /// The value of a field; `None` where it is missing or null.
    fn take(&mut self, name: &str) -> Result<Option<GivenValue>, FieldError> {
        let mut found = self.given.iter_mut().filter(|(given, _)| given == name).map(|(_, value)| value);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(FieldError::Repeated),
            (value, None) => Ok(value.map(std::mem::take).filter(|value| !value.is_null())),
        }
    }
}

impl FromIterator<(String, String)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        let given = pairs.into_iter().map(|(name, value)| (name, GivenValue::Text(value))).collect();
        Self { given, ..Self::default() }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members(given) = Members::deserialize(deserializer)?;
        Ok(Self { given, ..Self::default() })
    }
}

/// The members of a JSON object, in their order and with repetitions.
pub(crate) struct Members<V>(pub(crate) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Object<V> {
            type Value = Members<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<V>, A::Error> {
                let mut members = Vec::with_capacity(2);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object(PhantomData))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
