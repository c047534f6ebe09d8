//! What an event means.

use deskpass_core::{EmployeeId, Timestamp};
use deskpass_platform::client::is_visible_ascii;
use deskpass_platform::envelope::digest;
use deskpass_platform::{CardHandle, InboundError, InboundEvent, PersonChange, TimeUnit};
use serde_json::Value;

use crate::UserIdKind;

/// What an event must contain to be for this service, and how it identifies members. Any token fits an empty one.
pub(super) struct Expected<'a> {
    pub(super) token: &'a str,
    pub(super) app_id: &'a str,
    pub(super) tenant_key: &'a str,
    pub(super) user_id: UserIdKind,
}

/// An event in either version of its form.
struct Delivery<'a> {
    id: &'a str,
    kind: &'a str,
    at: Option<Timestamp>,
    token: &'a str,
    app_id: &'a str,
    tenant_key: &'a str,
    event: &'a Value,
}

impl<'a> Delivery<'a> {
    fn parse(body: &'a Value) -> Option<Self> {
        let event = body.get("event")?;
        if let Some(header) = body.get("header") {
            return Some(Self {
                id: printable(header, "event_id")?,
                kind: text(header, "event_type")?,
                at: text(header, "create_time").and_then(|time| TimeUnit::Milliseconds.parse(time)),
                token: text(header, "token")?,
                app_id: text(header, "app_id")?,
                tenant_key: text(header, "tenant_key")?,
                event,
            });
        }
        // Version 1, in which the time is seconds with a fraction.
        let seconds = text(body, "ts").map(|time| time.split_once('.').map_or(time, |(seconds, _)| seconds));
        Some(Self {
            id: printable(body, "uuid")?,
            kind: text(event, "type")?,
            at: seconds.and_then(|time| TimeUnit::Seconds.parse(time)),
            token: text(body, "token")?,
            app_id: text(event, "app_id")?,
            tenant_key: text(event, "tenant_key")?,
            event,
        })
    }
}

/// Whether a request has the expected token; every one has, if none is expected.
pub(super) fn has_token(sent: &str, expected: &str) -> bool {
    expected.is_empty() || digest::is_same(sent, expected)
}

/// Reads a decrypted event. One that concerns nobody's access means nothing.
pub(super) fn read(body: &Value, expected: &Expected<'_>) -> Result<Vec<InboundEvent>, InboundError> {
    let delivery = Delivery::parse(body).ok_or(InboundError::Malformed)?;
    if !has_token(delivery.token, expected.token) {
        return Err(InboundError::Signature);
    }
    if delivery.app_id != expected.app_id || delivery.tenant_key != expected.tenant_key {
        return Err(InboundError::Receiver);
    }
    let Delivery { id, at, .. } = delivery;
    let changes = changes(&delivery, expected).ok_or(InboundError::Malformed)?;
    let event = |(number, change)| InboundEvent { deduplication_key: format!("{id}.{number}"), at, change };
    Ok(changes.into_iter().enumerate().map(event).collect())
}

/// `None` if an identifier is missing or is not one: without its permission, the application receives no `user_id`.
fn changes(delivery: &Delivery<'_>, expected: &Expected<'_>) -> Option<Vec<PersonChange>> {
    let event = delivery.event;
    // Version 1 has no object: the event is the record.
    let object = event.get("object").unwrap_or(event);
    let userid = || member(object, expected.user_id);
    let change = match delivery.kind {
        "contact.user.created_v3" | "user_add" => PersonChange::Joined { userid: userid()? },
        "contact.user.updated_v3" | "user_update" | "user_status_change" => {
            let former = event.get("old_object").and_then(|former| member(former, expected.user_id));
            // Version 1 tells both statuses.
            let status = object.get("status").or_else(|| event.get("current_status"));
            return Some(updated(userid()?, former, status));
        }
        "contact.user.deleted_v3" | "user_leave" => PersonChange::Left { userid: userid()? },
        "contact.department.created_v3"
        | "contact.department.updated_v3"
        | "contact.department.deleted_v3"
        | "dept_add"
        | "dept_update"
        | "dept_delete" => PersonChange::DepartmentChanged { id: department(object)? },
        "contact.scope.updated_v3" => return Some(scope_changes(event, expected.user_id)),
        "card.action.trigger" => return answer(event, expected),
        _ => return Some(Vec::new()),
    };
    Some(vec![change])
}

