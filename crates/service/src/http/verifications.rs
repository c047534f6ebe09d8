//! Verification of callers: an agent on the telephone asks whether the caller is the employee, and the employee's phone answers.

use deskpass_auth::{ActiveUser, AnsweredQuestion, Error, PhonePrompt, QuestionKind, Refusal};
use deskpass_core::{AskerPreview, ClientInfo, PhoneQuestion, QuestionStatus, QuestionSubject};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::app::reply_backend::{AnsweredVerification, verification_id};
use crate::http::admin::EmployeeRef;
use crate::http::error::{ApiError, FieldError};
use crate::http::phone_questions::{
    Asker, PhoneAnswer, QuestionPath, caller_invitation, question_link, shown_choices, status_word,
};
use crate::http::request::{FromFields, JsonBody, Path, ReasonText, RequestTrace, run_to_completion};
use crate::http::response::Reply;
use crate::timestamp::Rfc3339;

/// The employee to ask.
#[derive(Debug, FromFields)]
pub(crate) struct VerificationBody {
    #[field(flatten)]
    whom: EmployeeRef,
    /// What the call is about; the employee sees it. Required where `verification.before_resets` is on.
    reason: Option<ReasonText>,
}

/// A question that was sent to the employee's phone.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AskedVerification {
    id: String,
    verification: String,
    number: u8,
    expires_in: u64,
}

/// Asks an employee's phone whether the employee called IT.
pub(crate) async fn ask(
    app: App,
    caller: ActiveUser,
    visitor: ClientInfo,
    JsonBody(VerificationBody { whom, reason }): JsonBody<VerificationBody>,
) -> Result<Reply<AskedVerification>, ApiError> {
    let (name, reason) = (caller.preview().name, reason.map(|ReasonText(reason)| reason));
    // What a reset is for is what the employee must agree to.
    if reason.is_none() && app.auth.policy.questions.verify_before_reset {
        return Err(ApiError::field("reason", FieldError::Required));
    }
    let texts = caller_invitation(app.settings.default_language, &name, reason.as_deref());
    let link = question_link(&app);
    let asked = app.auth.ask_caller(&caller, whom.key(&app), reason, &visitor, link, texts).await?;
    let (id, verification) = (asked.id.expose().to_owned(), verification_id(&asked.id.digest()));
    let (number, expires_in) = (asked.number.get(), asked.lifetime.as_secs());
    Ok(Reply(AskedVerification { id, verification, number, expires_in }))
}

/// The status of a verification.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct VerificationStatus {
    #[schemars(extend("enum" = ["pending", "verified", "refused", "expired"]))]
    status: &'static str,
}

impl From<QuestionStatus> for VerificationStatus {
    fn from(status: QuestionStatus) -> Self {
        Self { status: status_word(status, VERIFIED) }
    }
}

/// The word for a caller who is the employee.
const VERIFIED: &str = "verified";

/// Returns the status of a verification to the session that asked for it.
pub(crate) async fn status(
    app: App,
    caller: ActiveUser,
    Path(QuestionPath(id)): Path<QuestionPath>,
) -> Result<Reply<VerificationStatus>, ApiError> {
    Ok(Reply(app.auth.question_status(&caller, &id, QuestionKind::Caller).await?.into()))
}

/// Who of IT is asking the signed-in user right now.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct VerificationAskers {
    items: Vec<VerificationAsker>,
}

/// An employee of IT who asks.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct VerificationAsker {
    name: String,
    department: String,
    avatar: String,
}

impl From<AskerPreview> for VerificationAsker {
    fn from(AskerPreview { name, department, avatar, .. }: AskerPreview) -> Self {
        Self { name, department, avatar }
    }
}

/// Lists who of IT is asking the signed-in user right now whether the user called IT.
pub(crate) async fn mine(app: App, caller: ActiveUser) -> Result<Reply<VerificationAskers>, ApiError> {
    let askers = app.auth.open_caller_questions(&caller).await?;
    Ok(Reply(VerificationAskers { items: askers.into_iter().map(VerificationAsker::from).collect() }))
}

/// The secret of the phone.
#[derive(Debug, FromFields)]
pub(crate) struct VerificationSecret {
    verification: String,
}

/// What the phone shows.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct VerificationQuestion {
    who: Asker,
    reason: Option<String>,
    asked_at: Rfc3339,
    choices: [u8; 3],
    expires_in: u64,
}

impl TryFrom<PhonePrompt> for VerificationQuestion {
    type Error = Refusal;
    fn try_from(PhonePrompt { question, remaining }: PhonePrompt) -> Result<Self, Refusal> {
        let PhoneQuestion { subject, shown, numbers, created_at, .. } = question;
        let QuestionSubject::Caller { reason } = subject else { return Err(Refusal::QuestionOver) };
        let (asked_at, choices) = (Rfc3339(created_at), shown_choices(numbers.choices()));
        Ok(Self { who: shown.into(), reason, asked_at, choices, expires_in: remaining.as_secs() })
    }
}

/// Returns who asks the phone.
pub(crate) async fn question(
    app: App,
    JsonBody(VerificationSecret { verification }): JsonBody<VerificationSecret>,
) -> Result<Reply<VerificationQuestion>, ApiError> {
    Ok(Reply(app.auth.phone_prompt(&verification, QuestionKind::Caller).await?.try_into()?))
}

/// The answer of the phone.
#[derive(Debug, FromFields)]
pub(crate) struct VerificationAnswer {
    verification: String,
    #[field(flatten)]
    answer: PhoneAnswer,
}

/// Answers on the phone whether its owner is the caller.
pub(crate) async fn answer(
    app: App,
    visitor: ClientInfo,
    trace: RequestTrace,
    JsonBody(input): JsonBody<VerificationAnswer>,
) -> Result<Reply<VerificationStatus>, ApiError> {
    Ok(Reply(run_to_completion(answer_and_tell(app, visitor, trace, input)).await?.into()))
}

/// Records the answer, and tells the help desk's back end.
async fn answer_and_tell(
    app: App,
    visitor: ClientInfo,
    trace: RequestTrace,
    VerificationAnswer { verification, answer: PhoneAnswer(picked) }: VerificationAnswer,
) -> Result<QuestionStatus, Error> {
    let answered = app.auth.answer_question(&verification, QuestionKind::Caller, picked, &visitor).await?;
    let AnsweredQuestion { id, question, employee_id, name, outcome } = answered;
    let status = outcome.as_ref().map_or(QuestionStatus::Refused.name(), |status| status_word(*status, VERIFIED));
    let told = AnsweredVerification {
        verification: verification_id(&id),
        employee: (question.asked, employee_id, name),
        agent: (question.asker, question.shown.employee_id, question.shown.name),
    };
    app.tell_verification(told, status, trace.parent);
    Ok(outcome?)
}
