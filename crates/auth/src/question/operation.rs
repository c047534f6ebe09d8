//! The operation that a phone shows and approves: what it means, not how it is spelled. A request can be spelled so that its reader
//! misses what it does: with escapes, padding, a member that is repeated, or a query that no route reads.

use std::fmt;

use deskpass_core::{QuestionSubject, ShownField, is_blank, is_invisible, operation_digest};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// The maximum length of a body in bytes. What a phone does not show cannot be approved, so longer ones are not asked about.
pub const MAX_SHOWN_BODY: usize = 4_096;

/// The maximum length of a path in bytes.
pub const MAX_SHOWN_PATH: usize = 512;

/// An operation, as it will be sent, of which a phone can show everything.
#[derive(Clone, Debug)]
pub struct Operation {
    method: String,
    path: String,
    body: String,
    fields: Vec<ShownField>,
    /// What it does, in English and Chinese.
    summary: [String; 2],
}

/// Why a phone cannot show an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnshowableOperation {
    /// The path has a query or escapes.
    Path,
    /// The path is longer than [`MAX_SHOWN_PATH`].
    PathTooLong,
    /// The body is not a JSON object with plain names, each at most once.
    Body,
    /// The body is longer than [`MAX_SHOWN_BODY`].
    BodyTooLong,
}

impl Operation {
    /// An operation with its exact body, which may be empty.
    pub fn parse(
        method: String,
        path: String,
        body: String,
        summary: [String; 2],
    ) -> Result<Self, UnshowableOperation> {
        if path.len() > MAX_SHOWN_PATH {
            return Err(UnshowableOperation::PathTooLong);
        }
        if !path.bytes().all(is_plain) {
            return Err(UnshowableOperation::Path);
        }
        if body.len() > MAX_SHOWN_BODY {
            return Err(UnshowableOperation::BodyTooLong);
        }
        let fields = shown_fields(&body).ok_or(UnshowableOperation::Body)?;
        Ok(Self { method, path, body, fields, summary })
    }

    /// What it does, in English and Chinese.
    #[must_use]
    pub fn summary(&self) -> &[String; 2] {
        &self.summary
    }

    /// The detail of its row in the audit log.
    pub(super) fn detail(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// What a question about it is about.
    pub(super) fn into_subject(self) -> QuestionSubject {
        let Self { method, path, body, fields, summary } = self;
        let operation = operation_digest(&method, &path, body.as_bytes());
        let body = spelled_out(&body, |character| character != '\n');
        QuestionSubject::Approval { operation, method, path, body, fields, summary }
    }
}

/// Whether a byte of a path stands for itself, and ends neither the path nor the address.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'%' | b'?' | b'#' | b'\\')
}

/// A text in which characters that are invisible, look blank or reorder others are spelled out where `is_spelled` agrees.
fn spelled_out(text: &str, is_spelled: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if (is_invisible(character) || is_blank(character)) && is_spelled(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// The fields of a body; `None` if it is not a JSON object, or could be read in two ways.
fn shown_fields(body: &str) -> Option<Vec<ShownField>> {
    let mut fields = Vec::new();
    if !body.is_empty() {
        let ShownValue::Object(members) = serde_json::from_str(body).ok()? else { return None };
        for (name, value) in members {
            value.flatten(name, &mut fields);
        }
    }
    Some(fields)
}

/// A value of JSON, as people read it.
enum ShownValue {
    Scalar(String),
    List(Vec<ShownValue>),
    Object(Vec<(String, ShownValue)>),
}

impl ShownValue {
    /// Adds the fields of a value with this name. An empty list or object is a field, too: it may empty what is there.
    fn flatten(self, name: String, fields: &mut Vec<ShownField>) {
        match self {
            Self::Scalar(value) => fields.push(ShownField { name, value }),
            Self::List(items) if items.is_empty() => fields.push(ShownField { name, value: "[]".to_owned() }),
            Self::Object(members) if members.is_empty() => fields.push(ShownField { name, value: "{}".to_owned() }),
            Self::List(items) => {
                for (place, item) in items.into_iter().enumerate() {
                    item.flatten(format!("{name}.{place}"), fields);
                }
            }
            Self::Object(members) => {
                for (member, value) in members {
                    value.flatten(format!("{name}.{member}"), fields);
                }
            }
        }
    }
}

impl<'de> Deserialize<'de> for ShownValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShownValueVisitor)
    }
}

struct ShownValueVisitor;

