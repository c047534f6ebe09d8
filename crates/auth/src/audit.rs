//! What goes into the log: who did what, and who was turned away, and why.

use std::time::Duration;

use deskpass_core::{ClientInfo, Digest, EmployeeKey, LoginMethod, LoginSource, NoEntropy, Rate, Session, Timestamp};
use deskpass_store::{AuditEvent, LimitSubject, LogEntry, SignInStep};

use crate::{Auth, Error, Refusal};

/// How often a minute somebody who is signed in is told that they may not do something.
const MAX_REFUSALS_PER_MINUTE: u32 = 60;

/// Somebody who wants something, as far as that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    /// What it is called when they do not get it.
    pub(crate) refused: AuditEvent,
    /// Who they are, or say they are.
    pub(crate) who: Option<&'a EmployeeKey>,
    /// Whether that is only what they say: then it may be no employee at all.
    pub(crate) claimed: bool,
    pub(crate) method: Option<LoginMethod>,
    pub(crate) source: Option<LoginSource>,
    pub(crate) visitor: &'a ClientInfo,
}

impl<'a> Attempt<'a> {
    /// Somebody who wants in.
    pub(crate) fn to_sign_in(who: Option<&'a EmployeeKey>, method: LoginMethod, visitor: &'a ClientInfo) -> Self {
        Self { refused: AuditEvent::SignInRefused, who, claimed: false, method: Some(method), source: None, visitor }
    }

    /// The same, of which nobody knows whether they are who they say.
    pub(crate) fn claimed(self) -> Self {
        Self { claimed: true, ..self }
    }

    /// Somebody who is signed in.
    pub(crate) fn in_session(session: &'a Session, refused: AuditEvent, visitor: &'a ClientInfo) -> Self {
        let Session { employee, method, source, .. } = session;
        Self { refused, who: Some(employee), claimed: false, method: Some(*method), source: Some(*source), visitor }
    }
}

impl Auth {
    /// The row of something that happened in a session.
    pub(crate) fn entry(
        &self,
        event: AuditEvent,
        session: &Session,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<LogEntry, NoEntropy> {
        Ok(LogEntry {
            role: Some(session.current_role),
            method: Some(session.method),
            source: Some(session.source),
            ..self.plain_entry(event, &session.employee, at, visitor)?
        })
    }

    /// The row of something that happened to somebody.
    pub(crate) fn plain_entry(
        &self,
        event: AuditEvent,
        about: &EmployeeKey,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<LogEntry, NoEntropy> {
        Ok(LogEntry {
            id: self.record_id(at)?,
            at,
            event,
            about: about.clone(),
            role: None,
            method: None,
            source: None,
            visitor: visitor.clone(),
            actor: None,
            reason: None,
            detail: String::new(),
            key: self.chain_key.clone(),
        })
    }

    /// Writes down that somebody was turned away, should they have been. A refusal that cannot be written down is none: the
    /// answer is then that something broke.
    pub(crate) async fn audit_outcome<T>(&self, attempt: Attempt<'_>, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Refused(refusal)) = &outcome {
            self.record_refusal(attempt, refusal).await?;
        }
        outcome
    }

    /// Whoever is signed in could fill the log with what they may not do: beyond so many a minute they are asked to wait, and
    /// nothing is written. Elsewhere guesses are counted, or the limits by address hold.
    async fn limit_refusals(&self, attempt: Attempt<'_>) -> Result<(), Error> {
        let (AuditEvent::AdministrationRefused | AuditEvent::SwitchRoleRefused, Some(who)) =
            (attempt.refused, attempt.who)
        else {
            return Ok(());
        };
        let Some(rate) = Rate::new(MAX_REFUSALS_PER_MINUTE, Duration::from_mins(1)) else { return Ok(()) };
        let key = Digest::of(&[b"refused", who.corp().as_bytes(), who.id().as_bytes()]);
        let admitted = self.shared.limits.admit(LimitSubject::Client, &key, rate, self.clock.now()).await;
        Ok(admitted.map_err(Refusal::TooOften)?)
    }

    /// Whether somebody who works here is named, rightly or not: such a row is always written.
    async fn names_employee(&self, attempt: Attempt<'_>) -> Result<bool, Error> {
        match attempt.who {
            Some(who) if attempt.claimed => Ok(self.store.person(who).await?.is_some()),
            who => Ok(who.is_some()),
        }
    }

    pub(crate) async fn record_refusal(&self, attempt: Attempt<'_>, refusal: &Refusal) -> Result<(), Error> {
        let Some(reason) = refusal.audit_reason() else { return Ok(()) };
        self.limit_refusals(attempt).await?;
        let Attempt { refused, who, method, source, visitor, .. } = attempt;
        if !self.names_employee(attempt).await? && !self.admits_anonymous_row(visitor, reason) {
            if refused == AuditEvent::SignInRefused {
                self.count_step(SignInStep::Refused);
            }
            if attempt.claimed {
                // As long as writing a row takes: otherwise the time would tell whether there is such an employee.
                self.store.probe(self.clock.now()).await?;
            }
            return Ok(());
        }
        let nobody = self.deployment_key();
        let plain = self.plain_entry(refused, who.unwrap_or(&nobody), self.clock.now(), visitor)?;
        tracing::debug!(event = refused.name(), reason, employee = ?plain.about, "somebody was turned away");
        let entry = LogEntry { method, source, reason: Some(reason), detail: refusal.detail(), ..plain };
        self.store.record(entry).await?;
        if refused == AuditEvent::SignInRefused {
            self.count_step(SignInStep::Refused);
        }
        Ok(())
    }
}
