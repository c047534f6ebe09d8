//! Feishu's events: JSON, encrypted with the Encrypt Key, and signed together with it. Only the check of the address is unsigned.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_core::Timestamp;
use deskpass_platform::envelope::aes_cbc::{self, Padding};
use deskpass_platform::envelope::digest;
use serde_json::{Map, Value, json};

use super::delivery::{Delivery, OTHER_RECEIVER, checked};
use super::exchange::{Answer, Outgoing};
use super::seconds;
use crate::SimulatorConfig;
use crate::address_book::Person;
use crate::directory::PersonKind;
use crate::event::{Change, EventFault, Subject};
use crate::event_log::Attempt;
use crate::event_receiver::EventKeys;
use crate::feishu::people;

const DEADLINE: Duration = Duration::from_secs(3);
const SIGNATURE_CHARS: usize = 64;

/// Checks an address: it must answer with the challenge.
pub(super) async fn check(delivery: &Delivery<'_>) -> Result<(), String> {
    let challenge = &delivery.nonce;
    let request = token(&delivery.receiver.keys).and_then(|token| {
        let text = json!({ "challenge": challenge, "token": token, "type": "url_verification" }).to_string();
        let body = encrypted(delivery, &text)?;
        let headers = vec![("content-type", "application/json".to_owned())];
        Some(Outgoing { url: delivery.receiver.url.clone(), body: Some(body), headers })
    });
    let judge = |answer: &Answer| {
        let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let repeats = body.get("challenge").is_some_and(|answered| answered == challenge);
        if repeats { Ok(()) } else { Err("the answer does not repeat the challenge".to_owned()) }
    };
    checked(delivery.attempt(request, DEADLINE, judge).await)
}

pub(super) async fn send(delivery: &Delivery<'_>, text: &str) -> Attempt {
    let request = encrypted(delivery, delivery.plain(text)).map(|body| {
        let timestamp = seconds(delivery.signed_at).to_string();
        let signature = sign(delivery, &timestamp, &body);
        let headers = vec![
            ("content-type", "application/json; charset=utf-8".to_owned()),
            ("x-lark-request-timestamp", timestamp),
            ("x-lark-request-nonce", delivery.nonce.clone()),
            ("x-lark-signature", signature),
        ];
        Outgoing { url: delivery.receiver.url.clone(), body: Some(body), headers }
    });
    // Every answer with status 200 is right.
    delivery.attempt(request, DEADLINE, |_| Ok(())).await
}

fn token(keys: &EventKeys) -> Option<&str> {
    match keys {
        EventKeys::EncryptKey { token, .. } => Some(token),
        EventKeys::Envelope { .. } => None,
    }
}

/// The body with the encrypted text.
fn encrypted(delivery: &Delivery<'_>, text: &str) -> Option<String> {
    let EventKeys::EncryptKey { encrypt_key, .. } = &delivery.receiver.keys else { return None };
    let key = digest::sha256(if delivery.is(EventFault::Key) { "another key" } else { encrypt_key });
    let encrypted = aes_cbc::encrypt(&key, &delivery.random, text.as_bytes(), Padding::To16);
    let encrypted = STANDARD.encode([delivery.random.as_slice(), &encrypted].concat());
    Some(json!({ "encrypt": encrypted }).to_string())
}

/// The signature, which is about the bytes of the body.
fn sign(delivery: &Delivery<'_>, timestamp: &str, body: &str) -> String {
    match &delivery.receiver.keys {
        EventKeys::EncryptKey { encrypt_key, .. } if !delivery.is(EventFault::Signature) => {
            digest::sha256_hex(&[timestamp, &delivery.nonce, encrypt_key, body].map(str::as_bytes))
        }
        _ => "0".repeat(SIGNATURE_CHARS),
    }
}

