//! Replies of users to messages.

use deskpass_auth::ActiveUser;
use deskpass_core::MessageId;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tracing::Instrument as _;

use crate::App;
use crate::app::reply_backend::ReplyContent;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    FieldKind, FieldValue, FormattedText, FromFields, GivenValue, InvalidFields, JsonBody, RequestTrace, TextFormat,
};
use crate::http::response::Reply;

/// The maximum size of an option, as JSON.
const MAX_OPTION_BYTES: usize = 2_048;
/// The maximum number of characters of a text.
const MAX_TEXT_CHARS: usize = 2_000;

const ONE_OF_BOTH: [&str; 2] = ["send an option or a text, and only one of them", "option 与 text 必须且只能提供一个"];

/// A reply to a message.
#[derive(Debug, FromFields)]
pub(crate) struct ReplyBody {
    message_id: MessageId,
    #[field(flatten)]
    content: ReplyContent,
}

/// The fields of [`ReplyContent`].
#[derive(FromFields)]
#[field(into = ReplyContent)]
struct ContentFields {
    option: Option<ReplyOption>,
    text: Option<ReplyText>,
}

/// An option of a message.
struct ReplyOption(Value);

/// A text without control characters other than line breaks.
struct ReplyText(String);

impl TryFrom<ContentFields> for ReplyContent {
    type Error = InvalidFields;
    fn try_from(ContentFields { option, text }: ContentFields) -> Result<Self, InvalidFields> {
        match (option, text) {
            (Some(ReplyOption(option)), None) => Ok(Self::Option(option)),
            (None, Some(ReplyText(text))) => Ok(Self::Text(text)),
            _ => Err(InvalidFields(vec![("option", FieldError::Format(ONE_OF_BOTH))])),
        }
    }
}

impl FieldValue for ReplyOption {
    fn kind() -> FieldKind {
        FieldKind::Json
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let option = match given {
            GivenValue::Text(text) => text.into(),
            GivenValue::Json(value) => value,
        };
        if option.to_string().len() > MAX_OPTION_BYTES {
            return Err(FieldError::TooLong(MAX_OPTION_BYTES));
        }
        Ok(Self(option))
    }
}

impl FormattedText for ReplyText {
    const FORMAT: &'static TextFormat = &TextFormat {
        name: "reply-text",
        pattern: None,
        example: "It is the printer on the second floor.",
        rule: [
            "must be 1 to 2000 characters, without control characters other than line breaks",
            "必须是 1 到 2000 个字符，且除换行外不得包含控制字符",
        ],
    };

    fn from_text(text: String) -> Option<Self> {
        let text = text.trim();
        let is_sendable = (1..=MAX_TEXT_CHARS).contains(&text.chars().count())
            && !text.chars().any(|character| character.is_control() && character != '\n');
        is_sendable.then(|| Self(text.to_owned()))
    }
}

/// The result of a reply.
#[derive(JsonSchema, Serialize)]
pub(crate) struct ReplySent {
    delivered: bool,
    id: String,
}

/// Delivers a reply to the help desk's back end. It was sent once the back end has accepted it, and not before.
pub(crate) async fn reply(
    app: App,
    caller: ActiveUser,
    trace: RequestTrace,
    JsonBody(ReplyBody { message_id, content }): JsonBody<ReplyBody>,
) -> Result<Reply<ReplySent>, ApiError> {
    // The attempts go on when the client disconnects, so that the outcome is counted and logged.
    let delivering = async move { app.send_reply(&caller, message_id, &content, trace.parent).await };
    let id = tokio::spawn(delivering.in_current_span()).await.map_err(|broken| ApiError::unexpected(&broken))??;
    Ok(Reply(ReplySent { delivered: true, id }))
}
