//! What only this platform remembers: which codes tell no corporation, and what became of messages.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use deskpass_core::Timestamp;
use serde_json::Value;

/// The number of remembered codes and of remembered results.
const MAX_ENTRIES: usize = 1_000;
/// How many messages a member gets from the app in a day.
const MAX_DAILY_MESSAGES: u32 = 500;
/// How long the result of a message can be read.
const RESULT_LIFETIME: Duration = Duration::from_hours(24);
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Debug, Default)]
pub(crate) struct DingtalkState {
    /// The codes of links without the scope `corpid`.
    without_corp: VecDeque<String>,
    /// The number of messages to each member on their last day.
    sent: HashMap<String, (i64, u32)>,
    /// The results of messages by task id, with the time of sending.
    results: VecDeque<(u64, Timestamp, Value)>,
}

impl DingtalkState {
    /// Remembers that the exchange of this code does not tell the corporation.
    pub(crate) fn hide_corp(&mut self, code: &str) {
        push(&mut self.without_corp, code.to_owned());
    }

    pub(crate) fn tells_corp(&self, code: &str) -> bool {
        !self.without_corp.iter().any(|hidden| hidden == code)
    }

    /// Counts a message to a member; `false` when the member has had too many today.
    pub(crate) fn count_message(&mut self, userid: &str, now: Timestamp) -> bool {
        let today = now.millis() / DAY_MILLIS;
        let (day, count) = self.sent.entry(userid.to_owned()).or_default();
        if *day != today {
            (*day, *count) = (today, 0);
        }
        *count = count.saturating_add(1);
        *count <= MAX_DAILY_MESSAGES
    }

    pub(crate) fn keep_result(&mut self, task_id: u64, result: Value, now: Timestamp) {
        push(&mut self.results, (task_id, now, result));
    }

    pub(crate) fn result(&self, task_id: u64, now: Timestamp) -> Option<&Value> {
        let fresh = |sent: &Timestamp| now.since(*sent) < RESULT_LIFETIME;
        self.results.iter().find(|(id, sent, _)| *id == task_id && fresh(sent)).map(|(_, _, result)| result)
    }
}

fn push<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() >= MAX_ENTRIES {
        queue.pop_front();
    }
    queue.push_back(item);
}