/// What every event begins with.
pub(super) struct Header<'a> {
    pub(super) config: &'a SimulatorConfig,
    pub(super) keys: &'a EventKeys,
    pub(super) id: &'a str,
    pub(super) now: Timestamp,
    pub(super) fault: Option<EventFault>,
}

pub(super) fn text(
    header: &Header<'_>,
    change: Change,
    subject: &Subject<'_>,
    no_user_id: bool,
) -> Result<String, String> {
    let object = record(subject, no_user_id);
    let former = subject.before.as_ref().zip(subject.person.as_ref()).map(|(before, after)| former(before, after));
    let (kind, event) = match change {
        Change::Joined => ("contact.user.created_v3", json!({ "object": object })),
        Change::Changed => ("contact.user.updated_v3", json!({ "object": object, "old_object": former })),
        Change::Left => {
            let former = json!({ "open_id": object.get("open_id"), "department_ids": object.get("department_ids") });
            ("contact.user.deleted_v3", json!({ "object": object, "old_object": former }))
        }
        Change::Renamed => {
            let to = subject.to.ok_or("this change needs \"to\", the new id")?;
            let mut object = object;
            object.insert("user_id".to_owned(), to.into());
            ("contact.user.updated_v3", json!({ "object": object, "old_object": { "user_id": subject.userid } }))
        }
        Change::OutOfRange => ("contact.scope.updated_v3", json!({ "removed": { "users": [object] }, "added": {} })),
        Change::InRange => ("contact.scope.updated_v3", json!({ "removed": {}, "added": { "users": [object] } })),
        Change::DepartmentChanged => {
            let id = subject.id.ok_or("this change needs \"id\", the department")?;
            ("contact.department.updated_v3", json!({ "object": { "open_department_id": id }, "old_object": {} }))
        }
        Change::CorporationRemoved => return Err("this platform has no such event".to_owned()),
    };
    let is_foreign = header.fault == Some(EventFault::Receiver);
    let header = json!({
        "event_id": header.id,
        "event_type": kind,
        "create_time": header.now.millis().to_string(),
        "token": token(header.keys),
        "app_id": header.config.client_id,
        "tenant_key": if is_foreign { OTHER_RECEIVER } else { header.config.corp_id.as_str() },
    });
    Ok(json!({ "schema": "2.0", "header": header, "event": event }).to_string())
}

/// The record of a member in an event; of one who is not in the directory, only the identifiers.
fn record(subject: &Subject<'_>, no_user_id: bool) -> Map<String, Value> {
    let record = match &subject.person {
        Some(who) => json!({
            "open_id": people::open_id(who),
            "union_id": people::union_id(who),
            "user_id": people::user_id(who),
            "name": who.name,
            "en_name": who.name,
            "department_ids": [department_id(who)],
            "status": status(who),
        }),
        None => json!({ "open_id": format!("ou_{}", subject.userid), "user_id": subject.userid }),
    };
    let Value::Object(mut fields) = record else { return Map::new() };
    if no_user_id {
        fields.remove("user_id");
    }
    fields
}

/// The fields that changed, as they were before.
fn former(before: &Person, after: &Person) -> Value {
    let fields = [
        ("name", json!(before.name), before.name != after.name),
        ("department_ids", json!([department_id(before)]), before.department_id != after.department_id),
        ("status", status(before), before.kind != after.kind),
    ];
    let changed = fields.into_iter().filter(|(_, _, is_changed)| *is_changed);
    Value::Object(changed.map(|(name, value, _)| (name.to_owned(), value)).collect())
}

fn department_id(who: &Person) -> String {
    if who.department_id == 1 { "0".to_owned() } else { format!("od-{}", who.department_id) }
}

fn status(who: &Person) -> Value {
    let has_left = who.kind == PersonKind::Left;
    json!({
        "is_frozen": who.kind == PersonKind::Disabled,
        "is_resigned": has_left,
        "is_activated": !has_left,
        "is_exited": false,
        "is_unjoin": false,
    })
}
