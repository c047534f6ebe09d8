//! DingTalk's events: JSON in an envelope. The answer must be the word `success`, encrypted for the same receiver.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_platform::InboundError;
use deskpass_platform::envelope::SealedMessage;
use serde_json::{Value, json};

use super::delivery::{Delivery, checked};
use super::exchange::{Answer, Outgoing};
use crate::SimulatorConfig;
use crate::event::{Change, Subject};
use crate::event_log::Attempt;
use crate::event_receiver::EventKeys;

const DEADLINE: Duration = Duration::from_millis(1_500);

/// Checks an address by an event that means nothing.
pub(super) async fn check(delivery: &Delivery<'_>) -> Result<(), String> {
    checked(send(delivery, &json!({ "EventType": "check_url" }).to_string()).await)
}

pub(super) async fn send(delivery: &Delivery<'_>, text: &str) -> Attempt {
    let timestamp = delivery.signed_at.millis().to_string();
    // The app's own subscription names the app.
    let sealed = delivery.seal(text, &delivery.config.client_id, &timestamp);
    let request = sealed.map(|sealed| {
        let mut url = delivery.receiver.url.clone();
        url.query_pairs_mut()
            .append_pair("msg_signature", &sealed.signature)
            .append_pair("signature", &sealed.signature)
            .append_pair("timestamp", &timestamp)
            .append_pair("nonce", &delivery.nonce);
        let body = json!({ "encrypt": sealed.encrypted }).to_string();
        Outgoing { url, body: Some(body), headers: vec![("content-type", "application/json".to_owned())] }
    });
    delivery.attempt(request, DEADLINE, |answer| judge(delivery, answer)).await
}

fn judge(delivery: &Delivery<'_>, answer: &Answer) -> Result<(), String> {
    let EventKeys::Envelope { envelope, .. } = &delivery.receiver.keys else { return Err("no envelope".to_owned()) };
    let body: Value = serde_json::from_str(&answer.body).map_err(|_| "the answer is not JSON".to_owned())?;
    let field = |name: &str| body.get(name).and_then(Value::as_str).ok_or_else(|| format!("the answer has no {name}"));
    let message = SealedMessage {
        signature: field("msg_signature")?,
        timestamp: field("timeStamp")?,
        nonce: field("nonce")?,
        encrypted: field("encrypt")?,
    };
    let wrong = |error: InboundError| format!("the answer cannot be decrypted: {error}");
    let opened =
        envelope.verify(&message).map_err(wrong)?.open(&[delivery.config.client_id.as_str()]).map_err(wrong)?;
    if opened.text == "success" { Ok(()) } else { Err("the answer is not \"success\"".to_owned()) }
}

pub(super) fn text(
    config: &SimulatorConfig,
    change: Change,
    subject: &Subject<'_>,
    event_id: &str,
    now: Timestamp,
) -> Result<String, String> {
    let (kind, name) = match change {
        Change::Joined => ("user_add_org", "UserId"),
        Change::Changed => ("user_modify_org", "UserId"),
        Change::Left => ("user_leave_org", "UserId"),
        Change::DepartmentChanged => ("org_dept_modify", "DeptId"),
        Change::InRange | Change::OutOfRange | Change::Renamed | Change::CorporationRemoved => {
            return Err("this platform has no such event".to_owned());
        }
    };
    let ids = if change == Change::DepartmentChanged {
        let id = subject.id.ok_or("this change needs \"id\", the department")?;
        json!([id.parse::<u64>().map_or_else(|_| json!(id), |number| json!(number))])
    } else {
        json!([subject.userid])
    };
    let time = now.millis().to_string();
    let corp_id = &config.corp_id;
    let event = json!({ "EventType": kind, "CorpId": corp_id, name: ids, "TimeStamp": time, "eventId": event_id });
    Ok(event.to_string())
}