/// The old record contains only what changed. Identifiers that differ in case only are the same. A member whose status says so leaves
/// at once, and not when the record is read again.
fn updated(userid: String, former: Option<String>, status: Option<&Value>) -> Vec<PersonChange> {
    let former = former.filter(|former| !former.eq_ignore_ascii_case(&userid));
    let renamed = former.map(|from| PersonChange::Renamed { from, to: userid.clone() });
    let is = |name: &str| status.and_then(|flags| flags.get(name)).and_then(Value::as_bool) == Some(true);
    let leaving = if is("is_resigned") || is("is_exited") {
        Some(PersonChange::Left { userid: userid.clone() })
    } else if is("is_frozen") {
        Some(PersonChange::Suspended { userid: userid.clone() })
    } else {
        None
    };
    let changes: Vec<_> = renamed.into_iter().chain(leaving).collect();
    if changes.is_empty() { vec![PersonChange::Changed { userid }] } else { changes }
}

/// What came into the application's range and what left it. A department or a user group may bring or take members that are not named.
fn scope_changes(event: &Value, kind: UserIdKind) -> Vec<PersonChange> {
    let list = |side: &str, name: &str| {
        let list = event.get(side).and_then(|side| side.get(name)).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default().iter()
    };
    // One member without an identifier must not keep the others from being read.
    let members = |side: &str| list(side, "users").filter_map(move |record| member(record, kind));
    let removed = members("removed").map(|userid| PersonChange::OutOfRange { userid });
    let added = members("added").map(|userid| PersonChange::Joined { userid });
    let departments = list("removed", "departments").chain(list("added", "departments")).filter_map(department);
    let is_reduced = ["departments", "user_groups"].iter().any(|name| list("removed", name).next().is_some());
    let departments = departments.map(|id| PersonChange::DepartmentChanged { id });
    removed.chain(added).chain(departments).chain(is_reduced.then_some(PersonChange::RangeReduced)).collect()
}

fn answer(event: &Value, expected: &Expected<'_>) -> Option<Vec<PersonChange>> {
    let value = event.get("action").and_then(|action| action.get("value"));
    let field = |name: &str| value.and_then(|value| printable(value, name)).map(str::to_owned);
    // The application may also send cards that are not questions of this service.
    let (Some(question), Some(choice)) = (field("question"), field("choice")) else { return Some(Vec::new()) };
    let operator = event.get("operator")?;
    // A card can be forwarded to a group that has members of other tenants.
    if text(operator, "tenant_key") != Some(expected.tenant_key) {
        return Some(Vec::new());
    }
    let userid = member(operator, expected.user_id)?;
    let message = event.get("context").and_then(|context| printable(context, "open_message_id"));
    let handle = message.map(|id| CardHandle(id.to_owned()));
    Some(vec![PersonChange::Answered { question, choice, userid, handle }])
}

/// The identifier of a member. Version 1 calls the `user_id` otherwise.
fn member(record: &Value, kind: UserIdKind) -> Option<String> {
    let id = match kind {
        UserIdKind::UserId => text(record, "user_id").or_else(|| text(record, "employee_id")),
        UserIdKind::OpenId => text(record, "open_id"),
    };
    id.filter(|id| EmployeeId::parse(id).is_ok()).map(str::to_owned)
}

fn department(record: &Value) -> Option<String> {
    printable(record, "open_department_id").map(str::to_owned)
}

fn text<'a>(record: &'a Value, name: &str) -> Option<&'a str> {
    record.get(name).and_then(Value::as_str)
}

fn printable<'a>(record: &'a Value, name: &str) -> Option<&'a str> {
    text(record, name).filter(|text| is_visible_ascii(text))
}
