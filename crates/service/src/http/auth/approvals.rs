//! Operations of high risk that their author approves on the phone, instead of a one-time password.

use axum::extract::State;
use deskpass_auth::{
    ActiveUser, Error, MAX_SHOWN_BODY, MAX_SHOWN_PATH, Operation, PhonePrompt, QuestionKind, Refusal,
    UnshowableOperation,
};
use deskpass_core::{ClientInfo, PhoneQuestion, QuestionStatus, QuestionSubject, ShownField};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::scan::known_ip;
use crate::App;
use crate::config::Language;
use crate::http::approval_sentence::OperationParts;
use crate::http::error::{ApiError, FieldError};
use crate::http::phone_questions::{
    Asker, PhoneAnswer, QuestionPath, approval_invitation, question_link, shown_choices, status_word,
};
use crate::http::request::{
    Admin, FieldKind, FieldSpec, FieldValue, FromFields, GivenValue, HighRiskOperation, JsonBody, Path, RequestContext,
    run_to_completion, user_agent,
};
use crate::http::response::Reply;
use crate::timestamp::Rfc3339;

/// The methods of operations of high risk.
const METHODS: &[&str] = &["POST", "PUT", "PATCH", "DELETE"];

/// The error of a path that needs no approval.
const NOT_HIGH_RISK: [&str; 2] =
    ["must be that of an operation that needs a one-time password or an approval", "必须是需要一次性密码或批准的操作"];

/// The error of a path that could read otherwise than it counts.
const NOT_PLAIN: [&str; 2] =
    ["must have no query and no characters that are escaped", "不得包含查询参数或需要转义的字符"];

/// The error of a body that the phone could not show as it counts.
const NOT_SHOWABLE: [&str; 2] = [
    "must be empty or a JSON object in which no name is repeated, with names of letters, digits, - and _",
    "必须为空，或为名称不重复的 JSON 对象，且名称只含字母、数字、- 和 _",
];

/// The operation to approve.
#[derive(Debug, FromFields)]
pub(crate) struct OperationBody {
    /// The method of the operation.
    method: ChangeMethod,
    /// The path of the operation, as it will be sent: without a query and without `%`, at most 512 bytes.
    path: String,
    /// The body of the operation, exactly as it will be sent, at most 4096 bytes: a JSON object in which no name is repeated.
    /// Empty unless given.
    #[field(default = String::new())]
    body: String,
}

/// The method of a change.
#[derive(Debug)]
struct ChangeMethod(String);

impl FieldValue for ChangeMethod {
    fn kind() -> FieldKind {
        FieldKind::OneOf(METHODS)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let method = Some(given.text()?).filter(|method| METHODS.contains(&method.as_str()));
        method.map(Self).ok_or(FieldError::NotOneOf(METHODS))
    }
}

impl OperationBody {
    /// The operation, if it is of high risk and the phone can show all of it.
    fn operation(self, context: &RequestContext) -> Result<Operation, ApiError> {
        let Self { method: ChangeMethod(method), path, body } = self;
        let found = (context.high_risk)(&method, path.split('?').next().unwrap_or_default());
        let found = found.ok_or_else(|| ApiError::field("path", FieldError::Format(NOT_HIGH_RISK)))?;
        let members = serde_json::from_str::<Map<String, Value>>(&body).unwrap_or_default();
        let unknown = unknown_member(&found.fields, &members, "");
        let operation = Operation::parse(method, path, body, found.summary.map(str::to_owned));
        let operation = operation.map_err(|why| match why {
            UnshowableOperation::Path => ApiError::field("path", FieldError::Format(NOT_PLAIN)),
            UnshowableOperation::PathTooLong => ApiError::field("path", FieldError::TooLong(MAX_SHOWN_PATH)),
            UnshowableOperation::Body => ApiError::field("body", FieldError::Format(NOT_SHOWABLE)),
            UnshowableOperation::BodyTooLong => ApiError::field("body", FieldError::TooLong(MAX_SHOWN_BODY)),
        })?;
        match unknown {
            None => Ok(operation),
            Some(name) => Err(ApiError::field("body", FieldError::UnknownMember(name))),
        }
    }
}

/// A member that an operation does not read, with dots before nested names: the phone would show a value that does not count.
fn unknown_member(known: &[FieldSpec], members: &Map<String, Value>, within: &str) -> Option<String> {
    members.iter().find_map(|(name, value)| {
        let full = format!("{within}{name}");
        let Some(spec) = known.iter().find(|spec| spec.name == name) else { return Some(full) };
        match (&spec.kind, value) {
            (FieldKind::ObjectList(known, _), Value::Array(items)) => items
                .iter()
                .enumerate()
                .find_map(|(place, item)| unknown_member(known, item.as_object()?, &format!("{full}.{place}."))),
            (FieldKind::TextsByName(known), Value::Object(texts)) => {
                let unknown = texts.keys().find(|key| !known.contains(&key.as_str()));
                unknown.map(|key| format!("{full}.{key}"))
            }
            _ => None,
        }
    })
}

