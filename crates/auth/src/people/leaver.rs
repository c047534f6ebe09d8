//! People who left according to the platform, and people who came back.

use deskpass_core::{ClientInfo, EmployeeKey, LeftReason, NoEntropy, Person, Reference, Timestamp};
use deskpass_store::{AuditEvent, Leaving, LeftOutcome, LogEntry};

use crate::{Auth, AuthEvent, Error, LeaverSource, Refusal, TokenError};

use crate::departure::MAX_NODE_CLOCK_SKEW;
pub(super) use crate::departure::{departure, departure_of, is_back, shows_member, was_visible};

impl Auth {
    /// The log entry of something that the service did by itself.
    pub(crate) fn service_entry(
        &self,
        event: AuditEvent,
        about: &EmployeeKey,
        at: Timestamp,
        detail: &str,
    ) -> Result<LogEntry, NoEntropy> {
        let plain = self.plain_entry(event, about, at, &ClientInfo::service())?;
        Ok(LogEntry { detail: detail.to_owned(), ..plain })
    }

    /// The service itself, with a reference for a row and the notices about it.
    pub(crate) fn referenced_service(&self) -> Result<ClientInfo, NoEntropy> {
        let reference = Reference::new(u32::from_be_bytes(self.entropy.bytes()?));
        Ok(ClientInfo { reference: Some(reference), ..ClientInfo::service() })
    }

    /// What the store needs to lock a person who left: since the platform was asked, or since now.
    pub(super) fn leaving(
        &self,
        employee: &EmployeeKey,
        why: LeftReason,
        source: LeaverSource,
        asked_at: Option<Timestamp>,
    ) -> Result<Leaving, NoEntropy> {
        let now = self.clock.now();
        let entry = self.service_entry(AuditEvent::EmployeeLeft, employee, now, source.name())?;
        let (left_at, deny_until) = (asked_at.unwrap_or(now), self.deny_until(now));
        Ok(Leaving { employee: employee.clone(), why, left_at, deny_until, asked_at, entry })
    }

    /// Locks a person who left, and ends the person's sessions. `asked_at` is just before the platform
    /// was asked: if it said since then that the person is active, the older answer does not count.
    pub(crate) async fn mark_left(
        &self,
        employee: &EmployeeKey,
        why: LeftReason,
        source: LeaverSource,
        asked_at: Timestamp,
    ) -> Result<LeftOutcome, Error> {
        let leaving = self.leaving(employee, why, source, Some(asked_at))?;
        let outcome = self.store.mark_left(leaving).await?;
        if let LeftOutcome::Ended(sessions) = outcome {
            self.note_left(employee, why, source);
            tracing::debug!(%employee, sessions, "sessions of an employee who left ended");
        }
        Ok(outcome)
    }

    /// Logs and counts a person who left.
    pub(super) fn note_left(&self, employee: &EmployeeKey, why: LeftReason, source: LeaverSource) {
        tracing::info!(%employee, why = why.name(), source = source.name(), "the platform says that an employee left");
        self.observer.notify(AuthEvent::PersonLeft(source));
    }

    /// Admits a person again whom the platform knows again; `false` if the person had not left, or may have left after the platform was
    /// asked, at `asked_at`. What an administrator did stays.
    pub(crate) async fn mark_returned(
        &self,
        employee: &EmployeeKey,
        source: LeaverSource,
        asked_at: Timestamp,
    ) -> Result<bool, Error> {
        // Even if the departure may be newer: an answer from before that, such as a listing, does not count any more.
        self.store.mark_checked(vec![employee.clone()], asked_at).await?;
        self.lift_departure(employee, source, asked_at - MAX_NODE_CLOCK_SKEW).await
    }

    /// Admits a person again who left before `since`; `false` if the person had not.
    pub(super) async fn lift_departure(
        &self,
        employee: &EmployeeKey,
        source: LeaverSource,
        since: Timestamp,
    ) -> Result<bool, Error> {
        let entry = self.service_entry(AuditEvent::EmployeeReturned, employee, self.clock.now(), source.name())?;
        let returned = self.store.mark_returned(employee.clone(), since, entry).await?;
        if returned {
            tracing::info!(%employee, source = source.name(), "an employee came back at the platform");
        }
        Ok(returned)
    }
}

/// Why a person may not sign in; `None` if the person may.
pub(crate) fn refusal_of(person: &Person) -> Option<Refusal> {
    match (person.disabled, person.left) {
        (true, _) => Some(Refusal::Disabled),
        (false, Some(_)) => Some(Refusal::LeftPlatform),
        (false, None) => None,
    }
}

/// Why no token of a person is valid; `None` if tokens may be.
pub(crate) const fn token_problem(disabled: bool, left: Option<LeftReason>) -> Option<TokenError> {
    match (disabled, left) {
        (true, _) => Some(TokenError::Disabled),
        (false, Some(_)) => Some(TokenError::Left),
        (false, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_administrator_is_named_before_the_platform() {
        let person = |disabled, left| Person { disabled, left, ..Person::new(EmployeeKey::from_parts("ww", "a"), "a") };
        let left = Some(LeftReason::Suspended);
        assert_eq!(refusal_of(&person(false, None)), None);
        assert_eq!(refusal_of(&person(false, left)), Some(Refusal::LeftPlatform));
        assert_eq!(refusal_of(&person(true, left)), Some(Refusal::Disabled));
        assert_eq!(token_problem(false, left), Some(TokenError::Left));
        assert_eq!(token_problem(true, left), Some(TokenError::Disabled));
    }
}
