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

/// The message about an operation that its author approves on the own phone.
pub(crate) fn approval_invitation(language: Language, summary: &[String; 2]) -> InvitationTexts {
    let [english, chinese] = summary;
    InvitationTexts {
        title: language.of(["Approve an operation?", "是否批准此操作？"]).to_owned(),
        text: language.of([
            format!("{english}. Go on only if you are doing this right now."),
            format!("{chinese}。仅当您本人正在进行此操作时才继续。"),
        ]),
        button: language.of(["Show the operation", "查看操作"]).to_owned(),
    }
}

/// The message to the employee who is said to be on the telephone with IT.
pub(crate) fn caller_invitation(language: Language, name: &str) -> InvitationTexts {
    InvitationTexts {
        title: language.of(["Are you on the phone with IT?", "您正在与 IT 通话吗？"]).to_owned(),
        text: language.of([
            format!("{name} from IT says that you are on the phone together."),
            format!("IT 的{name}表示正在与您通话。"),
        ]),
        button: language.of(["Answer", "前往确认"]).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::Fields;

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
