//! The events that the platform sends over HTTP.

mod event;

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use deskpass_platform::envelope::{Envelope, InvalidEnvelope, SealedMessage};
use deskpass_platform::{InboundError, InboundReply, InboundRequest, InboundResult, PlatformKind, TimeUnit};
use serde_json::{Value, json};

/// The platform signs each delivery anew, so its time is that of the request.
const MAX_AGE: Duration = Duration::from_mins(10);
/// What the reply says; the platform takes every other reply for a failure.
const SUCCESS: &str = "success";

/// What authenticates the events that the platform sends, as entered in its console.
#[derive(Clone, PartialEq, Eq)]
pub struct EventSettings {
    /// The token that signs.
    pub token: String,
    /// The key that encrypts (`aes_key`).
    pub aes_key: String,
}

impl EventSettings {
    /// Checks the token and the key. With wrong ones, every event is refused.
    pub fn check(&self) -> Result<(), InvalidEnvelope> {
        Envelope::new(self.token.clone(), &self.aes_key).map(drop)
    }
}

impl fmt::Debug for EventSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSettings").finish_non_exhaustive()
    }
}

/// Reads events.
pub(crate) struct EventReader {
    envelope: Option<Envelope>,
    client_id: String,
    corp_id: String,
}

impl EventReader {
    pub(crate) fn new(settings: Option<EventSettings>, client_id: &str, corp_id: &str) -> Self {
        let envelope = settings.and_then(|EventSettings { token, aes_key }| Envelope::new(token, &aes_key).ok());
        Self { envelope, client_id: client_id.to_owned(), corp_id: corp_id.to_owned() }
    }

    /// Reads a request: an event, or the platform's check of the address, which is an event that means nothing.
    pub(crate) fn read(&self, request: &InboundRequest<'_>) -> Result<InboundResult, InboundError> {
        let envelope = self.envelope.as_ref().ok_or(InboundError::NotConfigured)?;
        request.check_size(PlatformKind::Dingtalk)?;
        let encrypted = encrypted(request).ok_or(InboundError::Malformed)?;
        let signature = request.parameter("msg_signature").or_else(|| request.parameter("signature"));
        let parameters = (signature, request.parameter("timestamp"), request.parameter("nonce"));
        let (Some(signature), Some(timestamp), Some(nonce)) = parameters else {
            return Err(InboundError::Signature);
        };
        let message =
            SealedMessage { signature: &signature, timestamp: &timestamp, nonce: &nonce, encrypted: &encrypted };
        let message = envelope.verify(&message)?;
        request.check_time(TimeUnit::Milliseconds.parse(&timestamp), MAX_AGE)?;
        // The application's own subscription names the application; an address registered by a call names the corporation.
        let message = message.open(&[self.client_id.as_str(), self.corp_id.as_str()])?;
        let events = event::read(&message.text, &self.corp_id)?;
        Ok(InboundResult { reply: success(envelope, request, &message.receiver, &nonce), events })
    }
}

fn encrypted(request: &InboundRequest<'_>) -> Option<String> {
    if request.is_get {
        return None;
    }
    match serde_json::from_slice::<Value>(request.body).ok()?.get_mut("encrypt")?.take() {
        Value::String(encrypted) => Some(encrypted),
        _ => None,
    }
}

/// The encrypted reply, to the receiver that the event names.
fn success(envelope: &Envelope, request: &InboundRequest<'_>, receiver: &str, nonce: &str) -> InboundReply {
    let timestamp = request.at.millis().to_string();
    // The official libraries use letters here, and some count characters instead of bytes.
    let random = request.random.map(|byte| b'a' + byte % 26);
    let sealed = envelope.seal(SUCCESS, receiver, &random, &timestamp, nonce);
    let body = json!({
        "msg_signature": sealed.signature,
        "timeStamp": timestamp,
        "nonce": nonce,
        "encrypt": sealed.encrypted,
    });
    InboundReply { content_type: "application/json", body: body.to_string() }
}
