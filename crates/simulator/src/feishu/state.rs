//! The messages that the app sent: which of them are repeated, and which can be changed.

use std::collections::VecDeque;
use std::time::Duration;

use deskpass_core::Timestamp;

/// The maximum number of remembered messages; beyond it, the oldest is forgotten first.
const MAX_MESSAGES: usize = 1_000;
/// How long the platform delivers only one message with the same `uuid`.
const REPEAT_PERIOD: Duration = Duration::from_hours(1);

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct SentMessage {
    pub(crate) id: String,
    pub(crate) uuid: Option<String>,
    pub(crate) sent_at: Timestamp,
    /// Whether it is a card that all readers share, so that it can be changed.
    pub(crate) is_shared_card: bool,
}

/// The messages, oldest first.
#[derive(Debug, Default)]
pub(crate) struct FeishuState(VecDeque<SentMessage>);

impl FeishuState {
    pub(crate) fn record(&mut self, message: SentMessage) {
        if self.0.len() >= MAX_MESSAGES {
            self.0.pop_front();
        }
        self.0.push_back(message);
    }

    /// The message that was sent with this `uuid` a short time ago.
    pub(crate) fn repeated(&self, uuid: &str, now: Timestamp) -> Option<&SentMessage> {
        let recent = |message: &&SentMessage| now < message.sent_at + REPEAT_PERIOD;
        self.0.iter().rev().filter(recent).find(|message| message.uuid.as_deref() == Some(uuid))
    }

    pub(crate) fn message(&self, id: &str) -> Option<&SentMessage> {
        self.0.iter().find(|message| message.id == id)
    }
}
