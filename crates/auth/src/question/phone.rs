//! The phone's side of a question: opened through the platform, shown, and answered once.

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{
    Answer, ClientInfo, Digest, EmployeeKey, IdentifiedPerson, InvalidAnswer, MatchNumber, NoEntropy, Person,
    PhoneQuestion, QuestionRefusal, QuestionStage, QuestionStatus, Secret, Timestamp,
};
use deskpass_store::{AuditEvent, LogEntry, PointerKind, SignInPointer};

use super::QuestionKind;
use super::unsettled::{COMMIT_PERIOD, UnsettledAnswer};
use crate::people::refusal_of;
use crate::platform_user::{ExchangedCode, PlatformUser};
use crate::single_use::SingleUse;
use crate::{Auth, AuthEvent, CallbackOutcome, Error, Refusal};

/// What the phone shows.
#[derive(Debug)]
pub struct PhonePrompt {
    /// The question.
    pub question: PhoneQuestion,
    /// How long it can be answered.
    pub remaining: Duration,
}

/// A question that a phone answered.
#[derive(Debug)]
pub struct AnsweredQuestion {
    /// The digest of the question's id.
    pub id: Digest,
    /// The question, with its answer.
    pub question: PhoneQuestion,
    /// The identifier of the asked employee, as the corporation writes it.
    pub employee_id: String,
    /// The display name of the asked employee.
    pub name: String,
    /// The new status. A wrong number is a refusal, with which the question is over.
    pub outcome: Result<QuestionStatus, Refusal>,
}

/// A question that the phone with a secret may answer.
struct Answerable {
    /// The digest of the question's id.
    id: Digest,
    /// The digest of the phone's secret.
    answer: Digest,
    question: PhoneQuestion,
}

impl Auth {
    /// The question that a phone may answer with this secret. Reading it changes nothing. Refused if it is over.
    pub async fn phone_prompt(&self, answer: &str, kind: QuestionKind) -> Result<PhonePrompt, Error> {
        let question = self.answerable(answer, kind).await?.question;
        let remaining = question.expires_at.since(self.question_time());
        Ok(PhonePrompt { question, remaining })
    }

    /// Answers a question from the phone, once: with a number, or with a refusal. A wrong number refuses for good. Must run to
    /// completion, whether or not the phone waits for it.
    pub async fn answer_question(
        &self,
        answer: &str,
        kind: QuestionKind,
        picked: Option<MatchNumber>,
        visitor: &ClientInfo,
    ) -> Result<AnsweredQuestion, Error> {
        self.require_phone(visitor)?;
        let Answerable { id, answer, question } = self.answerable(answer, kind).await?;
        let person = self.admitted_employee(&question.asked).await?;
        let now = self.question_time();
        let step = |question: PhoneQuestion| match picked {
            Some(picked) => question.answered(answer, picked, now),
            None => question.refused(answer, now),
        };
        let decided = step(question).map_err(|InvalidAnswer| Refusal::QuestionOver)?;
        if decided.stage != QuestionStage::Accepted {
            // First, so that what was refused does not go on, even if the rest fails.
            self.withdraw(&decided).await?;
        }
        // Only the first answer counts, also if Redis is restored to the time before it: otherwise a phone could guess again.
        let row = self.answer_row(&decided, visitor)?;
        let recorded = self.run_once(SingleUse::Answer, &id, self.record_answer(&id, &decided, &row)).await?;
        recorded.ok_or(Refusal::QuestionOver)?;
        if let Err(error) = self.settle(&id, &decided, step).await {
            // After a failure, the question may have got its answer all the same.
            let may_count = !matches!(error, Error::Refused(_));
            self.undo_answer(&id, &decided, &row, row.at, may_count).await?;
            return Err(error);
        }
        let outcome = match decided.stage {
            QuestionStage::Refused(QuestionRefusal::WrongNumber) => Err(Refusal::WrongNumber),
            _ => Ok(decided.status(now)),
        };
        let (employee_id, name) = (person.employee_id.clone(), person.name.clone());
        Ok(AnsweredQuestion { id, question: decided, employee_id, name, outcome })
    }

    /// Takes back what a phone said before: after a refusal of one question, other answers of the same person do not count, either.
    async fn withdraw(&self, refused: &PhoneQuestion) -> Result<(), Error> {
        match QuestionKind::of(refused) {
            QuestionKind::Approval => self.pause_approvals(refused.session).await,
            QuestionKind::Caller => self.withdraw_verification(&refused.asked).await,
        }
    }

