//! Messages and questions to members, from the application's bot.

use deskpass_core::Digest;
use deskpass_platform::client::{ApiCall, ApiResponse};
use deskpass_platform::{Answer, CardHandle, Error, InvalidResponse, Invitation, Meaning, Notify, Question};
use serde_json::json;

use crate::api::{self, CARD, MESSAGE};
use crate::errcode::BAD_MESSAGE;
use crate::identity::is_member_id;
use crate::{Feishu, card};

/// The maximum length of a text in bytes; the platform's own limit is five times as much.
const MAX_TEXT_BYTES: usize = 30_000;

impl Notify for Feishu {
    fn send<'a>(&'a self, userid: &'a str, text: &'a str) -> Answer<'a, ()> {
        let text = text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default();
        // A retry after a lost response must not deliver the text twice.
        let once = Digest::of(&[b"text", userid.as_bytes(), text.as_bytes()]);
        let content = json!({ "text": text }).to_string();
        Box::pin(async move { self.request(&self.message(userid, "text", &content, once)?).await.map(drop) })
    }

    fn invite<'a>(&'a self, userid: &'a str, invitation: Invitation<'a>) -> Answer<'a, ()> {
        let once = Digest::of(&[b"invitation", userid.as_bytes(), invitation.id.as_bytes()]);
        let content = card::invitation(&invitation);
        Box::pin(async move {
            let call = self.message(userid, "interactive", &content, once)?.secret(invitation.url);
            self.request(&call).await.map(drop)
        })
    }

    fn ask<'a>(&'a self, userid: &'a str, question: Question<'a>) -> Answer<'a, Option<CardHandle>> {
        let once = Digest::of(&[b"question", userid.as_bytes(), question.id.as_bytes()]);
        let content = card::question(&question);
        Box::pin(async move {
            let response = self.request(&self.message(userid, "interactive", &content, once)?).await?;
            let data = response.object("data");
            let id = data.as_ref().and_then(|data| data.text("message_id")).filter(|id| api::is_path_segment(id));
            let id = id.ok_or(InvalidResponse::MissingField("message_id"))?;
            Ok(Some(CardHandle(id.to_owned())))
        })
    }

    fn settle<'a>(&'a self, handle: &'a CardHandle, outcome: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            let CardHandle(id) = handle;
            if !api::is_path_segment(id) {
                return Err(Error::refused(BAD_MESSAGE, Meaning::Rejected));
            }
            let body = json!({ "content": card::outcome(outcome) });
            let call = ApiCall::patch(CARD, &self.0.settings.hosts.api, &api::path(CARD, id), body);
            self.request(&call).await.map(drop)
        })
    }
}

impl Feishu {
    /// The call that sends a message; the platform delivers only one message with the same `once` within an hour.
    fn message(&self, userid: &str, kind: &str, content: &str, once: Digest) -> Result<ApiCall, Error> {
        if !is_member_id(userid) {
            return Err(Error::refused(BAD_MESSAGE, Meaning::Rejected));
        }
        let settings = &self.0.settings;
        let body = json!({ "receive_id": userid, "msg_type": kind, "content": content, "uuid": once.to_text() });
        let call = ApiCall::post(MESSAGE, &settings.hosts.api, &api::path(MESSAGE, ""), body);
        Ok(call.query("receive_id_type", settings.user_id.name()))
    }

    /// Makes the only call of an operation.
    async fn request(&self, call: &ApiCall) -> Result<ApiResponse, Error> {
        self.0.client.request(call, self.0.client.deadline()).await
    }
}