/// A question that was sent to the caller's phone.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AskedApproval {
    id: String,
    number: u8,
    expires_in: u64,
}

/// Asks the caller's phone to approve an operation.
pub(crate) async fn ask(
    State(context): State<RequestContext>,
    admin: Admin,
    JsonBody(input): JsonBody<OperationBody>,
) -> Result<Reply<AskedApproval>, ApiError> {
    let (operation, app) = (input.operation(&context)?, &context.app);
    let texts = approval_invitation(app.settings.default_language, operation.summary());
    let asked = app.auth.ask_approval(&admin.caller, operation, &admin.visitor, question_link(app), texts).await?;
    let (id, number) = (asked.id.expose().to_owned(), asked.number.get());
    Ok(Reply(AskedApproval { id, number, expires_in: asked.lifetime.as_secs() }))
}

/// The status of an approval.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ApprovalStatus {
    #[schemars(extend("enum" = ["pending", "approved", "refused", "expired"]))]
    status: &'static str,
}

impl From<QuestionStatus> for ApprovalStatus {
    fn from(status: QuestionStatus) -> Self {
        Self { status: status_word(status, "approved") }
    }
}

/// Returns the status of an approval to the session that asked for it.
pub(crate) async fn status(
    app: App,
    caller: ActiveUser,
    Path(QuestionPath(id)): Path<QuestionPath>,
) -> Result<Reply<ApprovalStatus>, ApiError> {
    Ok(Reply(app.auth.question_status(&caller, &id, QuestionKind::Approval).await?.into()))
}

/// The secret of the phone.
#[derive(Debug, FromFields)]
pub(crate) struct ApprovalSecret {
    approval: String,
}

/// What the phone shows.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ApprovalQuestion {
    who: Asker,
    what: OperationShown,
    client: AskingClient,
    /// Null where it is not known: a proxy in front does not name its client.
    ip_address: Option<String>,
    asked_at: Rfc3339,
    choices: [u8; 3],
    expires_in: u64,
}

/// The operation that would be approved.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct OperationShown {
    /// What the operation does, in a sentence that names people, roles and programs.
    sentence: String,
    summary: String,
    method: String,
    path: String,
    body: String,
    fields: Vec<OperationField>,
}

/// A field of the operation.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct OperationField {
    name: String,
    value: String,
}

impl From<ShownField> for OperationField {
    fn from(ShownField { name, value }: ShownField) -> Self {
        Self { name, value }
    }
}

/// The browser that asks.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AskingClient {
    browser: String,
    system: &'static str,
}

impl ApprovalQuestion {
    async fn new(context: &RequestContext, language: Language, prompt: PhonePrompt) -> Result<Self, Error> {
        let app = &context.app;
        let PhonePrompt { question, remaining } = prompt;
        let PhoneQuestion { subject, shown, origin, numbers, created_at, .. } = question;
        let QuestionSubject::Approval { method, path, body, fields, summary, .. } = subject else {
            return Err(Refusal::QuestionOver.into());
        };
        let told = match (context.high_risk)(&method, &path) {
            Some(HighRiskOperation { sentence: Some(sentence), params, .. }) => {
                sentence.about(app, OperationParts { params: &params, fields: &fields }).await?
            }
            // An operation of another version of the service.
            _ => summary.clone(),
        };
        let fields = fields.into_iter().map(OperationField::from).collect();
        let (browser, system) = user_agent::describe(origin.user_agent.as_str());
        Ok(Self {
            who: shown.into(),
            what: OperationShown {
                sentence: language.of(told),
                summary: language.of(summary),
                method,
                path,
                body,
                fields,
            },
            client: AskingClient { browser, system },
            ip_address: known_ip(app, origin.address.decided).map(|address| address.to_string()),
            asked_at: Rfc3339(created_at),
            choices: shown_choices(numbers.choices()),
            expires_in: remaining.as_secs(),
        })
    }
}

/// Returns the operation that the phone is asked to approve.
pub(crate) async fn question(
    State(context): State<RequestContext>,
    language: Language,
    JsonBody(ApprovalSecret { approval }): JsonBody<ApprovalSecret>,
) -> Result<Reply<ApprovalQuestion>, ApiError> {
    let prompt = context.app.auth.phone_prompt(&approval, QuestionKind::Approval).await?;
    Ok(Reply(ApprovalQuestion::new(&context, language, prompt).await?))
}

/// The answer of the phone.
#[derive(Debug, FromFields)]
pub(crate) struct ApprovalAnswer {
    approval: String,
    #[field(flatten)]
    answer: PhoneAnswer,
}

/// Approves or refuses the operation on the phone.
pub(crate) async fn answer(
    app: App,
    visitor: ClientInfo,
    JsonBody(ApprovalAnswer { approval, answer: PhoneAnswer(picked) }): JsonBody<ApprovalAnswer>,
) -> Result<Reply<ApprovalStatus>, ApiError> {
    let work = async move { app.auth.answer_question(&approval, QuestionKind::Approval, picked, &visitor).await };
    Ok(Reply(run_to_completion(work).await?.outcome?.into()))
}
