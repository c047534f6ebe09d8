//! Verification of callers: an agent on the telephone asks the employee's phone whether the employee is the caller.

use deskpass_core::{
    AskerPreview, ClientInfo, Digest, EmployeeKey, PhoneQuestion, QuestionStatus, QuestionSubject, Role, Roles, ScanId,
    Secret, Timestamp, VERIFIED_PERIOD,
};
use deskpass_store::{Lease, OpenQuestions};

use super::{AskedQuestion, Draft, InvitationTexts, require_admitted};
use crate::{ActiveUser, Auth, Error, Refusal};

/// The active roles that may ask.
const ASKING_ROLES: Roles = Roles::NONE.with(Role::Agent).with(Role::Supervisor).with(Role::Admin);
/// How many questions an employee may ask per period.
const MAX_ASKED_BY: u32 = 10;
/// How many questions an employee may be asked per period, so that a person is not worn down until they accept.
const MAX_ASKED_OF: u32 = 3;
/// How often a question is entered in the list of its employee, when others are entered at the same time.
const MAX_NOTE_ATTEMPTS: usize = 3;

impl Auth {
    /// Asks an employee on the phone whether they are the caller. For agents, supervisors and administrators of the home
    /// corporation, about its employees: the platform reaches no others.
    pub async fn ask_caller(
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
        if asker.corp() != home || employee.corp() != home {
            return Err(Refusal::NoSuchEmployee.into());
        }
        self.limit_questions(b"caller asked by", asker, MAX_ASKED_BY).await?;
        let person = self.store.person(&employee).await?.ok_or(Refusal::NoSuchEmployee)?;
        require_admitted(&person)?;
        self.limit_questions(b"caller asked of", &employee, MAX_ASKED_OF).await?;
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

    /// Requires that the employee was verified as a caller for this asker within the last minutes, if the settings require it.
    pub async fn require_verified_caller(&self, asker: &EmployeeKey, employee: &EmployeeKey) -> Result<(), Error> {
        if !self.policy.questions.verify_before_reset {
            return Ok(());
        }
        let now = self.clock.now_for_lifetime(VERIFIED_PERIOD);
        let verified = self.shared.verified.read_with(&verified_digest(asker, employee), now, |_| ()).await?;
        Ok(verified.ok_or(Refusal::CallerNotVerified)?)
    }

    /// Records that the phone of the asked employee accepted a question.
    pub(super) async fn mark_verified(&self, question: &PhoneQuestion, id: Digest) -> Result<(), Error> {
        let (key, now) = (verified_digest(&question.asker, &question.asked), self.clock.now());
        let lease = Lease { holder: id, until: now + VERIFIED_PERIOD };
        if self.shared.verified.update(&key, now, |_| Ok::<_, ()>(lease)).await?.is_none() {
            self.shared.verified.put(key, lease, now).await?;
        }
        Ok(())
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

fn verified_digest(asker: &EmployeeKey, employee: &EmployeeKey) -> Digest {
    let (by, of) = ([asker.corp(), asker.id()], [employee.corp(), employee.id()]);
    let [[by_corp, by_id], [of_corp, of_id]] = [by, of].map(|key| key.map(str::as_bytes));
    Digest::of(&[b"verified", by_corp, by_id, of_corp, of_id])
}
