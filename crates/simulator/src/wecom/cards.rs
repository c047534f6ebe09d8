//! The cards that call the app back: their task ids, and the codes with which the app may change them.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use deskpass_core::{Entropy, NoEntropy, Timestamp};

use crate::codes::CodeFailure;
use crate::tokens::random_token;

/// How long the app may change a card.
const RESPONSE_CODE_LIFETIME: Duration = Duration::from_hours(72);

/// The maximum number of remembered codes and tasks; the oldest codes are removed first.
const MAX_CODES: usize = 1_000;
const MAX_TASKS: usize = 50_000;

/// The cards that were sent.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    tasks: HashSet<String>,
    codes: VecDeque<ResponseCode>,
}

#[derive(Debug)]
struct ResponseCode {
    value: String,
    card: SentCard,
    expires: Timestamp,
    used: bool,
}

/// A card, and the users who received it.
#[derive(Clone, Debug)]
pub(crate) struct SentCard {
    pub(crate) message_id: String,
    pub(crate) recipients: Vec<String>,
}

impl Cards {
    pub(crate) fn is_known_task(&self, task_id: &str) -> bool {
        self.tasks.contains(task_id)
    }

    /// Records a card, and returns the code with which it can be changed once.
    pub(crate) fn record(
        &mut self,
        task_id: &str,
        card: SentCard,
        now: Timestamp,
        entropy: Entropy,
    ) -> Result<String, NoEntropy> {
        let value = random_token("", entropy)?;
        if self.tasks.len() < MAX_TASKS {
            self.tasks.insert(task_id.to_owned());
        }
        if self.codes.len() >= MAX_CODES {
            self.codes.pop_front();
        }
        let expires = now + RESPONSE_CODE_LIFETIME;
        self.codes.push_back(ResponseCode { value: value.clone(), card, expires, used: false });
        Ok(value)
    }

    /// The card of a code that is still valid. The code stays valid.
    pub(crate) fn find(&self, value: &str, now: Timestamp) -> Result<&SentCard, CodeFailure> {
        let code = self.codes.iter().find(|code| code.value == value).ok_or(CodeFailure::Unknown)?;
        if code.used {
            return Err(CodeFailure::Used);
        }
        if now < code.expires { Ok(&code.card) } else { Err(CodeFailure::Expired) }
    }

    /// Invalidates a code.
    pub(crate) fn use_up(&mut self, value: &str) {
        if let Some(code) = self.codes.iter_mut().find(|code| code.value == value) {
            code.used = true;
        }
    }
}
