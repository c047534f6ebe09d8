//! Reads messages. Content that is forwarded unchanged is checked but never re-serialized, and a batch names its invalid fields by
//! position, so messages are not read as a derived struct.

use std::collections::HashSet;

use axum::extract::{FromRequest, Request};
use deskpass_core::{
    Chunk, CorpId, EmployeeId, FrameDraft, Message, MessageKind, Recipient, Role, SocketKind, StreamId,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::App;
use crate::http::error::{ApiError, BadRequest, FieldError, FieldErrors};
use crate::http::request::{BodySpec, DescribeInput, InputSpec, Members, RequestContext, json_text};
use crate::timestamp::rfc3339;

/// The limits of a request: messages, bytes, and recipients of a message.
const MAX_MESSAGES: usize = 100;

const MAX_BODY_BYTES: usize = 1 << 20;

const MAX_RECIPIENTS: usize = 1_000;

const TO_RULE: [&str; 2] = [
    "must be {\"employee_id\"} or {\"role\"}, optionally with \"corp_id\", or a list of 1 to 1000 of these",
    "必须是 {\"employee_id\"} 或 {\"role\"}（可带 \"corp_id\"），或由 1 到 1000 个此类对象组成的列表",
];

const MESSAGES_RULE: [&str; 2] = ["must be a list of 1 to 100 messages", "必须是 1 到 100 条消息的列表"];

const STREAM_ID_RULE: [&str; 2] =
    ["must be 1 to 64 printable ASCII characters", "必须是 1 到 64 个可打印的 ASCII 字符"];
const CONTENT_RULE: [&str; 2] =
    ["must be an object with stream_id, seq, text and done", "必须是包含 stream_id、seq、text 和 done 的对象"];

/// The messages of a request, parsed and validated.
pub(crate) struct PostedMessages(pub(super) Vec<Message>);

impl FromRequest<RequestContext> for PostedMessages {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let text = json_text(MAX_BODY_BYTES, request, context).await?;
        let given: RawObject = serde_json::from_str(&text).map_err(|_| BadRequest::NotJson)?;
        let mut reader = MessageReader { app: &context.app.newest(), problems: FieldErrors::new() };
        let messages = reader.all(&given);
        if !reader.problems.is_empty() {
            return Err(BadRequest::Fields(reader.problems).into());
        }
        Ok(Self(messages))
    }
}

impl DescribeInput for PostedMessages {
    fn describe_input(spec: &mut InputSpec) {
        let (fields, kinds) = (Vec::new(), &["application/json"]);
        spec.body = Some(BodySpec { fields, form: Some(body_schema), required: true, kinds });
    }
}

/// The members of an object, unparsed.
type RawObject<'a> = Members<&'a RawValue>;

/// Reads messages, and collects their errors.
struct MessageReader<'a> {
    app: &'a App,
    problems: FieldErrors,
}

