//! Messages and questions to members.

use deskpass_core::EmployeeId;
use deskpass_platform::client::{ApiCall, ApiResponse};
use deskpass_platform::{Answer, CardHandle, Choice, Error, ErrorCode, Invitation, Meaning, Notify, Question};
use serde_json::{Value, json};

use crate::api::{CARD_UPDATE, MESSAGE};
use crate::client::Wecom;
use crate::errcode::{self, BAD_AGENT_ID, NO_AGENT_ID, NO_CALLBACK, NO_VALID_RECIPIENT};

/// The maximum length of a text in bytes; the platform truncates the rest, possibly inside a character.
const MAX_TEXT_BYTES: usize = 2_048;
/// How long the platform recognises a repeated message, in seconds: its maximum.
const DUPLICATE_CHECK_SECONDS: u32 = 14_400;
/// The maximum lengths of the texts on a card in characters; the platform may cut longer ones.
const MAX_TITLE_CHARS: usize = 36;
const MAX_SUBTITLE_CHARS: usize = 160;
const MAX_LINK_CHARS: usize = 13;

impl Notify for Wecom {
    fn send<'a>(&'a self, userid: &'a str, text: &'a str) -> Answer<'a, ()> {
        Box::pin(self.send_text(userid, text))
    }

    fn invite<'a>(&'a self, userid: &'a str, invitation: Invitation<'a>) -> Answer<'a, ()> {
        Box::pin(self.send_invitation(userid, invitation))
    }

    fn ask<'a>(&'a self, userid: &'a str, question: Question<'a>) -> Answer<'a, Option<CardHandle>> {
        Box::pin(self.send_card(userid, question))
    }

    fn settle<'a>(&'a self, handle: &'a CardHandle, outcome: &'a str) -> Answer<'a, ()> {
        Box::pin(self.update_card(handle, outcome))
    }
}

impl Wecom {
    /// Sends a text. Needs an agent id; refused without a valid recipient.
    async fn send_text(&self, userid: &str, text: &str) -> Result<(), Error> {
        self.deliver(userid, &self.text_call(userid, text)?).await.map(drop)
    }

    fn text_call(&self, userid: &str, text: &str) -> Result<ApiCall, Error> {
        let body = json!({
            "touser": userid,
            "msgtype": "text",
            "agentid": self.sender(userid)?,
            "text": { "content": beginning(text, MAX_TEXT_BYTES) },
            "safe": 0,
            // A retry after a lost response must not deliver the message twice.
            "enable_duplicate_check": 1,
            "duplicate_check_interval": DUPLICATE_CHECK_SECONDS,
        });
        Ok(self.0.protocol.post(MESSAGE, body))
    }

    /// Sends a card that opens an address; a text with the address if the platform does not accept the card.
    async fn send_invitation(&self, userid: &str, invitation: Invitation<'_>) -> Result<(), Error> {
        let card = json!({
            "touser": userid,
            "msgtype": "template_card",
            "agentid": self.sender(userid)?,
            "template_card": invitation_card(&invitation),
            "enable_duplicate_check": 1,
            "duplicate_check_interval": DUPLICATE_CHECK_SECONDS,
        });
        let card = self.0.protocol.post(MESSAGE, card).secret(invitation.url);
        match self.deliver(userid, &card).await {
            Err(error) if error.code().and_then(ErrorCode::number).is_some_and(errcode::is_about_card) => {
                let text = self.text_call(userid, &invitation_text(&invitation))?.secret(invitation.url);
                self.deliver(userid, &text).await.map(drop)
            }
            outcome => outcome.map(drop),
        }
    }

