//! The messages that the app has sent.

use std::collections::VecDeque;
use std::time::Duration;

use deskpass_core::Timestamp;
use serde_json::{Value, json};

/// The maximum number of kept messages; the newest are kept.
const MAX_MESSAGES: usize = 200;

/// The messages, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    messages: VecDeque<Value>,
    /// The recent requests, and the time until which a duplicate is ignored.
    asked: VecDeque<(Timestamp, Value)>,
}

impl Inbox {
    /// Keeps a message; `url` is the address that it opens when it is touched.
    pub(crate) fn deliver(&mut self, mut message: Value, url: Option<&str>) {
        if let (Value::Object(fields), Some(url)) = (&mut message, url) {
            fields.insert("url".to_owned(), url.into());
        }
        push(&mut self.messages, message);
    }

    /// Whether the same request was made within `span`; if not, records it.
    pub(crate) fn repeats(&mut self, ask: &Value, span: Duration, now: Timestamp) -> bool {
        self.asked.retain(|(until, _)| now < *until);
        let repeats = self.asked.iter().any(|(_, asked)| asked == ask);
        if !repeats {
            push(&mut self.asked, (now + span, ask.clone()));
        }
        repeats
    }

    /// Adds an item to a list in a message, if the message is still kept.
    pub(crate) fn append(&mut self, message_id: &str, list: &str, item: Value) {
        let message = self.messages.iter_mut().find(|message| message.get("msgid").is_some_and(|id| id == message_id));
        let Some(Value::Object(message)) = message else { return };
        if let Value::Array(items) = message.entry(list).or_insert_with(|| json!([])) {
            items.push(item);
        }
    }

    /// The messages to a user, oldest first.
    pub(crate) fn of(&self, user: &str) -> Vec<Value> {
        let is_to = |message: &&Value| {
            let to = message.get("touser").and_then(Value::as_array);
            to.is_some_and(|to| to.iter().any(|id| id == user))
        };
        self.messages.iter().filter(is_to).cloned().collect()
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