    /// Ends a question with its answer, and then counts a caller as verified.
    async fn settle(
        &self,
        id: &Digest,
        decided: &PhoneQuestion,
        step: impl Fn(PhoneQuestion) -> Result<PhoneQuestion, InvalidAnswer>,
    ) -> Result<(), Error> {
        let settled = self.shared.questions.update(id, self.question_time(), step).await?;
        settled.ok_or(Refusal::QuestionOver)?.map_err(|InvalidAnswer| Refusal::QuestionOver)?;
        if QuestionKind::of(decided) == QuestionKind::Caller && decided.stage == QuestionStage::Accepted {
            self.mark_verified(decided).await?;
        }
        Ok(())
    }

    /// Ends a question whose answer could not be kept, and corrects the log once the row of the answer is due. The log says "no
    /// effect" only if the answer was taken back; with `may_count` and no certainty it says that it may have had one.
    async fn undo_answer(
        &self,
        id: &Digest,
        decided: &PhoneQuestion,
        row: &LogEntry,
        due: Timestamp,
        may_count: bool,
    ) -> Result<(), Error> {
        let (at, kind) = (self.clock.now(), QuestionKind::of(decided));
        let mut is_undone = self.shared.questions.take(id, at).await.is_ok();
        if decided.stage != QuestionStage::Accepted {
            return Ok(());
        }
        if kind == QuestionKind::Caller {
            is_undone &= self.withdraw_verification(&decided.asked).await.is_ok();
        }
        let plain = self.plain_entry(kind.refused_event(), &decided.asked, at, &row.visitor)?;
        let effect = if may_count && !is_undone { "; it may have had an effect" } else { " and has no effect" };
        let detail = format!("the answer before this row could not be kept{effect}");
        let correction = LogEntry { actor: row.actor.clone(), detail, ..plain };
        self.unsettled_answers.add(UnsettledAnswer { answer: row.id.clone(), correction, due });
        self.log_unsettled_answers().await;
        Ok(())
    }

    /// Finds the question that a phone may answer. It is over if the session that asked has ended, or gets no approvals now.
    async fn answerable(&self, answer: &str, kind: QuestionKind) -> Result<Answerable, Error> {
        let answer = Secret::<Answer>::parse(answer).map_err(|_| Refusal::QuestionOver)?.digest();
        let now = self.question_time();
        let id = self.shared.answers.read_with(&answer, now, |pointer| pointer.to).await?;
        let id = id.ok_or(Refusal::QuestionOver)?;
        let question = self.shared.questions.read_with(&id, now, PhoneQuestion::clone).await?;
        let fits = |question: &PhoneQuestion| question.may_answer(answer, now) && QuestionKind::of(question) == kind;
        let question = question.filter(fits).ok_or(Refusal::QuestionOver)?;
        let is_paused = kind == QuestionKind::Approval && self.approvals_paused(question.session).await?.is_some();
        if is_paused || !self.is_asker_active(&question).await? {
            return Err(Refusal::QuestionOver.into());
        }
        Ok(Answerable { id, answer, question })
    }

