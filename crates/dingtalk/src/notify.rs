//! Messages to members: work notices (工作通知).

use deskpass_core::EmployeeId;
use deskpass_platform::{Answer, CardHandle, Error, ErrorCode, Meaning, Notify, Question};
use serde_json::{Value, json};

use crate::client::Dingtalk;
use crate::{api, errcode};

/// The maximum length of a message in bytes, with its JSON around the text.
const MAX_MESSAGE_BYTES: usize = 2_048;
/// The most bytes that a byte of a text becomes in JSON: `\u0000`.
const MAX_ESCAPED_BYTES: usize = 6;

impl Notify for Dingtalk {
    /// Sends a text, in one call. Success does not prove delivery: the platform drops a text that the same member got on the
    /// same day, and messages beyond 500 a day, and reports success. The texts of this service contain a time.
    fn send<'a>(&'a self, userid: &'a str, text: &'a str) -> Answer<'a, ()> {
        Box::pin(self.send_text(userid, text))
    }

    /// Cards with buttons need a template that an administrator draws in the platform's console.
    fn ask<'a>(&'a self, _userid: &'a str, _question: Question<'a>) -> Answer<'a, Option<CardHandle>> {
        Box::pin(async { Ok(None) })
    }

    fn settle<'a>(&'a self, _handle: &'a CardHandle, _outcome: &'a str) -> Answer<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

impl Dingtalk {
    async fn send_text(&self, userid: &str, text: &str) -> Result<(), Error> {
        let agent_id = self.0.agent_id.as_deref().ok_or_else(|| rejected(errcode::NO_AGENT_ID))?;
        let agent_id: u64 = agent_id.parse().map_err(|_| rejected(errcode::BAD_AGENT_ID))?;
        // A message to one member must not be read as a list.
        if EmployeeId::parse(userid).is_err() {
            return Err(rejected(errcode::BAD_RECIPIENT));
        }
        let body = json!({
            "agent_id": agent_id,
            "userid_list": userid,
            "to_all_user": false,
            "msg": message(truncated(text)),
        });
        self.0.client.request(&self.legacy_call(api::MESSAGE, body), self.0.client.deadline()).await.map(drop)
    }
}

fn rejected(code: &str) -> Error {
    Error::refused(ErrorCode::word(code), Meaning::Rejected)
}

fn message(text: &str) -> Value {
    json!({ "msgtype": "text", "text": { "content": text } })
}

/// The longest beginning of a text that fits into a message, up to a few bytes.
fn truncated(text: &str) -> &str {
    let mut kept = text.get(..text.floor_char_boundary(MAX_MESSAGE_BYTES)).unwrap_or_default();
    loop {
        let excess = message(kept).to_string().len().saturating_sub(MAX_MESSAGE_BYTES);
        if excess == 0 || kept.is_empty() {
            return kept;
        }
        let end = kept.len().saturating_sub(excess.div_ceil(MAX_ESCAPED_BYTES));
        kept = kept.get(..kept.floor_char_boundary(end)).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_fits_whatever_the_text_is() {
        assert_eq!(truncated("short"), "short");
        for part in ["a", "字", "\"", "\u{1}", "é\n", "\\"] {
            let text = part.repeat(3_000);
            let bytes = message(truncated(&text)).to_string().len();
            assert!(bytes <= MAX_MESSAGE_BYTES && bytes > MAX_MESSAGE_BYTES - 16, "{part:?}: {bytes}");
        }
    }
}