impl<'de> Visitor<'de> for ShownValueVisitor {
    type Value = ShownValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON with plain names, each at most once in its object")
    }

    fn visit_unit<E>(self) -> Result<ShownValue, E> {
        Ok(ShownValue::Scalar("null".to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<ShownValue, E> {
        Ok(ShownValue::Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ShownValue, E> {
        Ok(ShownValue::Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<ShownValue, E> {
        Ok(ShownValue::Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<ShownValue, E> {
        Ok(ShownValue::Scalar(value.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<ShownValue, E> {
        Ok(ShownValue::Scalar(spelled_out(text, |_| true)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ShownValue, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(ShownValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ShownValue, A::Error> {
        let mut members: Vec<(String, ShownValue)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, ShownValue>()? {
            // Of two members with the same name, parsers take one or the other.
            if !is_plain_name(&name) || members.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom("a name is repeated, or has other characters than letters and digits"));
            }
            members.push((name, value));
        }
        Ok(ShownValue::Object(members))
    }
}

/// Whether a name reads as it is, also beside names with dots between them.
fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const PATH: &str = "/api/admin/roles/user-roles";

    fn parse(path: &str, body: &str) -> Result<Operation, UnshowableOperation> {
        let summary = ["Do it".to_owned(), "执行".to_owned()];
        Operation::parse("PUT".to_owned(), path.to_owned(), body.to_owned(), summary)
    }

    fn fields(body: &str) -> Vec<(String, String)> {
        let fields = parse(PATH, body).unwrap().fields;
        fields.into_iter().map(|field| (field.name, field.value)).collect()
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    #[test]
    fn a_phone_shows_what_a_body_means_however_it_is_spelled() {
        let plain = r#"{"note":"routine","employee_id":"evil","roles":["admin","agent"]}"#;
        let padding = " ".repeat(3_000);
        let spelled = format!(
            "{{\"note\":\"routine\",{padding}\"employee_id\":\"\\u0065\\u0076\\u0069\\u006c\",\n\"r\\u006fles\":[\"\\u0061dmin\", \"agent\"]}}"
        );
        let shown = pairs([("note", "routine"), ("employee_id", "evil"), ("roles.0", "admin"), ("roles.1", "agent")]);
        assert_eq!(fields(plain), shown);
        assert_eq!(fields(&spelled), shown);
    }

    #[test]
    fn nested_and_empty_values_are_fields_and_nothing_is_invisible() {
        let body = r#"{"rules":{"admin":["10.0.0.0/8"],"agent":[]},"on":true,"n":-7,"none":null,"x":{},"t":"a\u202eb\u200b\n\u00a0\u2800\u3164 c"}"#;
        let shown = pairs([
            ("rules.admin.0", "10.0.0.0/8"),
            ("rules.agent", "[]"),
            ("on", "true"),
            ("n", "-7"),
            ("none", "null"),
            ("x", "{}"),
            ("t", "a\\u{202e}b\\u{200b}\\u{a}\\u{a0}\\u{2800}\\u{3164} c"),
        ]);
        assert_eq!(fields(body), shown);
        assert_eq!(fields(""), pairs([]));
        assert_eq!(fields("{}"), pairs([]));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_asked_about() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_SHOWN_BODY));
        for (body, why) in [
            ("{\"a\":1,\"a\":2}", UnshowableOperation::Body),
            ("{\"a\":1,\"\\u0061\":2}", UnshowableOperation::Body),
            ("{\"a\":{\"b\":1,\"b\":2}}", UnshowableOperation::Body),
            ("{\"roles.0\":\"agent\",\"roles\":[\"admin\"]}", UnshowableOperation::Body),
            ("{\"a\\u200b\":1}", UnshowableOperation::Body),
            ("{\"\":1}", UnshowableOperation::Body),
            ("[1]", UnshowableOperation::Body),
            ("\"a\"", UnshowableOperation::Body),
            (" ", UnshowableOperation::Body),
            ("{}{}", UnshowableOperation::Body),
            ("a=b", UnshowableOperation::Body),
            (&*long, UnshowableOperation::BodyTooLong),
        ] {
            assert_eq!(parse(PATH, body).err(), Some(why), "{body}");
        }
    }

    #[test]
    fn a_path_is_plain() {
        let longest = format!("/{}", "a".repeat(MAX_SHOWN_PATH - 1));
        for path in ["/api/admin/agents/zhang.san@example/reset-otp", PATH, &*longest] {
            assert!(parse(path, "").is_ok(), "{path}");
        }
        for path in ["/a?b", "/a?", "/%7Ahang", "/a#b", "/a b", "/a\n", "/张", "/a\\b"] {
            assert_eq!(parse(path, "").err(), Some(UnshowableOperation::Path), "{path}");
        }
        assert_eq!(parse(&format!("{longest}a"), "").err(), Some(UnshowableOperation::PathTooLong));
    }

    #[test]
    fn the_digest_is_of_the_exact_bytes() {
        let body = "{\"a\": \"\u{202e}b\",\n\"c\": \"张\"}";
        let subject = parse(PATH, body).unwrap().into_subject();
        let QuestionSubject::Approval { operation, body: shown, .. } = subject else {
            unreachable!("an operation was to be approved")
        };
        assert_eq!(operation, operation_digest("PUT", PATH, body.as_bytes()));
        assert_eq!(shown, "{\"a\": \"\\u{202e}b\",\n\"c\": \"张\"}");
    }
}
