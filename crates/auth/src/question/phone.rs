//! The phone's side of a question: opened through the platform, shown, and answered once.

use std::time::Duration;

use deskpass_core::{
    Answer, ClientInfo, Digest, EmployeeKey, IdentifiedPerson, InvalidAnswer, MatchNumber, PhoneQuestion,
    QuestionRefusal, QuestionStage, QuestionStatus, Secret, Timestamp,
};
use deskpass_platform::Identity;
use deskpass_store::{AuditEvent, LogEntry, Notice, NoticeSubject, PointerKind, SignInPointer, SignInReference};

use super::{QuestionKind, other_asker, require_admitted};
use crate::notice::MAX_NOTIFIED_ADMINS;
use crate::platform_user::PlatformUser;
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
    ) -> Result<QuestionStatus, Error> {
        self.require_phone(visitor)?;
        let Answerable { id, answer, question } = self.answerable(answer, kind).await?;
        self.require_admitted_employee(&question.asked).await?;
        let now = self.question_time();
        let step = |question: PhoneQuestion| match picked {
            Some(picked) => question.answered(answer, picked, now),
            None => question.refused(answer, now),
        };
        let decided = step(question).map_err(|InvalidAnswer| Refusal::QuestionOver)?;
        // Only the first answer counts, also if Redis is restored to the time before it: otherwise a phone could guess again.
        let recorded = self.run_once(SingleUse::Answer, &id, self.record_answer(&decided, visitor)).await?;
        recorded.ok_or(Refusal::QuestionOver)?;
        if kind == QuestionKind::Caller && decided.stage == QuestionStage::Accepted {
            self.mark_verified(&decided, id).await?;
        }
        let settled = self.shared.questions.update(&id, now, step).await?;
        settled.ok_or(Refusal::QuestionOver)?.map_err(|InvalidAnswer| Refusal::QuestionOver)?;
        match decided.stage {
            QuestionStage::Refused(QuestionRefusal::WrongNumber) => Err(Refusal::WrongNumber.into()),
            _ => Ok(decided.status(now)),
        }
    }

    /// Finds the question that a phone may answer. It is over if the session that asked has ended.
    async fn answerable(&self, answer: &str, kind: QuestionKind) -> Result<Answerable, Error> {
        let answer = Secret::<Answer>::parse(answer).map_err(|_| Refusal::QuestionOver)?.digest();
        let now = self.question_time();
        let id = self.shared.answers.read_with(&answer, now, |pointer| pointer.to).await?;
        let id = id.ok_or(Refusal::QuestionOver)?;
        let question = self.shared.questions.read_with(&id, now, PhoneQuestion::clone).await?;
        let fits = |question: &PhoneQuestion| question.may_answer(answer, now) && QuestionKind::of(question) == kind;
        let question = question.filter(fits).ok_or(Refusal::QuestionOver)?;
        if !self.is_asker_active(&question).await? {
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
        let Ok(Some(question)) = self.question_of_scan(scan_id).await else { return AuditEvent::SignInRefused };
        let kind = self.shared.questions.read_with(&question, self.clock.now(), QuestionKind::of).await;
        kind.ok().flatten().map_or(AuditEvent::SignInRefused, QuestionKind::refused_event)
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
        identity: &Identity,
        question: Digest,
        phone: &ClientInfo,
    ) -> (Option<EmployeeKey>, Result<CallbackOutcome, Error>) {
        match self.resolve_user(identity).await {
            Ok(PlatformUser::Known(who)) => {
                let opened = self.open_question(question, &who, phone).await;
                (Some(who.key), opened)
            }
            Ok(PlatformUser::Unknown(identity)) => (Some(identity), Err(Refusal::NotAsked.into())),
            Err(error) => (self.employee_key(identity).ok().map(|(key, _)| key), Err(error)),
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
        self.require_admitted_employee(&who.key).await?;
        let opened = self.shared.questions.update(&id, now, open).await?.ok_or(Refusal::QuestionOver)??;
        let pointer = SignInPointer { to: id, until: opened.expires_at, kind: PointerKind::Question };
        self.shared.answers.put(answer.digest(), pointer, now).await?;
        Ok(CallbackOutcome::Answer(answer, QuestionKind::of(&opened)))
    }

    fn require_phone(&self, visitor: &ClientInfo) -> Result<(), Refusal> {
        let is_phone = self.policy.questions.any_browser_is_a_phone || visitor.user_agent.is_phone();
        if is_phone { Ok(()) } else { Err(Refusal::PhoneNeeded) }
    }

    /// Requires that the employee exists and may sign in. Only employees whom the service knows are asked.
    async fn require_admitted_employee(&self, employee: &EmployeeKey) -> Result<(), Error> {
        let person = self.store.person(employee).await?.ok_or(Refusal::NotAsked)?;
        Ok(require_admitted(&person)?)
    }

    /// Writes the row of an answer, and queues the notices about a refusal.
    async fn record_answer(&self, decided: &PhoneQuestion, phone: &ClientInfo) -> Result<(), Error> {
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
        let entry = LogEntry { actor: other_asker(decided), reason, detail, ..plain };
        let notices = self.refusal_notices(decided, at).await?;
        let is_told = !notices.is_empty();
        self.store.record_answer(entry, notices).await?;
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

    /// The notices about a refusal: to the person, whose session another person may use, or who may not have noticed what they
    /// picked; and about callers to administrators, since another person may be on the telephone.
    async fn refusal_notices(&self, question: &PhoneQuestion, at: Timestamp) -> Result<Vec<Notice>, Error> {
        let PhoneQuestion { asked, origin, created_at, shown, .. } = question;
        let QuestionStage::Refused(how) = question.stage else { return Ok(Vec::new()) };
        if QuestionKind::of(question) == QuestionKind::Approval {
            return Ok(vec![self.new_notice(asked, NoticeSubject::ApprovalRefused, at, origin)?]);
        }
        let mut notices = Vec::new();
        if how == QuestionRefusal::WrongNumber {
            notices.push(self.new_notice(asked, NoticeSubject::CallerRefused, at, origin)?);
        }
        let who = format!("{} (asked by {})", asked.id(), shown.employee_id);
        let home = self.policy.home_corp.as_str().to_owned();
        for admin in self.store.administrators(home, asked.clone(), MAX_NOTIFIED_ADMINS).await? {
            let notice = self.new_notice(&admin, NoticeSubject::CallerRefused, at, origin)?;
            let about = SignInReference { who: who.clone(), at: *created_at };
            notices.push(Notice { about: Some(about), ..notice });
        }
        Ok(notices)
    }
}
