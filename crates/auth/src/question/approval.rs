//! Approvals: the person who is about to make an operation approves it on their own phone. An approval is for exactly what the phone
//! showed, is used by the session that asked, and counts once.

use std::time::Duration;

use deskpass_core::{ClientInfo, Digest, Question, ScanId, Secret};
use deskpass_store::{AuditEvent, Lease};

use super::{AskedQuestion, Draft, InvitationTexts, LIMIT_PERIOD, Operation};
use crate::audit::Attempt;
use crate::single_use::SingleUse;
use crate::{ActiveUser, Auth, Error, Refusal};

/// How many approvals an employee may ask for per period, so that a person is not worn down until they accept.
const MAX_APPROVALS: u32 = 3;

/// How long a session gets no approvals after the phone refused one or picked a wrong number: another person may have the token.
const APPROVAL_PAUSE: Duration = LIMIT_PERIOD;

impl Auth {
    /// Asks the caller on their own phone whether they are about to make this operation. Refused for people whom the platform
    /// cannot reach, and in a session in which the phone refused lately. A refusal is logged.
    pub async fn ask_approval(
        &self,
        caller: &ActiveUser,
        operation: Operation,
        visitor: &ClientInfo,
        link: impl Fn(&Secret<ScanId>) -> Option<String>,
        texts: InvitationTexts,
    ) -> Result<AskedQuestion, Error> {
        let asked = self.ask_approval_unaudited(caller, operation, visitor, link, texts).await;
        let attempt = Attempt::in_session(caller.0.session(), AuditEvent::AdministrationRefused, visitor);
        self.audit_outcome(attempt, asked).await
    }

    async fn ask_approval_unaudited(
        &self,
        caller: &ActiveUser,
        operation: Operation,
        visitor: &ClientInfo,
        link: impl Fn(&Secret<ScanId>) -> Option<String>,
        texts: InvitationTexts,
    ) -> Result<AskedQuestion, Error> {
        if !self.policy.questions.accepts_phone {
            return Err(Refusal::ApprovalsOff.into());
        }
        let person = caller.0.person();
        if person.key.corp() != self.policy.home_corp.as_str() {
            return Err(Refusal::CannotAsk.into());
        }
        if let Some(wait) = self.approvals_paused(caller.0.digest()).await? {
            return Err(Refusal::ApprovalsPaused(wait).into());
        }
        self.limit_questions(&[b"approval"], &person.key, MAX_APPROVALS).await?;
        let (asked, recipient) = (person.key.clone(), person.employee_id().to_owned());
        let (detail, subject) = (operation.detail(), operation.into_subject());
        self.ask_phone(caller, Draft { subject, asked, recipient, detail }, visitor, link, texts).await
    }

    /// Uses an approval up, right before its operation. Refused unless this session asked for it, the phone approved exactly this
    /// operation, and it was not used. The log describes the operation by its method and path.
    pub async fn use_approval(
        &self,
        caller: &ActiveUser,
        id: &str,
        (operation, described): (Digest, &str),
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let used = self.use_approval_unaudited(caller, id, operation).await;
        // Not the event of a phone that refused: here the phone may have approved, and something else was sent.
        let attempt = Attempt::in_session(caller.0.session(), AuditEvent::OtpRefused, visitor);
        self.audit_outcome(Attempt { operation: Some(described), ..attempt }, used).await
    }

    async fn use_approval_unaudited(&self, caller: &ActiveUser, id: &str, operation: Digest) -> Result<(), Error> {
        if !self.policy.questions.accepts_phone {
            return Err(Refusal::OtpNeeded.into());
        }
        let id = Secret::<Question>::parse(id).map_err(|_| Refusal::ApprovalInvalid)?.digest();
        // A session that has ended uses nothing up. The transaction of the operation checks it again.
        self.store.check_author(caller.as_author(self.clock.now())).await?;
        if self.approvals_paused(caller.0.digest()).await?.is_some() {
            return Err(Refusal::ApprovalInvalid.into());
        }
        let (now, session) = (self.question_time(), caller.0.digest());
        let used = self.shared.questions.update(&id, now, |question| question.used(session, operation, now)).await?;
        used.and_then(Result::ok).ok_or(Refusal::ApprovalInvalid)?;
        // The record in Redis may have been restored. After a failure here, the approval stays used.
        self.use_once(SingleUse::Approval, &id).await?.ok_or(Refusal::ApprovalInvalid)?;
        Ok(())
    }

    /// How long a session gets no approvals, if the phone refused one lately.
    pub(super) async fn approvals_paused(&self, session: Digest) -> Result<Option<Duration>, Error> {
        let now = self.clock.now();
        let in_redis = self.shared.approval_pauses.read_with(&session, now, |pause| pause.until).await?;
        // The record in Redis may be lost. Without Redis nobody gets an approval, so both are read.
        let in_sql = self.store.withdrawn_until(pause_digest(session)).await?;
        let until = in_redis.into_iter().chain(in_sql).max();
        Ok(until.filter(|until| now < *until).map(|until| until.since(now)))
    }

    /// Gives a session no approvals for a while, also none that were asked for before, and also if Redis loses its records. Nodes of
    /// the version before read only Redis.
    pub(super) async fn pause_approvals(&self, session: Digest) -> Result<(), Error> {
        let now = self.clock.now();
        let pause = Lease { holder: session, until: now + APPROVAL_PAUSE };
        // Each of the two counts, also if the other fails.
        let paused = self.store.withdraw(pause_digest(session), pause.until).await;
        if self.shared.approval_pauses.update(&session, now, |_| Ok::<_, ()>(pause)).await?.is_none() {
            self.shared.approval_pauses.put(session, pause, now).await?;
        }
        Ok(paused?)
    }
}

fn pause_digest(session: Digest) -> Digest {
    Digest::of(&[b"approvals paused", session.bytes()])
}
