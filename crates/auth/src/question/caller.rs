//! Verification of callers: an agent on the telephone asks the employee's phone whether the employee is the caller.

use deskpass_core::{
    AskerPreview, ClientInfo, Digest, EmployeeKey, PhoneQuestion, QuestionStatus, QuestionSubject, Role, Roles, ScanId,
    Secret, Timestamp, VERIFIED_PERIOD,
};
use deskpass_store::{AuditEvent, Lease, OpenQuestions};

use super::{AskedQuestion, Draft, InvitationTexts};
use crate::audit::Attempt;
use crate::people::refusal_of;
use crate::single_use::{CLOCK_SKEW, SingleUse};
use crate::{ActiveUser, Auth, Error, Refusal};

/// What may be reset for a verified caller, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetKind {
    /// The authenticator.
    Device,
    /// The password.
    Password,
}

impl ResetKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Password => "password",
        }
    }
}

/// The active roles that may ask.
const ASKING_ROLES: Roles = Roles::NONE.with(Role::Agent).with(Role::Supervisor).with(Role::Admin);
/// How many questions an employee may ask per period.
const MAX_ASKED_BY: u32 = 10;
/// How many questions an employee may be asked by one other per period, so that a person is not worn down until they accept.
const MAX_ASKED_BY_ONE: u32 = 3;
/// How many questions an employee may be asked per period in all: more than one asker can use up, so that others can still ask.
const MAX_ASKED_OF: u32 = 6;
/// How often a question is entered in the list of its employee, when others are entered at the same time.
const MAX_NOTE_ATTEMPTS: usize = 3;

impl Auth {
    /// Asks an employee on the phone whether they are the caller. For agents, supervisors and administrators of the home
    /// corporation, about its employees: the platform reaches no others. Only administrators learn why an employee cannot be
    /// asked, and the log names the employee: otherwise an agent could find out, unseen, who works here.
    pub async fn ask_caller(
        &self,
        caller: &ActiveUser,
        employee: EmployeeKey,
        reason: Option<String>,
        visitor: &ClientInfo,
        link: impl Fn(&Secret<ScanId>) -> Option<String>,
        texts: InvitationTexts,
    ) -> Result<AskedQuestion, Error> {
        let asked = self.ask_caller_unaudited(caller, employee.clone(), reason, visitor, link, texts).await;
        let attempt = Attempt::in_session(caller.0.session(), AuditEvent::AdministrationRefused, visitor);
        let attempt = Attempt { concerned: Some(&employee), ..attempt };
        match asked {
            Err(Error::Refused(refusal)) if is_about_asked(&refusal) => {
                self.record_refusal(attempt, &Refusal::CannotAsk).await?;
                let is_admin = caller.0.session().current_role == Role::Admin;
                let told = if is_admin { refusal } else { Refusal::CannotAsk };
                Err(told.into())
            }
            asked => self.audit_outcome(attempt, asked).await,
        }
    }

    async fn ask_caller_unaudited(
        &self,
        caller: &ActiveUser,
        employee: EmployeeKey,
        reason: Option<String>,
        visitor: &ClientInfo,
        link: impl Fn(&Secret<ScanId>) -> Option<String>,
        texts: InvitationTexts,
    ) -> Result<AskedQuestion, Error> {
        caller.acts_as(ASKING_ROLES)?;
        let (asker, home) = (&caller.0.session().employee, self.policy.home_corp.as_str());
        // The limits come first, and so say nothing about the employee.
        self.limit_questions(&[b"caller asked by"], asker, MAX_ASKED_BY).await?;
        let by = [b"caller asked of".as_slice(), asker.corp().as_bytes(), asker.id().as_bytes()];
        self.limit_questions(&by, &employee, MAX_ASKED_BY_ONE).await?;
        self.limit_questions(&[b"caller asked of"], &employee, MAX_ASKED_OF).await?;
        if asker.corp() != home || employee.corp() != home {
            return Err(Refusal::NoSuchEmployee.into());
        }
        // An answer of the asker's own phone would verify nothing.
        if *asker == employee {
            return Err(Refusal::CannotAsk.into());
        }
        let person = self.store.person(&employee).await?.ok_or(Refusal::NoSuchEmployee)?;
        if let Some(refusal) = refusal_of(&person) {
            return Err(refusal.into());
        }
        let (recipient, detail) = (person.employee_id.clone(), reason.clone().unwrap_or_default());
        let draft = Draft { subject: QuestionSubject::Caller { reason }, asked: employee, recipient, detail };
        self.ask_phone(caller, draft, visitor, link, texts).await
    }