    /// Sends a card with buttons, unless its answer could not arrive.
    async fn send_card(&self, userid: &str, question: Question<'_>) -> Result<Option<CardHandle>, Error> {
        if self.0.agent_id.is_none() || !self.0.reads_events {
            return Ok(None);
        }
        let agent_id = self.sender(userid)?;
        let button = |choice: &Choice<'_>| json!({ "text": choice.label, "style": 1, "key": choice.key });
        let body = json!({
            "touser": userid,
            "msgtype": "template_card",
            "agentid": agent_id,
            "template_card": {
                "card_type": "button_interaction",
                "main_title": { "title": question.title },
                "sub_title_text": question.text,
                // The platform accepts each task once, so a card cannot arrive twice.
                "task_id": question.id,
                "button_list": question.choices.iter().map(button).collect::<Vec<_>>(),
            },
        });
        match self.deliver(userid, &self.0.protocol.post(MESSAGE, body)).await {
            // Without a code the question stands, and only its card cannot be changed.
            Ok(response) => Ok(Some(CardHandle(response.text("response_code").unwrap_or_default().to_owned()))),
            Err(Error::Refused(refused)) if refused.code == ErrorCode::Number(NO_CALLBACK) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the buttons of a card, for all who received it: one member.
    async fn update_card(&self, CardHandle(response_code): &CardHandle, outcome: &str) -> Result<(), Error> {
        if response_code.is_empty() {
            return Ok(());
        }
        let body = json!({
            "atall": 1,
            "agentid": self.agent_number()?,
            "response_code": response_code,
            "button": { "replace_name": outcome },
        });
        let call = self.0.protocol.post(CARD_UPDATE, body).secret(response_code.as_str());
        self.request(&call).await.map(drop)
    }

    /// Sends a message; refused if the platform names its recipient as one whom it cannot reach.
    async fn deliver(&self, userid: &str, call: &ApiCall) -> Result<ApiResponse, Error> {
        let response = self.request(call).await?;
        // The platform lists identifiers in lower case.
        let is_recipient = |id: &str| id.eq_ignore_ascii_case(userid);
        let misses = |name| response.text(name).is_some_and(|list| list.split('|').any(is_recipient));
        if misses("invaliduser") || misses("unlicenseduser") {
            return Err(Error::refused(NO_VALID_RECIPIENT, Meaning::Rejected));
        }
        Ok(response)
    }

    /// The number of the application that sends a message to one member.
    fn sender(&self, userid: &str) -> Result<u64, Error> {
        let agent_id = self.agent_number()?;
        // A message to one member must not be read as a list, or as a message to all ("@all").
        if userid.starts_with('@') || EmployeeId::parse(userid).is_err() {
            return Err(Error::refused(NO_VALID_RECIPIENT, Meaning::Rejected));
        }
        Ok(agent_id)
    }

    fn agent_number(&self) -> Result<u64, Error> {
        let agent_id = self.0.agent_id.as_deref();
        let agent_id = agent_id.ok_or_else(|| Error::refused(NO_AGENT_ID, Meaning::Rejected))?;
        agent_id.parse().map_err(|_| Error::refused(BAD_AGENT_ID, Meaning::Rejected))
    }
}

/// A card that needs no callback: it opens an address, wherever it is touched.
fn invitation_card(invitation: &Invitation<'_>) -> Value {
    let Invitation { title, text, button, url, .. } = *invitation;
    let shortened = |text: &str, limit: usize| text.chars().take(limit).collect::<String>();
    json!({
        "card_type": "text_notice",
        "main_title": { "title": shortened(title, MAX_TITLE_CHARS) },
        "sub_title_text": shortened(text, MAX_SUBTITLE_CHARS),
        "jump_list": [{ "type": 1, "title": shortened(button, MAX_LINK_CHARS), "url": url }],
        "card_action": { "type": 1, "url": url },
    })
}

/// The same as a text, shortened before the address. The platform shows `<a href=…>` in a text as a link, and names and reasons in
/// it are of people.
fn invitation_text(invitation: &Invitation<'_>) -> String {
    let Invitation { title, text, button, url, .. } = *invitation;
    let link = format!("\n{button}: {url}");
    let text = format!("{title}\n{text}").replace('<', "＜").replace('>', "＞");
    format!("{}{link}", beginning(&text, MAX_TEXT_BYTES.saturating_sub(link.len())))
}

/// As much of a text as this many bytes hold.
fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}
