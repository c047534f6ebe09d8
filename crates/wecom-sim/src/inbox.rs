//! Messages the app has sent to people.

use std::collections::VecDeque;
use std::time::Duration;

use deskpass_core::Timestamp;
use serde_json::{Value, json};

/// The newest so many are kept.
const MAX_MESSAGES: usize = 200;

/// The messages, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    messages: VecDeque<Value>,
    /// What was asked lately, and until when the same is swallowed.
    asked: VecDeque<(Timestamp, Value)>,
}

impl Inbox {
    pub(crate) fn deliver(&mut self, message: Value) {
        push(&mut self.messages, message);
    }

    /// Whether the very same was asked within the span; if not, it counts as asked now.
    pub(crate) fn repeats(&mut self, ask: &Value, span: Duration, now: Timestamp) -> bool {
        self.asked.retain(|(until, _)| now < *until);
        let repeats = self.asked.iter().any(|(_, asked)| asked == ask);
        if !repeats {
            push(&mut self.asked, (now + span, ask.clone()));
        }
        repeats
    }

    pub(crate) fn show(&self) -> Value {
        json!({ "messages": self.messages })
    }

    pub(crate) fn clear(&mut self) {
        self.messages.clear();
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() >= MAX_MESSAGES {
        queue.pop_front();
    }
    queue.push_back(item);
}
