//! Messages of the app's bot to users, and changes of its cards.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{FeishuCall, SERVER_ERROR, success};
use crate::address_book::{AddressBook, Person};
use crate::directory::PersonKind;
use crate::feishu::people;
use crate::feishu::refusal::Refused;
use crate::feishu::state::SentMessage;
use crate::feishu::switches::FeishuSwitches;
use crate::state::SimulatorState;

const MAX_UUID_CHARS: usize = 50;
const MAX_CARD_BYTES: usize = 30 * 1024;
/// How long a card can be changed.
const CARD_LIFETIME: Duration = Duration::from_hours(14 * 24);

const BAD_PARAMETER: i64 = 230_001;
const BAD_CARD: i64 = 230_099;

pub(super) fn send(ask: &FeishuCall<'_>, state: &mut SimulatorState) -> Result<Value, Refused> {
    let (call, fields) = (ask.call, ask.fields);
    if state.switches.feishu.no_bot {
        return Err(230_006.into());
    }
    let who = recipient(ask, &state.book, &state.switches.feishu)?;
    let kind = fields.non_empty("msg_type").ok_or(BAD_PARAMETER)?;
    let content = content(kind, &content_text(ask)?)?;
    let uuid = fields.non_empty("uuid");
    if uuid.is_some_and(|uuid| uuid.chars().count() > MAX_UUID_CHARS) {
        return Err(BAD_PARAMETER.into());
    }
    // The documentation says that the second one is not delivered, and not how it is answered.
    if let Some(before) = uuid.and_then(|uuid| state.feishu.repeated(uuid, call.now)) {
        return Ok(success(&json!({ "message_id": before.id, "msg_type": kind })));
    }
    let id = call.entropy.bytes().map(u128::from_be_bytes).map_err(|_| SERVER_ERROR)?;
    let (id, at) = (format!("om_{id:032x}"), call.now.millis());
    let message = json!({ "msgid": id, "at": at, "touser": [who.id], "msgtype": kind, kind: content });
    state.inbox.deliver(message, link(&content));
    let is_shared_card = kind == "interactive" && is_shared(&content);
    let (uuid, sent_at) = (uuid.map(str::to_owned), call.now);
    state.feishu.record(SentMessage { id: id.clone(), uuid, sent_at, is_shared_card });
    Ok(success(&json!({ "message_id": id, "msg_type": kind, "create_time": at.to_string(), "deleted": false })))
}

/// Replaces a card. Only cards that all readers share can be replaced, and only by such cards.
pub(super) fn update(ask: &FeishuCall<'_>, state: &mut SimulatorState) -> Result<Value, Refused> {
    let now = ask.call.now;
    let sent = state.feishu.message(ask.id).ok_or(99_992_354)?;
    if now >= sent.sent_at + CARD_LIFETIME {
        return Err(230_031.into());
    }
    let card = content("interactive", &content_text(ask)?)?;
    if !sent.is_shared_card || !is_shared(&card) {
        return Err(BAD_PARAMETER.into());
    }
    state.inbox.append(ask.id, "updates", json!({ "at": now.millis(), "interactive": card }));
    Ok(success(&json!({})))
}

fn recipient(ask: &FeishuCall<'_>, book: &AddressBook, switches: &FeishuSwitches) -> Result<Arc<Person>, Refused> {
    let kind = ask.call.query.non_empty("receive_id_type").ok_or(BAD_PARAMETER)?;
    let id = ask.fields.non_empty("receive_id").ok_or(BAD_PARAMETER)?;
    let who = people::find(kind, id, book).ok_or(230_034)?;
    let available = match who.kind {
        PersonKind::Member => true,
        PersonKind::Hidden => !switches.limited_availability,
        PersonKind::Disabled | PersonKind::Left | PersonKind::Outsider | PersonKind::Partner => false,
    };
    if available { Ok(who) } else { Err(230_013.into()) }
}

/// The content, which is JSON in a text; an object is not accepted.
fn content_text(ask: &FeishuCall<'_>) -> Result<String, Refused> {
    let body: Map<String, Value> = serde_json::from_slice(ask.call.body).map_err(|_| BAD_PARAMETER)?;
    body.get("content").and_then(Value::as_str).map(str::to_owned).ok_or(BAD_PARAMETER.into())
}

/// What is shown, in the shape that the inbox has on all platforms.
fn content(kind: &str, content: &str) -> Result<Value, Refused> {
    let fields: Option<Map<String, Value>> = serde_json::from_str(content).ok();
    match kind {
        "text" => {
            let text = fields.as_ref().and_then(|fields| fields.get("text")).and_then(Value::as_str);
            let text = text.filter(|text| !text.is_empty()).ok_or(BAD_PARAMETER)?;
            Ok(json!({ "content": text }))
        }
        "interactive" if content.len() > MAX_CARD_BYTES => Err(230_025.into()),
        "interactive" => {
            let is_card = |fields: &Map<String, Value>| fields.get("elements").is_some_and(Value::is_array);
            fields.filter(is_card).map(Value::Object).ok_or(BAD_CARD.into())
        }
        _ => Err(BAD_PARAMETER.into()),
    }
}

/// The address that the first button of a card opens.
fn link(card: &Value) -> Option<&str> {
    let elements = card.get("elements").and_then(Value::as_array)?.iter();
    let mut buttons = elements.filter_map(|element| element.get("actions")?.as_array()).flatten();
    buttons.find_map(|button| button.get("url")?.as_str())
}

fn is_shared(card: &Value) -> bool {
    card.pointer("/config/update_multi") == Some(&Value::Bool(true))
}
