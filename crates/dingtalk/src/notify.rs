//! Messages to members: work notices (工作通知).

use deskpass_core::{Digest, EmployeeId};
use deskpass_platform::{Answer, CardHandle, Error, ErrorCode, Invitation, Meaning, Notify, Question};
use serde_json::{Value, json};

use crate::client::Dingtalk;
use crate::{api, errcode};

/// The maximum length of a message in bytes, with its JSON around the text.
const MAX_MESSAGE_BYTES: usize = 2_048;
/// The most bytes that a byte of a text becomes in JSON: `\u0000`.
const MAX_ESCAPED_BYTES: usize = 6;
/// The maximum lengths of the title and of the button of a card in characters.
const MAX_TITLE_CHARS: usize = 64;
const MAX_BUTTON_CHARS: usize = 20;
/// The characters of the reference that makes each card a different one.
const REFERENCE_CHARS: usize = 8;
/// The characters with which a text would become a link, a heading, or an element of a page.
const MARKUP: &str = "[]<>*#`\\";
/// The distance of a full-width character from the one that it looks like.
const FULL_WIDTH: u32 = 0xfee0;

impl Notify for Dingtalk {
    /// Sends a text, in one call. Success does not prove delivery: the platform drops a text that the same member got on the
    /// same day, and messages beyond 500 a day, and reports success. The texts of this service contain a time.
    fn send<'a>(&'a self, userid: &'a str, text: &'a str) -> Answer<'a, ()> {
        Box::pin(async move { self.deliver(userid, &fitting(text, text_message), None).await })
    }

    /// Sends a work notice with one button. The platform drops a text that the same member got on the same day, so each has a
    /// reference of its own.
    fn invite<'a>(&'a self, userid: &'a str, invitation: Invitation<'a>) -> Answer<'a, ()> {
        Box::pin(async move {
            let text = plain(invitation.text);
            let message = fitting(&text, |text| invitation_message(&invitation, text));
            self.deliver(userid, &message, Some(invitation.url)).await
        })
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
    /// Sends a message, in which `secret` must not appear in logs.
    async fn deliver(&self, userid: &str, message: &Value, secret: Option<&str>) -> Result<(), Error> {
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
            "msg": message,
        });
        let call = self.legacy_call(api::MESSAGE, body);
        let call = if let Some(secret) = secret { call.secret(secret) } else { call };
        self.0.client.request(&call, self.0.client.deadline()).await.map(drop)
    }
}

fn rejected(code: &str) -> Error {
    Error::refused(ErrorCode::word(code), Meaning::Rejected)
}

fn text_message(text: &str) -> Value {
    json!({ "msgtype": "text", "text": { "content": text } })
}

/// A card with one button. `text` is markup already.
fn invitation_message(invitation: &Invitation<'_>, text: &str) -> Value {
    let shortened = |text: &str, limit: usize| text.chars().take(limit).collect::<String>();
    let title = shortened(invitation.title, MAX_TITLE_CHARS);
    let reference = shortened(&Digest::of(&[b"invitation", invitation.id.as_bytes()]).to_text(), REFERENCE_CHARS);
    json!({
        "msgtype": "action_card",
        "action_card": {
            "title": title,
            "markdown": format!("### {}\n\n{text}\n\n{reference}", plain(&title)),
            "single_title": shortened(invitation.button, MAX_BUTTON_CHARS),
            "single_url": invitation.url,
        },
    })
}

/// A text as markup that looks like it: names in it are chosen by people, and must not become links.
fn plain(text: &str) -> String {
    let full_width = |c: char| char::from_u32(u32::from(c).saturating_add(FULL_WIDTH)).unwrap_or(' ');
    let harmless: String = text.chars().map(|c| if MARKUP.contains(c) { full_width(c) } else { c }).collect();
    // A line ends only after two blanks.
    harmless.lines().collect::<Vec<_>>().join("  \n")
}

/// The message with the longest beginning of a text that fits, up to a few bytes.
fn fitting(text: &str, message: impl Fn(&str) -> Value) -> Value {
    let mut kept = text.get(..text.floor_char_boundary(MAX_MESSAGE_BYTES)).unwrap_or_default();
    loop {
        let fitted = message(kept);
        let excess = fitted.to_string().len().saturating_sub(MAX_MESSAGE_BYTES);
        if excess == 0 || kept.is_empty() {
            return fitted;
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
        assert_eq!(fitting("short", text_message), text_message("short"));
        let url = format!("https://desk.example.com/{}", "x".repeat(400));
        let title = "\u{1}".repeat(500);
        let invitation = Invitation { id: "i1", title: &title, text: "", button: &title, url: &url };
        for part in ["a", "字", "\"", "\u{1}", "é\n", "\\", "[x](y)"] {
            let text = part.repeat(3_000);
            let card = fitting(&plain(&text), |text| invitation_message(&invitation, text));
            for message in [fitting(&text, text_message), card] {
                let bytes = message.to_string().len();
                assert!(bytes <= MAX_MESSAGE_BYTES && bytes > MAX_MESSAGE_BYTES - 16, "{part:?}: {bytes}");
            }
        }
    }

    #[test]
    fn names_do_not_become_links() {
        assert_eq!(plain("Uma [x](http://a.example) <b>"), "Uma ［x］(http://a.example) ＜b＞");
        assert_eq!(plain("# one\r\n*two*"), "＃ one  \n＊two＊");
    }
}