    /// The employees who ask the caller at this moment, for people who want to know whether the call is real.
    pub async fn open_caller_questions(&self, caller: &ActiveUser) -> Result<Vec<AskerPreview>, Error> {
        let (employee, now) = (&caller.0.session().employee, self.question_time());
        let digest = asked_digest(employee);
        let known = self.shared.open_questions.read_with(&digest, now, |open| open.questions.clone()).await?;
        let mut askers = Vec::new();
        for (id, _) in known.unwrap_or_default() {
            let question = self.shared.questions.read_with(&id, now, PhoneQuestion::clone).await?;
            let pending = |question: &PhoneQuestion| {
                question.asked == *employee && question.status(now) == QuestionStatus::Pending
            };
            let Some(question) = question.filter(pending) else { continue };
            if self.is_asker_active(&question).await? && !askers.contains(&question.shown) {
                askers.push(question.shown);
            }
        }
        Ok(askers)
    }

    /// Requires that the employee was verified as a caller for this session within the last minutes, that no phone withdrew this
    /// since, and that it was not used for such a reset. Returns what the reset uses up; `None` if the settings require nothing.
    pub(crate) async fn require_verified_caller(
        &self,
        session: Digest,
        employee: &EmployeeKey,
        kind: ResetKind,
    ) -> Result<Option<Digest>, Error> {
        if !self.policy.questions.verify_before_reset {
            return Ok(None);
        }
        let (key, now) = (verified_digest(employee), self.clock.now_for_lifetime(VERIFIED_PERIOD));
        let lease = self.shared.verified.read_with(&key, now, |lease| *lease).await?;
        let lease = lease.filter(|lease| lease.holder == session).ok_or(Refusal::CallerNotVerified)?;
        let reset = reset_digest(employee, &lease, kind);
        // The record in Redis may have been restored.
        if self.store.is_withdrawn(withdrawn_digest(employee), lease.until + CLOCK_SKEW).await?
            || self.was_used(SingleUse::Reset, &reset).await?
        {
            return Err(Refusal::CallerNotVerified.into());
        }
        Ok(Some(reset))
    }

    /// Records that the phone of the asked employee accepted a question.
    pub(super) async fn mark_verified(&self, question: &PhoneQuestion) -> Result<(), Error> {
        let (key, now) = (verified_digest(&question.asked), self.clock.now());
        let lease = Lease { holder: question.session, until: now + VERIFIED_PERIOD };
        if self.shared.verified.update(&key, now, |_| Ok::<_, ()>(lease)).await?.is_none() {
            self.shared.verified.put(key, lease, now).await?;
        }
        Ok(())
    }

    /// Forgets the verification of an employee, for every asker.
    pub(super) async fn drop_verification(&self, employee: &EmployeeKey) -> Result<(), Error> {
        self.shared.verified.take(&verified_digest(employee), self.clock.now()).await?;
        Ok(())
    }

    /// Withdraws all verifications of an employee up to now: also in SQL, since a record in Redis can be restored.
    pub(super) async fn withdraw_verification(&self, employee: &EmployeeKey) -> Result<(), Error> {
        let until = self.clock.now() + VERIFIED_PERIOD + CLOCK_SKEW;
        // Each of the two counts, also if the other fails.
        let withdrawn = self.store.withdraw(withdrawn_digest(employee), until).await;
        self.drop_verification(employee).await?;
        Ok(withdrawn?)
    }

    /// Enters a question, with the time at which it expires, in the list of the asked employee.
    pub(super) async fn note_open_question(
        &self,
        asked: &EmployeeKey,
        (id, until): (Digest, Timestamp),
        now: Timestamp,
    ) -> Result<(), Error> {
        let key = asked_digest(asked);
        let added = |open: OpenQuestions| {
            let mut questions = open.questions;
            questions.retain(|(_, until)| now < *until);
            questions.push((id, until));
            Ok::<_, ()>(OpenQuestions { questions, until: open.until.max(until) })
        };
        for _ in 0..MAX_NOTE_ATTEMPTS {
            if self.shared.open_questions.update(&key, now, added).await?.is_some() {
                return Ok(());
            }
            let first = OpenQuestions { questions: vec![(id, until)], until };
            if self.shared.open_questions.put(key, first, now).await? {
                return Ok(());
            }
        }
        Ok(())
    }
}

fn asked_digest(employee: &EmployeeKey) -> Digest {
    Digest::of(&[b"asked", employee.corp().as_bytes(), employee.id().as_bytes()])
}

fn verified_digest(employee: &EmployeeKey) -> Digest {
    Digest::of(&[b"verified", employee.corp().as_bytes(), employee.id().as_bytes()])
}

fn withdrawn_digest(employee: &EmployeeKey) -> Digest {
    Digest::of(&[b"caller withdrawn", employee.corp().as_bytes(), employee.id().as_bytes()])
}

/// A reset of one kind that one verification permits.
fn reset_digest(employee: &EmployeeKey, lease: &Lease, kind: ResetKind) -> Digest {
    let (corp, id, until) = (employee.corp().as_bytes(), employee.id().as_bytes(), lease.until.millis().to_be_bytes());
    Digest::of(&[b"reset", kind.name().as_bytes(), corp, id, lease.holder.bytes(), &until])
}

/// Whether a refusal says something about the employee who was to be asked.
fn is_about_asked(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NoSuchEmployee | Refusal::Disabled | Refusal::LeftPlatform | Refusal::CannotAsk)
}
