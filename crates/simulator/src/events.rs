//! The events that the platform sends to the service: where to, which ones were sent, and events that a tester sends by hand.

mod delivery;
mod dingtalk;
mod exchange;
mod feishu;
mod wecom;

use bytes::Bytes;
use deskpass_core::{NoEntropy, Timestamp};
use http::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use self::delivery::Delivery;
use crate::address_book::ChangedPerson;
use crate::event::{Change, EventFault, Subject, implied};
use crate::event_log::EventLog;
use crate::event_receiver::{Receiver, ReceiverSettings};
use crate::json_body::read;
use crate::kind::Kind;
use crate::reply;
use crate::state::SimulatorInner;

const MAX_TIMES: u32 = 100;

/// An endpoint of the control API.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventControl {
    /// The receiver, and the events that were sent.
    Log,
    /// Sends an event by hand.
    Send,
    /// Sends the events again that were not accepted.
    Retry,
}

impl EventControl {
    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Log => &["GET", "PUT", "DELETE"],
            Self::Send | Self::Retry => &["POST"],
        }
    }
}

/// An event by hand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SendRequest {
    change: Change,
    #[serde(default)]
    userid: String,
    /// The new identifier of a member who is renamed.
    to: Option<String>,
    /// The department or the corporation.
    id: Option<String>,
    #[serde(default = "once")]
    times: u32,
    fault: Option<EventFault>,
}

fn once() -> u32 {
    1
}

pub(crate) async fn handle(inner: &SimulatorInner, control: EventControl, request: &Request<Bytes>) -> Response<Bytes> {
    let done = match (control, request.method()) {
        (EventControl::Log, &Method::PUT) => register(inner, request.body()).await,
        (EventControl::Log, &Method::DELETE) => {
            inner.state().events = EventLog::default();
            Ok(inner.state().events.show())
        }
        (EventControl::Log, _) => Ok(inner.state().events.show()),
        (EventControl::Send, _) => send_by_hand(inner, request.body()).await,
        (EventControl::Retry, _) => retry(inner).await,
    };
    match done {
        Ok(body) => reply::json(StatusCode::OK, &body),
        Err(error) => reply::bad_request(&error),
    }
}

/// Tells the service about a change of a member, as the platform would; returns the events.
pub(crate) async fn tell(inner: &SimulatorInner, change: &ChangedPerson) -> Result<Vec<Value>, String> {
    let Some(receiver) = receiver(inner) else { return Ok(Vec::new()) };
    let Some(kind) = implied(inner.config.kind, change) else { return Ok(Vec::new()) };
    let (before, after) = (change.before.clone(), change.after.clone());
    let renamed = before.id != after.id;
    let subject = Subject {
        userid: if renamed { &before.id } else { &after.id },
        to: renamed.then_some(after.id.as_str()),
        person: Some(after.clone()),
        before: Some(before.clone()),
        id: None,
    };
    let text = text(inner, &receiver, kind, &subject, None)?;
    let number = inner.state().events.add(kind, subject.userid, text);
    deliver(inner, &receiver, number, None).await?;
    Ok(shown(inner, &[number]))
}

/// Checks an address as the platform does, and keeps it if the answer is right.
async fn register(inner: &SimulatorInner, body: &[u8]) -> Result<Value, String> {
    let receiver = Receiver::new(inner.config.kind, read::<ReceiverSettings>(body)?)?;
    let delivery = Delivery::new(inner, &receiver, None).map_err(no_entropy)?;
    match inner.config.kind {
        Kind::Wecom => wecom::check(&delivery).await,
        Kind::Dingtalk => dingtalk::check(&delivery).await,
        Kind::Feishu => feishu::check(&delivery).await,
    }?;
    let mut state = inner.state();
    state.events.receiver = Some(receiver);
    Ok(state.events.show())
}

async fn send_by_hand(inner: &SimulatorInner, body: &[u8]) -> Result<Value, String> {
    let ask: SendRequest = read(body)?;
    if !(1..=MAX_TIMES).contains(&ask.times) {
        return Err(format!("times must be from 1 to {MAX_TIMES}"));
    }
    let receiver = receiver(inner).ok_or("set the address of the service with PUT events first")?;
    let person = inner.state().book.member(&ask.userid);
    let (to, id) = (ask.to.as_deref(), ask.id.as_deref());
    let subject = Subject { userid: &ask.userid, person, before: None, to, id };
    let text = text(inner, &receiver, ask.change, &subject, ask.fault)?;
    let number = inner.state().events.add(ask.change, &ask.userid, text);
    for _ in 0..ask.times {
        deliver(inner, &receiver, number, ask.fault).await?;
    }
    Ok(json!({ "events": shown(inner, &[number]) }))
}

/// Sends the events again that were not accepted, as the platform does after a while; returns them.
async fn retry(inner: &SimulatorInner) -> Result<Value, String> {
    let receiver = receiver(inner).ok_or("set the address of the service with PUT events first")?;
    // DingTalk does not document how often it sends an event.
    let max_attempts = if inner.config.kind == Kind::Feishu { 5 } else { 3 };
    let due = inner.state().events.due(max_attempts);
    for number in &due {
        deliver(inner, &receiver, *number, None).await?;
    }
    Ok(json!({ "events": shown(inner, &due) }))
}

fn receiver(inner: &SimulatorInner) -> Option<Receiver> {
    inner.state().events.receiver.clone()
}

fn shown(inner: &SimulatorInner, numbers: &[u64]) -> Vec<Value> {
    let state = inner.state();
    numbers.iter().filter_map(|number| state.events.event(*number)).map(|event| json!(event)).collect()
}

/// The text of an event; an error says that the platform has no such event.
fn text(
    inner: &SimulatorInner,
    receiver: &Receiver,
    change: Change,
    subject: &Subject<'_>,
    fault: Option<EventFault>,
) -> Result<String, String> {
    let (config, now) = (&inner.config, inner.clock.now());
    let id = || inner.entropy.bytes().map(u128::from_be_bytes).map(|id| format!("{id:032x}")).map_err(no_entropy);
    match config.kind {
        Kind::Wecom => wecom::text(config, change, subject, now),
        Kind::Dingtalk => dingtalk::text(config, change, subject, &id()?, now),
        Kind::Feishu => {
            let (id, no_user_id) = (id()?, inner.state().switches.feishu.no_user_id);
            let header = feishu::Header { config, keys: &receiver.keys, id: &id, now, fault };
            feishu::text(&header, change, subject, no_user_id)
        }
    }
}

/// Delivers an event once, and records how it was answered.
async fn deliver(
    inner: &SimulatorInner,
    receiver: &Receiver,
    number: u64,
    fault: Option<EventFault>,
) -> Result<(), String> {
    let Some(text) = inner.state().events.event(number).map(|event| event.text.clone()) else { return Ok(()) };
    let delivery = Delivery::new(inner, receiver, fault).map_err(no_entropy)?;
    let attempt = match inner.config.kind {
        Kind::Wecom => wecom::send(&delivery, &text).await,
        Kind::Dingtalk => dingtalk::send(&delivery, &text).await,
        Kind::Feishu => feishu::send(&delivery, &text).await,
    };
    inner.state().events.record(number, attempt);
    Ok(())
}

fn no_entropy(_: NoEntropy) -> String {
    "this machine gives no random numbers".to_owned()
}

/// A time in seconds, as platforms write it.
fn seconds(now: Timestamp) -> i64 {
    now.millis() / 1_000
}
