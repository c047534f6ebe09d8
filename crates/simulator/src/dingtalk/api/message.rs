//! Work notices: the answer is a success whatever becomes of the message, and the result says what became of it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{BAD_PARAMETER, JsonFields, body, fields, number, text};
use crate::address_book::{AddressBook, Person};
use crate::call::ApiCall;
use crate::dingtalk::people;
use crate::dingtalk::refusal::Refused;
use crate::directory::PersonKind;
use crate::state::SimulatorState;

const MAX_MESSAGE_BYTES: usize = 2_048;
const MAX_RECIPIENTS: usize = 100;
/// The same text reaches a member once in this time.
const DUPLICATE_SPAN: Duration = Duration::from_hours(24);
/// The reasons in a result: too many messages today, and a repeated text.
const DAILY_LIMIT: i64 = 143_105;
const REPEATED: i64 = 143_106;

pub(super) fn send(call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    check_agent(call, &body)?;
    let message = body.get("msg").filter(|message| message.to_string().len() <= MAX_MESSAGE_BYTES);
    let message = message.ok_or(BAD_PARAMETER)?;
    let (kind, content) = content(message)?;
    let recipients = Recipients::of(&body, &state.book)?;
    let mut reached = Vec::new();
    let mut forbidden = Vec::new();
    for who in recipients.valid {
        match refusal(&who, message, call, state) {
            None => reached.push(who.id.clone()),
            Some(code) => forbidden.push(json!({ "code": code, "count": 0, "userid": who.id })),
        }
    }
    let task_id = call.entropy.bytes().map(u32::from_be_bytes).map_err(|_| -1)?;
    let result = json!({
        "invalid_user_id_list": recipients.invalid,
        "forbidden_list": forbidden,
        "failed_user_id_list": [],
        "read_user_id_list": [],
        "unread_user_id_list": reached,
    });
    state.dingtalk.keep_result(task_id.into(), result, call.now);
    if !reached.is_empty() {
        let (message_id, at) = (task_id.to_string(), call.now.millis());
        let url = content.get("single_url").and_then(Value::as_str);
        let message = json!({ "msgid": message_id, "at": at, "touser": reached, "msgtype": kind, kind: content });
        state.inbox.deliver(message, url);
    }
    Ok(fields(json!({ "task_id": task_id })))
}

pub(super) fn result(call: &ApiCall<'_>, state: &SimulatorState) -> Result<JsonFields, Refused> {
    let body = body(call)?;
    check_agent(call, &body)?;
    let task_id = number(&body, "task_id").ok_or(BAD_PARAMETER)?;
    let found = state.dingtalk.result(task_id, call.now).ok_or(BAD_PARAMETER)?;
    Ok(fields(json!({ "send_result": found })))
}

fn check_agent(call: &ApiCall<'_>, body: &JsonFields) -> Result<(), Refused> {
    let agent = number(body, "agent_id").map(|agent| agent.to_string());
    if agent.as_ref() == Some(&call.config.agent_id) { Ok(()) } else { Err(40056.into()) }
}

/// Why the message does not reach this member, although the platform reports success.
fn refusal(who: &Person, message: &Value, call: &ApiCall<'_>, state: &mut SimulatorState) -> Option<i64> {
    if state.inbox.repeats(&json!({ "to": who.id, "msg": message }), DUPLICATE_SPAN, call.now) {
        return Some(REPEATED);
    }
    (!state.dingtalk.count_message(&who.id, call.now)).then_some(DAILY_LIMIT)
}

struct Recipients {
    valid: Vec<Arc<Person>>,
    invalid: Vec<String>,
}

impl Recipients {
    fn of(body: &JsonFields, book: &AddressBook) -> Result<Self, Refused> {
        if body.get("to_all_user") == Some(&Value::Bool(true)) {
            let valid = book.people().filter(|who| is_reachable(who)).cloned().collect();
            return Ok(Self { valid, invalid: Vec::new() });
        }
        let list: Vec<_> = text(body, "userid_list").ok_or(BAD_PARAMETER)?.split(',').collect();
        if list.len() > MAX_RECIPIENTS {
            return Err(BAD_PARAMETER.into());
        }
        let found = |id: &&str| people::member(id, book).filter(|who| is_reachable(who));
        let valid = list.iter().filter_map(found).collect();
        let invalid = list.iter().filter(|id| found(id).is_none()).map(|id| (*id).to_owned()).collect();
        Ok(Self { valid, invalid })
    }
}

fn is_reachable(who: &Person) -> bool {
    who.kind == PersonKind::Member
}

/// The kind and the content of a message.
fn content(message: &Value) -> Result<(&str, &Value), Refused> {
    let kind = message.get("msgtype").and_then(Value::as_str).unwrap_or_default();
    let content = message.get(kind).filter(|content| content.is_object()).ok_or(BAD_PARAMETER)?;
    let shown = match kind {
        "text" => content.get("content"),
        "markdown" => content.get("text"),
        "action_card" => content.get("markdown"),
        _ => None,
    };
    if shown.and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(BAD_PARAMETER.into());
    }
    Ok((kind, content))
}
