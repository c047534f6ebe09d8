//! Parses the responses of platforms: lenient in spelling, strict in meaning.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::InvalidResponse;

/// A JSON object from the platform, or nested in one of its responses.
#[derive(Clone, Debug)]
pub struct ApiResponse(Map<String, Value>);

impl ApiResponse {
    /// Parses a body.
    pub fn read(body: &[u8]) -> Result<Self, InvalidResponse> {
        serde_json::from_slice(body).map_err(|_| InvalidResponse::NotJson)
    }

    /// The error code in this field; zero (success) if it is missing, as in some older responses.
    pub fn code(&self, name: &'static str) -> Result<i64, InvalidResponse> {
        if self.0.contains_key(name) { self.number(name).ok_or(InvalidResponse::MissingField(name)) } else { Ok(0) }
    }

    /// Whether there is such a field with a value.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// A text field that is not empty.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// A text field, also an empty one.
    #[must_use]
    pub fn any_text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// An integer field, or a text field that contains an integer.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        integer(self.0.get(name)?)
    }

    /// The first number of a list.
    #[must_use]
    pub fn first_number(&self, name: &str) -> Option<i64> {
        integer(self.0.get(name)?.as_array()?.first()?)
    }

    /// The texts of a list, if the field is a list.
    #[must_use]
    pub fn texts(&self, name: &str) -> Option<Vec<&str>> {
        self.0.get(name)?.as_array()?.iter().map(Value::as_str).collect()
    }

    /// A boolean field.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    /// The integers of a list, or the texts in it that are integers, if the field is a list of nothing else.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Option<Vec<i64>> {
        self.0.get(name)?.as_array()?.iter().map(integer).collect()
    }

    /// A nested object.
    #[must_use]
    pub fn object(&self, name: &str) -> Option<Self> {
        self.0.get(name)?.as_object().cloned().map(Self)
    }

    /// The objects of a list, if the field is a list of nothing else.
    #[must_use]
    pub fn objects(&self, name: &str) -> Option<Vec<Self>> {
        self.0.get(name)?.as_array()?.iter().map(|item| item.as_object().cloned().map(Self)).collect()
    }
}

fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

impl<'de> Deserialize<'de> for ApiResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match UniqueValue::deserialize(deserializer)?.0 {
            Value::Object(members) => Ok(Self(members)),
            _ => Err(D::Error::custom("not an object")),
        }
    }
}

/// A JSON value in which no object has two members of one name, at any depth: of two user ids neither can be trusted.
struct UniqueValue(Value);

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueMembers).map(Self)
    }
}

/// Reads a value, and refuses duplicate members.
struct UniqueMembers;

impl<'de> Visitor<'de> for UniqueMembers {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without duplicate members")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueValue(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, UniqueValue(value))) = entries.next_entry::<String, UniqueValue>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("duplicate member"));
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn errcode(body: &str) -> Result<i64, InvalidResponse> {
        ApiResponse::read(body.as_bytes())?.code("errcode")
    }

    #[test]
    fn an_error_code_may_be_absent_a_number_or_a_numeric_text() {
        for (body, code) in [("{}", 0), (r#"{"errcode":-1}"#, -1), (r#"{"errcode":"417"}"#, 417)] {
            assert_eq!(errcode(body), Ok(code), "{body}");
        }
        for value in ["0.0", "1e2", "null", "true", "{}", "[0]", "\"\"", "\" 0\"", "\"0x0\"", "9223372036854775808"] {
            let body = format!("{{\"errcode\":{value}}}");
            assert_eq!(errcode(&body), Err(InvalidResponse::MissingField("errcode")), "{body}");
        }
    }

    #[test]
    fn only_an_object_without_duplicate_members_is_a_response() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for body in ["", "[]", "[0,\"ok\"]", "null", "\"{}\"", "{} {}", r#"{"errcode":417,"errcode":0}"#, &deep] {
            assert_eq!(errcode(body), Err(InvalidResponse::NotJson), "{body:.40}");
        }
    }

    #[test]
    fn no_nested_object_has_duplicate_members() {
        for body in [
            r#"{"result":{"userid":"user01","userid":"user02"}}"#,
            r#"{"list":[{"userid":"user01"},{"userid":"user02","userid":"user03"}]}"#,
            r#"{"a":[[{"b":{"c":1,"c":1}}]]}"#,
        ] {
            assert_eq!(errcode(body), Err(InvalidResponse::NotJson), "{body}");
        }
        let body = r#"{"errcode":7,"a":{"b":[null,true,1.5,-1,18446744073709551615,"x\n"]},"c":{"b":1}}"#;
        assert_eq!(
            Value::Object(ApiResponse::read(body.as_bytes()).unwrap().0),
            serde_json::from_str::<Value>(body).unwrap()
        );
        assert_eq!(errcode(body), Ok(7));
    }

    #[test]
    fn members_of_another_type_do_not_count() {
        let answer = ApiResponse::read(br#"{"a":"","b":1,"c":["7"],"d":[],"e":{"f":"g"}}"#).unwrap();
        assert_eq!((answer.text("a"), answer.text("b"), answer.text("x")), (None, None, None));
        assert_eq!((answer.number("b"), answer.first_number("c"), answer.first_number("d")), (Some(1), Some(7), None));
        assert_eq!(answer.object("e").unwrap().text("f"), Some("g"));
    }
}
