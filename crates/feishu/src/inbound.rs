//! The events that the platform sends over HTTP, and the clicks on cards, which are sent to an address of their own in the same
//! form.

mod event;

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_platform::envelope::aes_cbc::{self, Key, Padding};
use deskpass_platform::envelope::digest;
use deskpass_platform::{InboundError, InboundReply, InboundRequest, InboundResult, PlatformKind, TimeUnit};
use serde_json::{Value, json};

use crate::UserIdKind;
use event::{Expected, has_token};

/// The last retry comes about seven hours after the event, and may have the first one's time. What guards against repetitions is
/// the id of the event.
const MAX_AGE: Duration = Duration::from_hours(8);
const IV_BYTES: usize = 16;

/// What authenticates events.
#[derive(Clone, PartialEq, Eq)]
pub struct EventSettings {
    /// The Encrypt Key: without one the platform signs nothing.
    pub encrypt_key: String,
    /// The Verification Token; empty if it is not checked. The Encrypt Key authenticates every event without it.
    pub token: String,
}

impl fmt::Debug for EventSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventSettings").finish_non_exhaustive()
    }
}

/// Reads events.
pub(crate) struct EventReader {
    settings: Option<EventSettings>,
    app_id: String,
    tenant_key: String,
    user_id: UserIdKind,
}

impl EventReader {
    /// An empty key authenticates nothing, so it is none.
    pub(crate) fn new(settings: Option<EventSettings>, app_id: &str, tenant_key: &str, user_id: UserIdKind) -> Self {
        let settings = settings.filter(|settings| !settings.encrypt_key.is_empty());
        Self { settings, app_id: app_id.to_owned(), tenant_key: tenant_key.to_owned(), user_id }
    }

    /// Reads a request: an event, a click on a card, or the platform's check of the address.
    pub(crate) fn read(&self, request: &InboundRequest<'_>) -> Result<InboundResult, InboundError> {
        let settings = self.settings.as_ref().ok_or(InboundError::NotConfigured)?;
        request.check_size(PlatformKind::Feishu)?;
        let body = || decrypt(&digest::sha256(&settings.encrypt_key), request).ok_or(InboundError::Malformed);
        if !is_signed(&settings.encrypt_key, request) {
            // The platform signs everything but the check of the address. All failures are the same here, because this is
            // decrypted without a signature.
            let challenge = body().ok().and_then(|body| challenge(&body, &settings.token));
            return challenge.ok_or(InboundError::Signature);
        }
        let sent = (request.header)("x-lark-request-timestamp").and_then(|time| TimeUnit::Seconds.parse(time));
        request.check_time(sent, MAX_AGE)?;
        let body = body()?;
        if let Some(result) = challenge(&body, &settings.token) {
            return Ok(result);
        }
        let Self { app_id, tenant_key, user_id, .. } = self;
        let expected = Expected { token: &settings.token, app_id, tenant_key, user_id: *user_id };
        // A click must be answered with an object; an empty one changes nothing on the card.
        Ok(InboundResult { reply: reply(&json!({})), events: event::read(&body, &expected)? })
    }
}

/// Whether the signature is right. It is about the bytes of the body, not about what they mean.
fn is_signed(encrypt_key: &str, request: &InboundRequest<'_>) -> bool {
    let header = request.header;
    let timestamp = header("x-lark-request-timestamp").unwrap_or_default();
    let nonce = header("x-lark-request-nonce").unwrap_or_default();
    let signature = header("x-lark-signature").unwrap_or_default();
    let parts = [timestamp.as_bytes(), nonce.as_bytes(), encrypt_key.as_bytes(), request.body];
    digest::is_same(&digest::sha256_hex(&parts), signature)
}

/// The decrypted body. With an Encrypt Key, the platform encrypts every body.
fn decrypt(key: &Key, request: &InboundRequest<'_>) -> Option<Value> {
    if request.is_get {
        return None;
    }
    let body: Value = serde_json::from_slice(request.body).ok()?;
    let encrypted = STANDARD.decode(body.get("encrypt")?.as_str()?).ok()?;
    let (iv, encrypted) = encrypted.split_first_chunk::<IV_BYTES>()?;
    serde_json::from_slice(&aes_cbc::decrypt(key, iv, encrypted, Padding::To16)?).ok()
}

/// The answer to the check of the address, if this is one with the right token.
fn challenge(body: &Value, token: &str) -> Option<InboundResult> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let is_check = text("type") == Some("url_verification") && has_token(text("token")?, token);
    let challenge = text("challenge").filter(|_| is_check)?;
    Some(InboundResult { reply: reply(&json!({ "challenge": challenge })), events: Vec::new() })
}

fn reply(body: &Value) -> InboundReply {
    InboundReply { content_type: "application/json", body: body.to_string() }
}
