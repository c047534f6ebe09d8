//! What an event means.

use std::slice;

use deskpass_core::{Digest, EmployeeId};
use deskpass_platform::client::is_visible_ascii;
use deskpass_platform::{InboundError, InboundEvent, PersonChange, TimeUnit};
use serde_json::Value;

/// Reads a decrypted event. One that concerns nobody's access means nothing. Most names begin with a capital, but not those of
/// all events.
pub(super) fn read(text: &str, corp_id: &str) -> Result<Vec<InboundEvent>, InboundError> {
    let event: Value = serde_json::from_str(text).map_err(|_| InboundError::Malformed)?;
    let field = |names: [&str; 2]| names.into_iter().find_map(|name| event.get(name));
    let kind = field(["EventType", "eventType"]).and_then(Value::as_str).ok_or(InboundError::Malformed)?;
    if field(["CorpId", "corpId"]).is_some_and(|corp| corp != corp_id) {
        return Err(InboundError::Receiver);
    }
    let names = match kind {
        "user_add_org" | "user_active_org" | "user_modify_org" | "user_leave_org" => ["UserId", "userId"],
        "org_dept_create" | "org_dept_modify" | "org_dept_remove" => ["DeptId", "deptId"],
        _ => return Ok(Vec::new()),
    };
    let ids = field(names).and_then(identifiers).ok_or(InboundError::Malformed)?;
    let change = |id: String| match kind {
        "user_add_org" => PersonChange::Joined { userid: id },
        "user_active_org" | "user_modify_org" => PersonChange::Changed { userid: id },
        "user_leave_org" => PersonChange::Left { userid: id },
        _ => PersonChange::DepartmentChanged { id },
    };
    let event_id = field(["eventId", "EventId"]).and_then(Value::as_str).filter(|id| is_visible_ascii(id));
    // The event without an id contains its time, so its text is not that of another event.
    let event_id = event_id.map_or_else(|| Digest::of(&[b"dingtalk event", text.as_bytes()]).to_text(), str::to_owned);
    let at = field(["TimeStamp", "timeStamp"]).and_then(scalar).and_then(|time| TimeUnit::Milliseconds.parse(&time));
    let event = |id: String| InboundEvent { deduplication_key: format!("{event_id}.{id}"), at, change: change(id) };
    Ok(ids.into_iter().map(event).collect())
}

/// The identifiers in a list, or a single one; `None` if none of several is an identifier. One that is not does not keep the
/// others from being read.
fn identifiers(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array().map_or_else(|| slice::from_ref(value), Vec::as_slice);
    let valid = list.iter().filter_map(|id| scalar(id).filter(|id| EmployeeId::parse(id).is_ok()));
    let ids: Vec<_> = valid.collect();
    let skipped = list.len() - ids.len();
    if skipped > 0 {
        tracing::debug!(skipped, "an event names identifiers that are not valid");
    }
    (skipped == 0 || !ids.is_empty()).then_some(ids)
}

/// A text or a number; the platform writes some values either way.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
