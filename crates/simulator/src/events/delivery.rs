//! One delivery: its time, its random values, and what is wrong with it on purpose.

use std::time::Duration;

use deskpass_core::{NoEntropy, Timestamp};
use deskpass_platform::envelope::{Envelope, SealedReply};

use super::exchange::{Answer, Outgoing, exchange};
use crate::SimulatorConfig;
use crate::event::EventFault;
use crate::event_log::Attempt;
use crate::event_receiver::{EventKeys, Receiver};
use crate::state::SimulatorInner;

/// A key that is not the receiver's.
const OTHER_KEY: &str = "kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1aR";
/// A corporation and an app that are not the receiver's.
pub(super) const OTHER_RECEIVER: &str = "someoneelse";
/// How late an event is that is late.
const DELAY: Duration = Duration::from_hours(24);
const SIGNATURE_CHARS: usize = 40;

/// A delivery.
pub(super) struct Delivery<'a> {
    pub(super) config: &'a SimulatorConfig,
    pub(super) receiver: &'a Receiver,
    /// When it is sent.
    pub(super) now: Timestamp,
    /// The time that is signed.
    pub(super) signed_at: Timestamp,
    pub(super) random: [u8; 16],
    pub(super) nonce: String,
    pub(super) fault: Option<EventFault>,
}

impl<'a> Delivery<'a> {
    pub(super) fn new(
        inner: &'a SimulatorInner,
        receiver: &'a Receiver,
        fault: Option<EventFault>,
    ) -> Result<Self, NoEntropy> {
        let (now, entropy) = (inner.clock.now(), inner.entropy);
        let signed_at = if fault == Some(EventFault::Late) { now - DELAY } else { now };
        let nonce = format!("{:016x}", entropy.bytes().map(u64::from_be_bytes)?);
        Ok(Self { config: &inner.config, receiver, now, signed_at, random: entropy.bytes()?, nonce, fault })
    }

    pub(super) fn is(&self, fault: EventFault) -> bool {
        self.fault == Some(fault)
    }

    /// The text, or a part of it.
    pub(super) fn plain<'t>(&self, text: &'t str) -> &'t str {
        let end = if self.is(EventFault::Garbled) { text.floor_char_boundary(text.len() / 2) } else { text.len() };
        text.get(..end).unwrap_or_default()
    }

    /// Signs and encrypts a text for a receiver; `None` if this platform does not use envelopes.
    pub(super) fn seal(&self, text: &str, receiver: &str, timestamp: &str) -> Option<SealedReply> {
        let EventKeys::Envelope { token, envelope } = &self.receiver.keys else { return None };
        let other = Envelope::new(token.clone(), OTHER_KEY).ok();
        let envelope = other.as_ref().filter(|_| self.is(EventFault::Key)).unwrap_or(envelope);
        let receiver = if self.is(EventFault::Receiver) { OTHER_RECEIVER } else { receiver };
        let mut sealed = envelope.seal(self.plain(text), receiver, &self.random, timestamp, &self.nonce);
        if self.is(EventFault::Signature) {
            sealed.signature = "0".repeat(SIGNATURE_CHARS);
        }
        Some(sealed)
    }

    /// Sends a request, and judges the answer.
    pub(super) async fn attempt(
        &self,
        request: Option<Outgoing>,
        deadline: Duration,
        judge: impl Fn(&Answer) -> Result<(), String>,
    ) -> Attempt {
        let (answer, took) = match request {
            Some(request) => exchange(request, deadline).await,
            None => (Err("the keys are not those of this platform".to_owned()), Duration::ZERO),
        };
        let error = match &answer {
            Ok(answer) if answer.status != 200 => Some(format!("the address answered with status {}", answer.status)),
            Ok(answer) => judge(answer).err(),
            Err(error) => Some(error.clone()),
        };
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let (status, body) = answer.map_or((None, String::new()), |answer| (Some(answer.status), answer.body));
        Attempt { at: self.now.millis(), status, body, millis, accepted: error.is_none(), error }
    }
}

/// The outcome of the check of an address.
pub(super) fn checked(attempt: Attempt) -> Result<(), String> {
    attempt.error.map_or(Ok(()), |error| Err(format!("the check of the address failed: {error}")))
}
