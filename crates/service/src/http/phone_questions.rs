//! What the questions to phones have in common: how they reach the phone, what it shows, and how it answers.

use deskpass_auth::InvitationTexts;
use deskpass_core::{AskerPreview, MatchNumber, QuestionStatus, ScanId, Secret};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::config::Language;
use crate::http::auth::platform_link::scan_link;
use crate::http::error::FieldError;
use crate::http::request::{FromFields, InvalidFields};

const ONE_OF_BOTH: [&str; 2] = ["send a number or refuse, and only one of them", "number 与 refuse 必须且只能提供一个"];

/// The id of a question, as the session that asked has it.
#[derive(Debug, FromFields)]
pub(crate) struct QuestionPath(#[field(name = "id")] pub(crate) String);

/// The answer of a phone: the number that it picked, or `None` to refuse.
#[derive(Debug)]
pub(crate) struct PhoneAnswer(pub(crate) Option<MatchNumber>);

/// The fields of [`PhoneAnswer`].
#[derive(FromFields)]
#[field(into = PhoneAnswer)]
struct AnswerFields {
    /// The number that the user picked. Either this or `refuse`.
    number: Option<MatchNumber>,
    /// Whether the user refuses; `false` unless given.
    #[field(default = false)]
    refuse: bool,
}

impl TryFrom<AnswerFields> for PhoneAnswer {
    type Error = InvalidFields;
    fn try_from(AnswerFields { number, refuse }: AnswerFields) -> Result<Self, InvalidFields> {
        InvalidFields::check([(number.is_some() == refuse, "number", FieldError::Format(ONE_OF_BOTH))])?;
        Ok(Self(number))
    }
}

/// The employee who asks.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Asker {
    employee_id: String,
    name: String,
    department: String,
    avatar: String,
}

impl From<AskerPreview> for Asker {
    fn from(AskerPreview { employee_id, name, department, avatar }: AskerPreview) -> Self {
        Self { employee_id, name, department, avatar }
    }
}

/// The status of a question; `accepted` is the word for one that was answered with the right number.
pub(crate) fn status_word(status: QuestionStatus, accepted: &'static str) -> &'static str {
    match status {
        QuestionStatus::Accepted => accepted,
        QuestionStatus::Pending | QuestionStatus::Refused | QuestionStatus::Expired => status.name(),
    }
}

/// The numbers of a question, as clients show them.
pub(crate) fn shown_choices(choices: [MatchNumber; 3]) -> [u8; 3] {
    choices.map(MatchNumber::get)
}

/// The address that the message to a phone opens. Where the platform wants a language, it is that of the settings: the language of
/// the person who asks says nothing about the person who is asked.
pub(crate) fn question_link(app: &App) -> impl Fn(&Secret<ScanId>) -> Option<String> + Send + Sync + '_ {
    move |scan_id: &Secret<ScanId>| scan_link(app, app.settings.default_language, scan_id)
}

/// The message about an operation that its author approves on their own phone.
pub(crate) fn approval_invitation(language: Language, summary: &[String; 2]) -> InvitationTexts {
    let [english, chinese] = summary;
    InvitationTexts {
        title: language.of(["Approve an operation?", "是否批准此操作？"]).to_owned(),
        text: language.of([
            format!("{english}. Go on only if you are doing this right now."),
            format!("{chinese}。仅当您本人正在进行此操作时才继续。"),
        ]),
        button: language.of(["See it", "查看操作"]).to_owned(),
    }
}

/// The most characters of a reason in a message, which has little space. The page shows all of it.
const MAX_MESSAGE_REASON_CHARS: usize = 40;

/// The message to the employee who is said to have called IT. What matters comes first, since a platform may cut the rest: a person
/// who calls both sides can pass the number on, but only an employee who called IT is the caller.
pub(crate) fn caller_invitation(language: Language, name: &str, reason: Option<&str>) -> InvitationTexts {
    let about = reason.map(|reason| shortened(reason, MAX_MESSAGE_REASON_CHARS));
    InvitationTexts {
        title: language.of(["Did you call IT?", "是您本人致电 IT 的吗？"]).to_owned(),
        text: language.of([
            format!(
                "Go on only if you called IT yourself; if you were called, refuse. {name} asks{}.",
                about.as_ref().map(|about| format!(", about: {about}")).unwrap_or_default()
            ),
            format!(
                "仅当您本人主动致电 IT 时才继续；如是对方打给您的，请拒绝。询问人：{name}{}。",
                about.as_ref().map(|about| format!("，事由：{about}")).unwrap_or_default()
            ),
        ]),
        button: language.of(["Answer", "前往确认"]).to_owned(),
    }
}

/// The beginning of a text.
fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::Fields;

    #[test]
    fn an_employee_is_asked_whether_they_called_by_whom_and_why() {
        let message = caller_invitation(Language::En, "Arno Agent", Some("new phone"));
        assert_eq!(message.title, "Did you call IT?");
        assert_eq!(
            message.text,
            "Go on only if you called IT yourself; if you were called, refuse. Arno Agent asks, about: new phone."
        );
        let message = caller_invitation(Language::Zh, "张三", None);
        assert_eq!(message.text, "仅当您本人主动致电 IT 时才继续；如是对方打给您的，请拒绝。询问人：张三。");
        let long = caller_invitation(Language::Zh, "张三", Some(&"字".repeat(200))).text;
        assert!(long.ends_with("字…。") && long.chars().count() < 160, "{long}");
    }

    #[test]
    fn a_phone_picks_a_number_or_refuses() {
        let read = |body: &str| {
            let fields: Option<Fields> = serde_json::from_str(body).ok();
            fields.and_then(|fields| fields.parse::<PhoneAnswer>().ok()).map(|PhoneAnswer(picked)| picked)
        };
        assert_eq!(read(r#"{"number":42}"#), Some(MatchNumber::parse("42")));
        assert_eq!(read(r#"{"number":42,"refuse":false}"#), Some(MatchNumber::parse("42")));
        assert_eq!(read(r#"{"refuse":true}"#), Some(None));
        for body in [
            "{}",
            r#"{"refuse":false}"#,
            r#"{"number":42,"refuse":true}"#,
            r#"{"number":9}"#,
            r#"{"number":100}"#,
            r#"{"number":"42"}"#,
            r#"{"number":4.2}"#,
            r#"{"refuse":1}"#,
        ] {
            assert_eq!(read(body), None, "{body}");
        }
    }
}
