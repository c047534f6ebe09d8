//! Messages from services to connected users, and the users' replies.

mod posting;
mod reply;

use deskpass_auth::Delivery;
use schemars::JsonSchema;
use serde::Serialize;

use self::posting::PostedMessages;
pub(crate) use self::reply::reply;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{MessagesScope, Service, run_to_completion};
use crate::http::response::Reply;

/// The result of sending messages.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Sent {
    /// The total number of sockets that the messages are sent to.
    delivered: usize,
    messages: Vec<SentMessage>,
}

/// The result of one message.
#[derive(JsonSchema, Serialize)]
pub(crate) struct SentMessage {
    id: Option<String>,
    delivered: usize,
    /// Whether the message was sent before.
    duplicate: bool,
}

impl From<Delivery> for SentMessage {
    fn from(Delivery { id, recipients }: Delivery) -> Self {
        Self { id: id.map(|id| id.to_string()), delivered: recipients, duplicate: id.is_none() }
    }
}

/// Sends messages, all or none.
pub(crate) async fn send(
    app: App,
    Service(_, PostedMessages(messages)): Service<MessagesScope, PostedMessages>,
) -> Result<Reply<Sent>, ApiError> {
    // Accepted messages are delivered even when the service disconnects before the response.
    let sent = run_to_completion(async move { app.auth.publish(messages).await }).await?;
    let messages: Vec<_> = sent.into_iter().map(SentMessage::from).collect();
    Ok(Reply(Sent { delivered: messages.iter().map(|message| message.delivered).sum(), messages }))
}
