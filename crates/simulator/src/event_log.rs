//! The events that were sent, and how they were answered.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Value, json};

use crate::event::Change;
use crate::event_receiver::Receiver;

/// The maximum number of kept events; the newest are kept.
const MAX_EVENTS: usize = 200;

/// An event as the platform wrote it before encrypting it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SentEvent {
    #[serde(skip)]
    number: u64,
    change: Change,
    userid: String,
    pub(crate) text: String,
    /// Whether an attempt was answered as the platform wants it.
    accepted: bool,
    attempts: Vec<Attempt>,
}

/// An attempt to deliver an event.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Attempt {
    /// When it was sent.
    pub(crate) at: i64,
    /// The status of the answer; none if there was no answer.
    pub(crate) status: Option<u16>,
    pub(crate) body: String,
    /// How long the answer took.
    pub(crate) millis: u64,
    pub(crate) accepted: bool,
    /// What is wrong with the answer.
    pub(crate) error: Option<String>,
}

/// Where events are sent, and those that were sent, oldest first.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    pub(crate) receiver: Option<Receiver>,
    sent: VecDeque<SentEvent>,
    last_number: u64,
}

impl EventLog {
    /// Adds an event that has not been sent yet; returns its number.
    pub(crate) fn add(&mut self, change: Change, userid: &str, text: String) -> u64 {
        if self.sent.len() >= MAX_EVENTS {
            self.sent.pop_front();
        }
        self.last_number += 1;
        let (number, userid) = (self.last_number, userid.to_owned());
        self.sent.push_back(SentEvent { number, change, userid, text, accepted: false, attempts: Vec::new() });
        number
    }

    pub(crate) fn record(&mut self, number: u64, attempt: Attempt) {
        if let Some(event) = self.sent.iter_mut().find(|event| event.number == number) {
            event.accepted |= attempt.accepted;
            event.attempts.push(attempt);
        }
    }

    pub(crate) fn event(&self, number: u64) -> Option<&SentEvent> {
        self.sent.iter().find(|event| event.number == number)
    }

    /// The events that were not accepted and have been sent fewer times than the platform sends them in all.
    pub(crate) fn due(&self, max_attempts: usize) -> Vec<u64> {
        let is_due = |event: &&SentEvent| !event.accepted && event.attempts.len() < max_attempts;
        self.sent.iter().filter(is_due).map(|event| event.number).collect()
    }

    pub(crate) fn show(&self) -> Value {
        let receiver = self.receiver.as_ref().map(|receiver| json!({ "url": receiver.url.as_str() }));
        json!({ "receiver": receiver, "events": self.sent })
    }
}