    /// Whether the session that asked is still live, in a role that its employee still holds.
    pub(super) async fn is_asker_active(&self, question: &PhoneQuestion) -> Result<bool, Error> {
        match self.authenticate_untouched(question.session).await {
            Ok(holder) => Ok(holder.into_active_user().is_ok()),
            Err(Error::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The question of a scan id; `None` if it is of a sign-in, or of nothing.
    pub(crate) async fn question_of_scan(&self, scan_id: Option<&str>) -> Result<Option<Digest>, Error> {
        let Some(scan_id) = scan_id else { return Ok(None) };
        let pointer = self.scan_pointer(scan_id).await?;
        Ok(pointer.filter(|pointer| pointer.kind == PointerKind::Question).map(|pointer| pointer.to))
    }

    /// The audit event of a refusal after a scan: to open the link of a question is no sign-in.
    pub(crate) async fn refused_scan_event(&self, scan_id: Option<&str>) -> AuditEvent {
        match self.question_of_scan(scan_id).await {
            Ok(Some(_)) => AuditEvent::QuestionRefused,
            _ => AuditEvent::SignInRefused,
        }
    }

    /// Requires that this phone could open the question, before it goes to the platform.
    pub(crate) async fn require_openable(&self, question: &Digest, phone: &ClientInfo) -> Result<(), Error> {
        let now = self.question_time();
        let is_open = self.shared.questions.read_with(question, now, |question| question.may_open(now)).await?;
        if is_open != Some(true) {
            return Err(Refusal::QuestionOver.into());
        }
        Ok(self.require_phone(phone)?)
    }

    /// Opens a question for the user whom the platform identified: the user, and the outcome for them.
    pub(crate) async fn open_as(
        &self,
        exchanged: &ExchangedCode,
        question: Digest,
        phone: &ClientInfo,
    ) -> (Option<EmployeeKey>, Result<CallbackOutcome, Error>) {
        match self.resolve_user(exchanged).await {
            Ok(PlatformUser::Known(who)) => {
                let opened = self.open_question(question, &who, phone).await;
                (Some(who.key), opened)
            }
            Ok(PlatformUser::Unknown(identity)) => (Some(identity), Err(Refusal::NotAsked.into())),
            Err(error) => (self.employee_key(&exchanged.identity).ok().map(|(key, _)| key), Err(error)),
        }
    }

    async fn open_question(
        &self,
        id: Digest,
        who: &IdentifiedPerson,
        phone: &ClientInfo,
    ) -> Result<CallbackOutcome, Error> {
        self.require_phone(phone)?;
        // A user of another corporation who may act as the employee does not hold the employee's phone.
        if who.through.is_some() {
            return Err(Refusal::NotAsked.into());
        }
        let (now, answer) = (self.question_time(), Secret::<Answer>::generate(&self.entropy)?);
        let open = |question: PhoneQuestion| {
            if question.asked != who.key {
                return Err(Refusal::NotAsked);
            }
            question.opened(&who.key, answer.digest(), now).map_err(|InvalidAnswer| Refusal::QuestionOver)
        };
        self.admitted_employee(&who.key).await?;
        let opened = self.shared.questions.update(&id, now, open).await?.ok_or(Refusal::QuestionOver)??;
        let pointer = SignInPointer { to: id, until: opened.expires_at, kind: PointerKind::Question };
        self.shared.answers.put(answer.digest(), pointer, now).await?;
        Ok(CallbackOutcome::Answer(answer, QuestionKind::of(&opened)))
    }

    fn require_phone(&self, visitor: &ClientInfo) -> Result<(), Refusal> {
        let is_phone = self.policy.questions.any_browser_is_a_phone || visitor.user_agent.is_phone();
        if is_phone { Ok(()) } else { Err(Refusal::PhoneNeeded) }
    }

    /// The employee, who must exist and may sign in. Only employees whom the service knows are asked.
    async fn admitted_employee(&self, employee: &EmployeeKey) -> Result<Arc<Person>, Error> {
        let person = self.store.person(employee).await?.ok_or(Refusal::NotAsked)?;
        match refusal_of(&person) {
            Some(refusal) => Err(refusal.into()),
            // The question was asked of the former holder of the identifier.
            None if person.unconfirmed => Err(Refusal::HolderUnconfirmed.into()),
            None => Ok(person),
        }
    }

    /// The row of an answer.
    fn answer_row(&self, decided: &PhoneQuestion, phone: &ClientInfo) -> Result<LogEntry, NoEntropy> {
        let (at, kind) = (self.clock.now(), QuestionKind::of(decided));
        let (event, reason) = match decided.stage {
            QuestionStage::Refused(QuestionRefusal::WrongNumber) => {
                (kind.refused_event(), Some(Refusal::WrongNumber.info().logged))
            }
            QuestionStage::Refused(QuestionRefusal::Refused) => (kind.refused_event(), None),
            _ => (kind.accepted_event(), None),
        };
        let plain = self.plain_entry(event, &decided.asked, at, phone)?;
        let detail = format!("asked from {}", decided.origin.address.decided);
        Ok(LogEntry { actor: decided.other_asker().cloned(), reason, detail, ..plain })
    }

    /// Writes the row of an answer, with the notices about it. If it stays unknown whether it is written, nothing comes of the answer.
    async fn record_answer(&self, id: &Digest, decided: &PhoneQuestion, row: &LogEntry) -> Result<(), Error> {
        let (event, reason) = (row.event, row.reason);
        let notices = self.refusal_notices(decided, row).await?;
        let is_told = !notices.is_empty();
        if let Err(error) = self.store.record_answer(row.clone(), notices).await {
            if error.is_outcome_unknown() {
                // No phone can answer any more, so the asker must not wait for it.
                self.undo_answer(id, decided, row, row.at + COMMIT_PERIOD, false).await?;
            }
            return Err(error.into());
        }
        if is_told {
            self.notices_due.notify_one();
        }
        if let Some(reason) = reason {
            self.observer.notify(AuthEvent::Refused { event, reason });
        }
        let PhoneQuestion { asked, asker, .. } = decided;
        tracing::info!(event = event.name(), reason, employee = %asked, %asker, "question answered");
        Ok(())
    }
}