#[expect(clippy::option_option, reason = "None: invalid and already reported; Some(None): absent")]
impl MessageReader<'_> {
    fn all(&mut self, given: &RawObject<'_>) -> Vec<Message> {
        let Some(many) = self.member(given, "", "messages").flatten() else {
            return self.one(given, "").into_iter().collect();
        };
        let many: Vec<RawObject<'_>> = serde_json::from_str(many.get()).unwrap_or_default();
        if !(1..=MAX_MESSAGES).contains(&many.len()) {
            self.reject("", "messages", FieldError::Format(MESSAGES_RULE));
            return Vec::new();
        }
        let within = |place: usize| format!("messages[{place}].");
        many.iter().enumerate().filter_map(|(place, given)| self.one(given, &within(place))).collect()
    }

    fn one(&mut self, given: &RawObject<'_>, within: &str) -> Option<Message> {
        let (kind, to) = (self.kind(given, within), self.to(given, within));
        let socket = self.socket(given, within);
        let content = self.member(given, within, "content")?;
        let extra_data = self.member(given, within, "extra_data")?;
        let (kind, to, socket) = (kind?, to?, socket?);
        let chunk = match kind {
            MessageKind::Typewriter => Some(self.chunk(content, within)?),
            _ => None,
        };
        let ts = rfc3339(self.app.auth.clock.now());
        let frame = FrameDraft::new(kind, content.map(RawValue::get), extra_data.map(RawValue::get), &ts);
        if frame.is_none() {
            self.reject(within, "content", FieldError::TooLong(FrameDraft::MAX_BYTES));
        }
        Some(Message { to, socket, chunk, frame: frame? })
    }

    /// A member, if it is present; the outer `None` where it is present twice.
    fn member<'a>(&mut self, given: &RawObject<'a>, within: &str, name: &'static str) -> Option<Option<&'a RawValue>> {
        let mut found = given.0.iter().filter(|(other, _)| other == name).map(|(_, value)| *value);
        let (first, second) = (found.next(), found.next());
        if second.is_some() {
            self.reject(within, name, FieldError::Repeated);
            return None;
        }
        Some(first)
    }

    fn value(&mut self, given: &RawObject<'_>, within: &str, name: &'static str) -> Option<Value> {
        let found = self.member(given, within, name)?;
        Some(found.and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default())
    }

    fn kind(&mut self, given: &RawObject<'_>, within: &str) -> Option<MessageKind> {
        let kind = match self.value(given, within, "msg_type")? {
            Value::Null => Err(FieldError::Required),
            value => value.as_str().and_then(MessageKind::posted).ok_or(FieldError::NotOneOf(&MessageKind::NAMES)),
        };
        self.check(within, "msg_type", kind)
    }

    fn socket(&mut self, given: &RawObject<'_>, within: &str) -> Option<Option<SocketKind>> {
        match self.value(given, within, "socket")? {
            Value::Null => Some(None),
            value => {
                let socket = value.as_str().and_then(SocketKind::from_name);
                self.check(within, "socket", socket.ok_or(FieldError::NotOneOf(&SocketKind::NAMES))).map(Some)
            }
        }
    }

    fn to(&mut self, given: &RawObject<'_>, within: &str) -> Option<Vec<Recipient>> {
        let to = match self.value(given, within, "to")? {
            Value::Null => Err(FieldError::Required),
            Value::Array(many) if (1..=MAX_RECIPIENTS).contains(&many.len()) => {
                many.iter().map(|one| recipient(self.app, one)).collect()
            }
            one => recipient(self.app, &one).map(|one| vec![one]),
        };
        let mut to = self.check(within, "to", to)?;
        let mut named = HashSet::new();
        to.retain(|one| named.insert(one.clone()));
        Some(to)
    }

    /// The position of a chunk in its stream; the rest of the content is not examined.
    fn chunk(&mut self, content: Option<&RawValue>, within: &str) -> Option<Chunk> {
        let content: Option<RawObject<'_>> = content.and_then(|content| serde_json::from_str(content.get()).ok());
        let Some(Members(members)) = content else {
            self.reject(within, "content", FieldError::Format(CONTENT_RULE));
            return None;
        };
        // The last member of a name counts, as in browsers.
        let member = |name: &str| members.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.get());
        let member = |name: &str| member(name).and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
        let stream = member("stream_id").as_str().and_then(StreamId::parse);
        let stream = self.check(within, "content.stream_id", stream.ok_or(FieldError::Format(STREAM_ID_RULE)));
        let seq = member("seq").as_u64().filter(|seq| *seq <= Chunk::MAX_SEQ);
        let seq = self.check(within, "content.seq", seq.ok_or(FieldError::NotInteger(0, Chunk::MAX_SEQ)));
        let text = member("text").is_string();
        let text = self.check(within, "content.text", text.then_some(()).ok_or(FieldError::NotString));
        let done = member("done").as_bool();
        let done = self.check(within, "content.done", done.ok_or(FieldError::NotBoolean));
        text.and(Some(Chunk { stream: stream?, seq: seq?, done: done? }))
    }

    fn check<T>(&mut self, within: &str, name: &'static str, checked: Result<T, FieldError>) -> Option<T> {
        checked.map_err(|problem| self.reject(within, name, problem)).ok()
    }

    fn reject(&mut self, within: &str, name: &'static str, problem: FieldError) {
        self.problems.insert(format!("{within}{name}").into(), problem);
    }
}

/// The recipient that an object names.
fn recipient(app: &App, one: &Value) -> Result<Recipient, FieldError> {
    let member = |name: &str| one.get(name).filter(|value| !value.is_null());
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(FieldError::Format(TO_RULE));
    let corp = member("corp_id").map(text).transpose()?;
    let corp = corp.map(|corp| CorpId::parse(&corp)).transpose().map_err(FieldError::Id)?;
    match (member("employee_id"), member("role")) {
        (Some(id), None) => {
            let id = EmployeeId::parse(&text(id)?).map_err(FieldError::Id)?;
            Ok(Recipient::Person(app.auth.resolve_key(corp.as_ref(), &id)))
        }
        (None, Some(role)) => {
            let role = Role::from_name(&text(role)?).ok_or(FieldError::NotOneOf(&Role::NAMES))?;
            Ok(Recipient::Role(corp.unwrap_or_else(|| app.auth.policy.home_corp.clone()), role))
        }
        _ => Err(FieldError::Format(TO_RULE)),
    }
}

/// The schema of a request.
fn body_schema() -> Value {
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
            "to": { "anyOf": [to, { "type": "array", "items": to, "minItems": 1, "maxItems": MAX_RECIPIENTS }] },
            "socket": { "enum": SocketKind::NAMES },
            "msg_type": { "enum": MessageKind::NAMES },
            "content": { "description": "Any JSON; for a typewriter message, an object with stream_id, seq, text and \
                                         done" },
            "extra_data": { "description": "Any JSON; passed to clients unchanged" },
        },
    });
    let many = json!({
        "type": "object",
        "required": ["messages"],
        "properties": { "messages": { "type": "array", "items": message, "minItems": 1, "maxItems": MAX_MESSAGES } },
    });
    json!({ "anyOf": [message, many] })
}
