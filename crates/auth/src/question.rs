//! Questions to phones: a person approves an operation of their own, or says that they are the caller on the telephone.
//!
//! The platform sends the person a link; the phone that opens it is identified by the platform, as at a sign-in, and gets a secret to
//! answer with. The screen of the asker shows a number, and the phone picks it out of three.

mod alarm;
mod approval;
mod caller;
mod kind;
mod operation;
mod phone;
mod unsettled;

use std::time::Duration;

use deskpass_core::{
    ClientInfo, Digest, EmployeeKey, MatchNumber, NumberMatch, OUTCOME_PERIOD, PhoneQuestion, QUESTION_LIFETIME,
    Question, QuestionStage, QuestionStatus, QuestionSubject, ScanId, Secret, Timestamp,
};
use deskpass_platform::{Invitation, Meaning};
use deskpass_store::{LogEntry, PointerKind, SignInPointer};

use crate::{ActiveUser, Auth, Error, Refusal};

pub use caller::ResetKind;
pub use kind::QuestionKind;
pub use operation::{MAX_SHOWN_BODY, MAX_SHOWN_PATH, Operation, UnshowableOperation};
pub use phone::{AnsweredQuestion, PhonePrompt};
pub use unsettled::UnsettledAnswers;

/// The period of the limits on questions.
const LIMIT_PERIOD: Duration = Duration::from_mins(10);

/// A question that was sent.
#[derive(Debug)]
pub struct AskedQuestion {
    /// The id, for the session that asked.
    pub id: Secret<Question>,
    /// The number for the asker's screen.
    pub number: MatchNumber,
    /// How long the question can be answered.
    pub lifetime: Duration,
}

/// The texts of the message that carries the link.
#[derive(Clone, Debug)]
pub struct InvitationTexts {
    /// The title.
    pub title: String,
    /// The text.
    pub text: String,
    /// The text of the button.
    pub button: String,
}

/// A question before it has an id.
struct Draft {
    subject: QuestionSubject,
    asked: EmployeeKey,
    /// The identifier of the asked person, as the platform writes it.
    recipient: String,
    /// The detail of the row in the audit log.
    detail: String,
}

impl Auth {
    /// The status of a question, for the session that asked. For others, and after it is forgotten, it has expired.
    pub async fn question_status(
        &self,
        caller: &ActiveUser,
        id: &str,
        kind: QuestionKind,
    ) -> Result<QuestionStatus, Error> {
        let Ok(id) = Secret::<Question>::parse(id) else { return Ok(QuestionStatus::Expired) };
        let (now, session) = (self.question_time(), caller.0.digest());
        let own = |question: &PhoneQuestion| question.session == session && QuestionKind::of(question) == kind;
        let read = |question: &PhoneQuestion| own(question).then(|| question.status(now));
        let status = self.shared.questions.read_with(&id.digest(), now, read).await?;
        Ok(status.flatten().unwrap_or(QuestionStatus::Expired))
    }

    /// The time at which questions are checked: after a restart with a clock in doubt, an earlier question counts as over.
    fn question_time(&self) -> Timestamp {
        self.clock.now_for_lifetime(QUESTION_LIFETIME)
    }

    /// Asks: writes the row, keeps the question, and sends the link. A question whose link could not be sent is forgotten.
    async fn ask_phone(
        &self,
        caller: &ActiveUser,
        draft: Draft,
        visitor: &ClientInfo,
        link: impl Fn(&Secret<ScanId>) -> Option<String>,
        texts: InvitationTexts,
    ) -> Result<AskedQuestion, Error> {
        let (now, id) = (self.clock.now(), Secret::<Question>::generate(&self.entropy)?);
        let scan_id = Secret::<ScanId>::generate(&self.entropy)?;
        let url = link(&scan_id).ok_or(Refusal::CannotAsk)?;
        let numbers = NumberMatch::generate(&self.entropy)?;
        let Draft { subject, asked, recipient, detail } = draft;
        let question = new_question(caller, subject, asked, visitor, numbers, now);
        let (kind, number, expires_at) = (QuestionKind::of(&question), question.numbers.number(), question.expires_at);
        let plain = self.plain_entry(kind.asked_event(), &question.asked, now, visitor)?;
        let entry = LogEntry { actor: question.other_asker().cloned(), detail, ..plain };
        // Refused if the session has ended or switched its role since the request began.
        self.store.record_question(caller.as_author(now), entry).await?;
        if kind == QuestionKind::Caller {
            // The employee is asked anew, so an earlier answer no longer counts.
            self.drop_verification(&question.asked).await?;
            self.note_open_question(&question.asked, (id.digest(), expires_at), now).await?;
        }
        self.shared.questions.put(id.digest(), question, now).await?;
        // Known for longer than the question, so that a phone that comes late is told that the question is over.
        let until = expires_at + OUTCOME_PERIOD;
        let pointer = SignInPointer { to: id.digest(), until, kind: PointerKind::Question };
        self.shared.scan_ids.put(scan_id.digest(), pointer, now).await?;
        if let Err(error) = self.invite(&recipient, &url, &texts, now).await {
            drop(self.shared.questions.take(&id.digest(), now).await);
            return Err(error);
        }
        Ok(AskedQuestion { id, number, lifetime: QUESTION_LIFETIME })
    }

    async fn invite(&self, recipient: &str, url: &str, texts: &InvitationTexts, now: Timestamp) -> Result<(), Error> {
        let InvitationTexts { title, text, button } = texts;
        // Not the id of the question, which the platform must not know.
        let id = self.record_id(now)?;
        let invitation = Invitation { id: &id, title, text, button, url };
        self.platform.invite(recipient, invitation).await.map_err(|error| match error.meaning() {
            Meaning::Rejected | Meaning::Gone | Meaning::OutOfRange => {
                tracing::info!(recipient, %error, "question not sent: refused by the platform");
                Refusal::CannotAsk.into()
            }
            _ => error.into(),
        })
    }

    /// Counts a question of or to an employee.
    async fn limit_questions(&self, what: &[&[u8]], employee: &EmployeeKey, at_most: u32) -> Result<(), Error> {
        let mut parts = vec![b"question".as_slice()];
        parts.extend_from_slice(what);
        parts.extend([employee.corp().as_bytes(), employee.id().as_bytes()]);
        Ok(self.limit(Digest::of(&parts), at_most, LIMIT_PERIOD).await?)
    }
}

fn new_question(
    caller: &ActiveUser,
    subject: QuestionSubject,
    asked: EmployeeKey,
    visitor: &ClientInfo,
    numbers: NumberMatch,
    now: Timestamp,
) -> PhoneQuestion {
    PhoneQuestion {
        subject,
        asker: caller.0.session().employee.clone(),
        shown: caller.preview(),
        session: caller.0.digest(),
        asked,
        origin: ClientInfo { reference: None, ..visitor.clone() },
        numbers,
        created_at: now,
        expires_at: now + QUESTION_LIFETIME,
        stage: QuestionStage::Open { answer: None },
    }
}
