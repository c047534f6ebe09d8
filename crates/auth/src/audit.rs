//! Audit events: what users did, which requests were refused, and why.

use std::time::Duration;

use deskpass_core::{ClientInfo, Digest, EmployeeKey, LoginMethod, LoginSource, NoEntropy, Role, Session, Timestamp};
use deskpass_store::{AuditEvent, LogEntry, SignInStep};

use crate::{Auth, AuthEvent, Error, Refusal, RefusalInfo};

/// The number of refusals per period that are logged for one signed-in user.
const MAX_REFUSALS: u32 = 60;
const REFUSAL_PERIOD: Duration = Duration::from_mins(1);

/// An attempt that may be refused, with what is known of the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt<'a> {
    /// The audit event of a refusal.
    pub(crate) refused: AuditEvent,
    /// The employee, identified or claimed.
    pub(crate) who: Option<&'a EmployeeKey>,
    /// Whether the employee is only claimed. The claim may name no employee at all.
    pub(crate) claimed: bool,
    pub(crate) method: Option<LoginMethod>,
    pub(crate) source: Option<LoginSource>,
    /// Another employee whom the attempt concerns.
    pub(crate) concerned: Option<&'a EmployeeKey>,
    /// The operation that an approval was to confirm: its method and path.
    pub(crate) operation: Option<&'a str>,
    pub(crate) visitor: &'a ClientInfo,
}

impl<'a> Attempt<'a> {
    pub(crate) fn to_sign_in(who: Option<&'a EmployeeKey>, method: LoginMethod, visitor: &'a ClientInfo) -> Self {
        let (refused, method) = (AuditEvent::SignInRefused, Some(method));
        Self { refused, who, claimed: false, method, source: None, concerned: None, operation: None, visitor }
    }

    /// An attempt outside a session, of a person who is not known.
    pub(crate) fn unnamed(refused: AuditEvent, visitor: &'a ClientInfo) -> Self {
        let (who, method, source) = (None, None, None);
        Self { refused, who, claimed: false, method, source, concerned: None, operation: None, visitor }
    }

    /// The same attempt, with an employee that is only claimed.
    pub(crate) fn claimed(self) -> Self {
        Self { claimed: true, ..self }
    }

    pub(crate) fn in_session(session: &'a Session, refused: AuditEvent, visitor: &'a ClientInfo) -> Self {
        let Session { employee, method, source, .. } = session;
        let (who, method, source) = (Some(employee), Some(*method), Some(*source));
        Self { refused, who, claimed: false, method, source, concerned: None, operation: None, visitor }
    }
}

impl Auth {
    /// The log entry of an event in a session.
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

    /// The log entry of an event that concerns an employee.
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
            key: self.chain_keys.clone(),
        })
    }

    /// Logs a refusal. If it cannot be logged, the answer is an internal error instead of the refusal.
    pub(crate) async fn audit_outcome<T>(&self, attempt: Attempt<'_>, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Refused(refusal)) = &outcome {
            self.record_refusal(attempt, refusal).await?;
        }
        outcome
    }

    /// Limits how many refusals a signed-in user can write to the log; beyond that the answer is to retry later, and nothing is
    /// written. Elsewhere attempts are counted, or the limits by address apply.
    async fn limit_refusals(&self, attempt: Attempt<'_>) -> Result<(), Error> {
        // Wrong one-time passwords are counted, approvals that do not count are not.
        let is_approval = attempt.refused == AuditEvent::OtpRefused && attempt.operation.is_some();
        let is_limited = matches!(
            attempt.refused,
            AuditEvent::AdministrationRefused
                | AuditEvent::SwitchRoleRefused
                | AuditEvent::OidcRefused
                | AuditEvent::QuestionRefused
        );
        let Some(who) = attempt.who.filter(|_| is_limited || is_approval) else { return Ok(()) };
        let key = Digest::of(&[b"refused", who.corp().as_bytes(), who.id().as_bytes()]);
        Ok(self.limit(key, MAX_REFUSALS, REFUSAL_PERIOD).await?)
    }

    /// Whether the attempt names an existing employee, rightly or not. Such a row is always written.
    async fn names_employee(&self, attempt: Attempt<'_>) -> Result<bool, Error> {
        match attempt.who {
            Some(who) if attempt.claimed => Ok(self.store.person(who).await?.is_some()),
            who => Ok(who.is_some()),
        }
    }

    pub(crate) async fn record_refusal(&self, attempt: Attempt<'_>, refusal: &Refusal) -> Result<(), Error> {
        let RefusalInfo { logged: reason, audited, .. } = refusal.info();
        if !audited {
            return Ok(());
        }
        self.limit_refusals(attempt).await?;
        let Attempt { refused, who, method, source, visitor, .. } = attempt;
        self.observer.notify(AuthEvent::Refused { event: refused, reason });
        let admit = || self.anonymous_refusals.admit(visitor.address.decided, reason, self.clock.now());
        if !self.names_employee(attempt).await? && !admit() {
            if refused == AuditEvent::SignInRefused {
                self.count_step(SignInStep::Refused);
            }
            if attempt.claimed {
                // Takes as long as writing a row: otherwise the timing would reveal whether the employee exists.
                self.store.probe(self.clock.now()).await?;
            }
            return Ok(());
        }
        let anonymous = self.deployment_key();
        let plain = self.plain_entry(refused, who.unwrap_or(&anonymous), self.clock.now(), visitor)?;
        let detail = match (attempt.concerned, attempt.operation) {
            (Some(employee), _) => format!("employee {}", employee.id()),
            (None, Some(operation)) => operation.to_owned(),
            (None, None) => detail(refusal),
        };
        log_refusal(attempt, reason, &detail);
        if let Some(reference) = visitor.reference {
            self.logged_references.add(reference);
        }
        let entry = LogEntry { method, source, reason: Some(reason), detail, ..plain };
        self.store.record_repeatably(entry).await?;
        if refused == AuditEvent::SignInRefused {
            self.count_step(SignInStep::Refused);
        }
        Ok(())
    }
}

/// Writes the line of a refusal to the service log. Refusals that are only counted have none: any client can cause them.
fn log_refusal(Attempt { refused, who, claimed, method, visitor, .. }: Attempt<'_>, reason: &str, detail: &str) {
    tracing::info!(
        event = refused.name(),
        reason,
        employee = who.map(tracing::field::display),
        claimed = claimed.then_some(true),
        method = method.map(LoginMethod::name),
        address = %visitor.address.decided,
        reference = visitor.reference.map(tracing::field::display),
        detail = Some(detail).filter(|detail| !detail.is_empty()),
        "refused"
    );
}

/// The detail column of a refusal.
fn detail(refusal: &Refusal) -> String {
    match refusal {
        // An unknown role name may be any text from the wrong field, even a token, so it is not logged.
        Refusal::RoleNotHeld(role) => match Role::from_name(role) {
            Some(role) => format!("role {role}"),
            None => "no such role".to_owned(),
        },
        Refusal::RoleTakenAway(role) | Refusal::AddressNotAllowed(role) | Refusal::WouldLockYouOut(role) => {
            format!("role {role}")
        }
        Refusal::ClientNotAllowed(client) => format!("client {client}"),
        _ => String::new(),
    }
}
