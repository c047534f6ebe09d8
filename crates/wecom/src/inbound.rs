//! The events that the platform sends: to the application, and to the contacts assistant (通讯录同步). Both addresses have the same
//! form, and each event is accepted at both.

mod event;
mod xml;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use deskpass_platform::envelope::{Envelope, InvalidEnvelope, SealedMessage};
use deskpass_platform::{InboundError, InboundReply, InboundRequest, InboundResult, PlatformKind, TimeUnit};

use xml::Elements;

/// The platform signs each delivery anew, so its time is that of the request.
const MAX_AGE: Duration = Duration::from_mins(10);
/// The platform repeats a delivery within seconds. The time of the request alone does not show its age: the signature is about the sorted
/// parts, so whoever has captured a request may exchange its time and its nonce.
const MAX_EVENT_AGE: Duration = Duration::from_hours(1);
/// The platform sends about twenty digits to check the address.
const MAX_ECHO_BYTES: usize = 64;

/// What authenticates the events that the platform sends, as entered in its console.
#[derive(Clone, PartialEq, Eq)]
pub struct EventSettings {
    /// The token that signs.
    pub token: String,
    /// The key that encrypts (`EncodingAESKey`).
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
    corp_id: String,
}

impl EventReader {
    pub(crate) fn new(settings: Option<EventSettings>, corp_id: &str) -> Self {
        let envelope = settings.and_then(|EventSettings { token, aes_key }| Envelope::new(token, &aes_key).ok());
        Self { envelope, corp_id: corp_id.to_owned() }
    }

    /// Reads a request. A GET is the platform's check of the address, and its reply is the decrypted text alone; other requests
    /// are events, whose reply is empty.
    pub(crate) fn read(&self, request: &InboundRequest<'_>) -> Result<InboundResult, InboundError> {
        let envelope = self.envelope.as_ref().ok_or(InboundError::NotConfigured)?;
        request.check_size(PlatformKind::Wecom)?;
        let encrypted = encrypted(request).ok_or(InboundError::Malformed)?;
        let text = self.open(envelope, request, &encrypted)?;
        let (body, events) =
            if request.is_get { (echo(text)?, Vec::new()) } else { (String::new(), event::read(&text)?) };
        events.iter().try_for_each(|event| request.check_time(event.at, MAX_EVENT_AGE))?;
        Ok(InboundResult { reply: InboundReply { content_type: "text/plain; charset=utf-8", body }, events })
    }

    fn open(&self, envelope: &Envelope, request: &InboundRequest<'_>, encrypted: &str) -> Result<String, InboundError> {
        let parameter = |name| request.parameter(name).ok_or(InboundError::Signature);
        let (signature, timestamp, nonce) = (parameter("msg_signature")?, parameter("timestamp")?, parameter("nonce")?);
        let message = SealedMessage { signature: &signature, timestamp: &timestamp, nonce: &nonce, encrypted };
        let message = envelope.verify(&message)?;
        request.check_time(TimeUnit::Seconds.parse(&timestamp), MAX_AGE)?;
        message.open(&[self.corp_id.as_str()]).map(|opened| opened.text)
    }
}

/// What is sent back for the check of the address: an event that was captured is not decrypted for anybody.
fn echo(text: String) -> Result<String, InboundError> {
    let is_check = (1..=MAX_ECHO_BYTES).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(text).filter(|_| is_check).ok_or(InboundError::Malformed)
}

fn encrypted<'a>(request: &InboundRequest<'a>) -> Option<Cow<'a, str>> {
    if request.is_get {
        return request.parameter("echostr");
    }
    let elements = Elements::parse(std::str::from_utf8(request.body).ok()?)?;
    elements.text("Encrypt").map(|text| Cow::Owned(text.to_owned()))
}
