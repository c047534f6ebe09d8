//! Parses the responses of platforms: lenient in spelling, strict in meaning.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
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
        deserializer.deserialize_map(UniqueMembers)
    }
}

/// Accepts only an object without duplicate keys: of two user ids neither can be trusted.
struct UniqueMembers;

impl<'de> Visitor<'de> for UniqueMembers {
    type Value = ApiResponse;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<ApiResponse, A::Error> {
        let mut map = Map::new();
        while let Some((name, value)) = entries.next_entry::<String, Value>()? {
            if map.insert(name, value).is_some() {
                return Err(A::Error::custom("duplicate member"));
            }
        }
        Ok(ApiResponse(map))
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
    fn members_of_another_type_do_not_count() {
        let answer = ApiResponse::read(br#"{"a":"","b":1,"c":["7"],"d":[],"e":{"f":"g"}}"#).unwrap();
        assert_eq!((answer.text("a"), answer.text("b"), answer.text("x")), (None, None, None));
        assert_eq!((answer.number("b"), answer.first_number("c"), answer.first_number("d")), (Some(1), Some(7), None));
        assert_eq!(answer.object("e").unwrap().text("f"), Some("g"));
    }
}
