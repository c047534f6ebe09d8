//! Reads messages. What is to go out untouched is never taken apart, only looked at.

use std::collections::HashSet;
use std::fmt;

use axum::extract::{FromRequest, Request};
use deskpass_core::{
    Chunk, CorpId, EmployeeId, Message, MessageKind, OpenFrame, Recipient, Role, SocketKind, StreamId,
};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Desk;
use crate::http::answer::Window;
use crate::http::extract::JsonText;
use crate::http::failure::{BadRequest, Failure};
use crate::http::fields::{Problem, Problems};
use crate::http::login::iso;
use crate::http::openapi::{Asks, Sheet};

/// The most that is taken at once, in messages, in bytes and in recipients of one.
const MESSAGES: usize = 100;
const BYTES: usize = 1 << 20;
const RECIPIENTS: usize = 1_000;

const TO: [&str; 2] = [
    "must be {\"employee_id\"} or {\"role\"}, perhaps with \"corp_id\", or a list of 1 to 1000 of those",
    "必须是 {\"employee_id\"} 或 {\"role\"}（可带 \"corp_id\"），或由 1 到 1000 个此类对象组成的列表",
];
const MANY: [&str; 2] = ["must be a list of 1 to 100 messages", "必须是 1 到 100 条消息的列表"];
const STREAM: [&str; 2] = ["must be 1 to 64 printable ASCII characters", "必须是 1 到 64 个可打印的 ASCII 字符"];
const CONTENT: [&str; 2] =
    ["must be an object with stream_id, seq, text and done", "必须是包含 stream_id、seq、text 和 done 的对象"];

/// Messages to be sent, read and checked.
pub(in crate::http) struct Posting(pub(super) Vec<Message>);

impl FromRequest<Window> for Posting {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let JsonText(text) = JsonText::up_to(BYTES, request, window).await?;
        let given: Given = serde_json::from_str(&text).map_err(|_| BadRequest::NotJson)?;
        let mut reading = Reading { desk: &window.desk, problems: Problems::new() };
        let messages = reading.all(&given);
        if !reading.problems.is_empty() {
            return Err(BadRequest::Fields(reading.problems).into());
        }
        Ok(Self(messages))
    }
}

impl Asks for Posting {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_body_like(form);
    }
}

/// The members of an object, as they are.
struct Given<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Given<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Given<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Given<'de>, A::Error> {
                let mut members = Vec::with_capacity(5);
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Given(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Reads messages, and notes what is wrong with them.
struct Reading<'a> {
    desk: &'a Desk,
    problems: Problems,
}

#[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
impl Reading<'_> {
    fn all(&mut self, given: &Given<'_>) -> Vec<Message> {
        let Some(many) = self.member(given, "", "messages").flatten() else {
            return self.one(given, "").into_iter().collect();
        };
        let many: Vec<Given<'_>> = serde_json::from_str(many.get()).unwrap_or_default();
        if !(1..=MESSAGES).contains(&many.len()) {
            self.refuse("", "messages", Problem::Form(MANY));
            return Vec::new();
        }
        let within = |place: usize| format!("messages[{place}].");
        many.iter().enumerate().filter_map(|(place, given)| self.one(given, &within(place))).collect()
    }

    fn one(&mut self, given: &Given<'_>, within: &str) -> Option<Message> {
        let (kind, to) = (self.kind(given, within), self.to(given, within));
        let socket = self.socket(given, within);
        let content = self.member(given, within, "content")?;
        let extra_data = self.member(given, within, "extra_data")?;
        let (kind, to, socket) = (kind?, to?, socket?);
        let chunk = match kind {
            MessageKind::Typewriter => Some(self.chunk(content, within)?),
            _ => None,
        };
        let ts = iso(self.desk.auth.clock.now());
        let frame = OpenFrame::new(kind, content.map(RawValue::get), extra_data.map(RawValue::get), &ts);
        if frame.is_none() {
            self.refuse(within, "content", Problem::TooLong(OpenFrame::LONGEST));
        }
        Some(Message { to, socket, chunk, frame: frame? })
    }

    /// A member, if it is there; the outer `None` where it is there twice.
    fn member<'a>(&mut self, given: &Given<'a>, within: &str, name: &'static str) -> Option<Option<&'a RawValue>> {
        let mut found = given.0.iter().filter(|(other, _)| other == name).map(|(_, value)| *value);
        let (first, second) = (found.next(), found.next());
        if second.is_some() {
            self.refuse(within, name, Problem::Twice);
            return None;
        }
        Some(first)
    }

    fn value(&mut self, given: &Given<'_>, within: &str, name: &'static str) -> Option<Value> {
        let found = self.member(given, within, name)?;
        Some(found.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default())
    }

    fn kind(&mut self, given: &Given<'_>, within: &str) -> Option<MessageKind> {
        let kind = match self.value(given, within, "msg_type")? {
            Value::Null => Err(Problem::Required),
            value => value.as_str().and_then(MessageKind::posted).ok_or(Problem::NotOneOf(&MessageKind::NAMES)),
        };
        self.check(within, "msg_type", kind)
    }

    fn socket(&mut self, given: &Given<'_>, within: &str) -> Option<Option<SocketKind>> {
        match self.value(given, within, "socket")? {
            Value::Null => Some(None),
            value => {
                let socket = value.as_str().and_then(SocketKind::from_name);
                self.check(within, "socket", socket.ok_or(Problem::NotOneOf(&SocketKind::NAMES))).map(Some)
            }
        }
    }

    fn to(&mut self, given: &Given<'_>, within: &str) -> Option<Vec<Recipient>> {
        let to = match self.value(given, within, "to")? {
            Value::Null => Err(Problem::Required),
            Value::Array(many) if (1..=RECIPIENTS).contains(&many.len()) => {
                many.iter().map(|one| recipient(self.desk, one)).collect()
            }
            one => recipient(self.desk, &one).map(|one| vec![one]),
        };
        let mut to = self.check(within, "to", to)?;
        let mut named = HashSet::new();
        to.retain(|one| named.insert(one.clone()));
        Some(to)
    }

    /// The place of a piece in its stream, which is all that is looked at.
    fn chunk(&mut self, content: Option<&RawValue>, within: &str) -> Option<Chunk> {
        let content: Option<Given<'_>> = content.and_then(|content| serde_json::from_str(content.get()).ok());
        let Some(Given(members)) = content else {
            self.refuse(within, "content", Problem::Form(CONTENT));
            return None;
        };
        // The last one of a name counts, as it does in browsers.
        let member = |name: &str| members.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.get());
        let member = |name: &str| member(name).and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
        let stream = member("stream_id").as_str().and_then(StreamId::parse);
        let stream = self.check(within, "content.stream_id", stream.ok_or(Problem::Form(STREAM)));
        let seq = member("seq").as_u64().filter(|seq| *seq <= Chunk::LAST);
        let seq = self.check(within, "content.seq", seq.ok_or(Problem::NotCount(0, Chunk::LAST)));
        let text = member("text").is_string();
        let text = self.check(within, "content.text", text.then_some(()).ok_or(Problem::NotText));
        let done = member("done").as_bool();
        let done = self.check(within, "content.done", done.ok_or(Problem::NotFlag));
        text.and(Some(Chunk { stream: stream?, seq: seq?, done: done? }))
    }

    fn check<T>(&mut self, within: &str, name: &'static str, checked: Result<T, Problem>) -> Option<T> {
        checked.map_err(|problem| self.refuse(within, name, problem)).ok()
    }

    fn refuse(&mut self, within: &str, name: &'static str, problem: Problem) {
        self.problems.insert(format!("{within}{name}").into(), problem);
    }
}

/// Whom an object names.
fn recipient(desk: &Desk, one: &Value) -> Result<Recipient, Problem> {
    let member = |name: &str| one.get(name).filter(|value| !value.is_null());
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(Problem::Form(TO));
    let corp = member("corp_id").map(text).transpose()?;
    let corp = corp.map(|corp| CorpId::parse(&corp)).transpose().map_err(Problem::Id)?;
    match (member("employee_id"), member("role")) {
        (Some(id), None) => {
            let id = EmployeeId::parse(&text(id)?).map_err(Problem::Id)?;
            Ok(Recipient::Person(desk.auth.key(corp.as_ref(), &id)))
        }
        (None, Some(role)) => {
            let role = Role::from_name(&text(role)?).ok_or(Problem::NotOneOf(&Role::NAMES))?;
            Ok(Recipient::Role(corp.unwrap_or_else(|| desk.auth.policy.home.clone()), role))
        }
        _ => Err(Problem::Form(TO)),
    }
}

/// What a request looks like.
fn form() -> Value {
    let corp = json!({ "type": "string" });
    let to = json!({ "oneOf": [
        {
            "type": "object", "required": ["employee_id"],
            "properties": { "corp_id": corp, "employee_id": { "type": "string" }, "role": { "type": "null" } },
        },
        {
            "type": "object", "required": ["role"],
            "properties": { "corp_id": corp, "role": { "enum": Role::NAMES }, "employee_id": { "type": "null" } },
        },
    ] });
    let message = json!({
        "type": "object",
        "required": ["to", "msg_type"],
        "properties": {
            "to": { "anyOf": [to, { "type": "array", "items": to, "minItems": 1, "maxItems": RECIPIENTS }] },
            "socket": { "enum": SocketKind::NAMES },
            "msg_type": { "enum": MessageKind::NAMES },
            "content": { "description": "Anything; of a typewriter, an object with stream_id, seq, text and done" },
            "extra_data": { "description": "Anything; it reaches clients byte for byte" },
        },
    });
    let many = json!({
        "type": "object",
        "required": ["messages"],
        "properties": { "messages": { "type": "array", "items": message, "minItems": 1, "maxItems": MESSAGES } },
    });
    json!({ "anyOf": [message, many] })
}
