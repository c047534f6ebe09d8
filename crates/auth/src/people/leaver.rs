//! People who left according to the platform, and people who came back.

use deskpass_core::{ClientInfo, EmployeeKey, LeftReason, NoEntropy, Person, Timestamp, is_entered_department};
use deskpass_platform::MemberStatus;
use deskpass_store::{AuditEvent, Leaving, LeftOutcome, LogEntry};

use crate::{Auth, AuthEvent, Error, LeaverSource, Refusal, TokenError};

impl Auth {
    /// The log entry of something that the service did by itself.
    pub(super) fn service_entry(
        &self,
        event: AuditEvent,
        about: &EmployeeKey,
        at: Timestamp,
        detail: &str,
    ) -> Result<LogEntry, NoEntropy> {
        let plain = self.plain_entry(event, about, at, &ClientInfo::service())?;
        Ok(LogEntry { detail: detail.to_owned(), ..plain })
    }

    /// What the store needs to lock a person who left.
    pub(super) fn leaving(
        &self,
        employee: &EmployeeKey,
        why: LeftReason,
        source: LeaverSource,
        asked_at: Option<Timestamp>,
    ) -> Result<Leaving, NoEntropy> {
        let now = self.clock.now();
        let entry = self.service_entry(AuditEvent::EmployeeLeft, employee, now, source.name())?;
        Ok(Leaving { employee: employee.clone(), why, deny_until: self.deny_until(now), asked_at, entry })
    }

    /// Locks a person who left, and ends the person's sessions; `false` if that changes nothing. `asked_at` is just before the platform
    /// was asked: if it said since then that the person is active, the older answer does not count.
    pub(crate) async fn mark_left(
        &self,
        employee: &EmployeeKey,
        why: LeftReason,
        source: LeaverSource,
        asked_at: Timestamp,
    ) -> Result<bool, Error> {
        let leaving = self.leaving(employee, why, source, Some(asked_at))?;
        let LeftOutcome::Ended(sessions) = self.store.mark_left(leaving).await? else { return Ok(false) };
        self.note_left(employee, why, source);
        tracing::debug!(%employee, sessions, "sessions of an employee who left ended");
        Ok(true)
    }

    /// Logs and counts a person who left.
    pub(super) fn note_left(&self, employee: &EmployeeKey, why: LeftReason, source: LeaverSource) {
        tracing::info!(%employee, why = why.name(), source = source.name(), "the platform says that an employee left");
        self.observer.notify(AuthEvent::PersonLeft(source));
    }

    /// Admits a person again whom the platform knows again; `false` if the person had not left, or left after the platform was asked, at
    /// `asked_at`. What an administrator did stays.
    pub(crate) async fn mark_returned(
        &self,
        employee: &EmployeeKey,
        source: LeaverSource,
        asked_at: Timestamp,
    ) -> Result<bool, Error> {
        let entry = self.service_entry(AuditEvent::EmployeeReturned, employee, self.clock.now(), source.name())?;
        let returned = self.store.mark_returned(employee.clone(), asked_at, entry).await?;
        if returned {
            tracing::info!(%employee, source = source.name(), "an employee came back at the platform");
        }
        Ok(returned)
    }
}

/// Why a person with this status may not sign in; `None` if the person may, or the platform did not say.
pub(super) const fn departure(status: MemberStatus) -> Option<LeftReason> {
    match status {
        MemberStatus::Left => Some(LeftReason::Left),
        MemberStatus::Suspended => Some(LeftReason::Suspended),
        MemberStatus::OutOfRange => Some(LeftReason::OutOfRange),
        MemberStatus::Active | MemberStatus::NotActivated | MemberStatus::Unknown => None,
    }
}

/// As [`departure`], without an event: an application that never saw the department of a person may have no permission to see the
/// person at all, which is no reason to lock the person out.
pub(crate) fn departure_of(person: &Person, status: MemberStatus) -> Option<LeftReason> {
    let was_visible = !person.department_id.is_empty() && !is_entered_department(&person.department_id);
    departure(status).filter(|why| *why != LeftReason::OutOfRange || was_visible)
}

/// Whether the platform says that the person is a member.
pub(super) const fn is_back(status: MemberStatus) -> bool {
    matches!(status, MemberStatus::Active | MemberStatus::NotActivated)
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
pub(crate) const fn token_problem(person: &Person) -> Option<TokenError> {
    match (person.disabled, person.left) {
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
        assert_eq!(token_problem(&person(false, left)), Some(TokenError::Left));
        assert_eq!(token_problem(&person(true, left)), Some(TokenError::Disabled));
    }

    #[test]
    fn without_an_event_only_a_person_who_was_visible_leaves_the_range() {
        let in_department =
            |id: &str| Person { department_id: id.to_owned(), ..Person::new(EmployeeKey::from_parts("ww", "a"), "a") };
        let out = MemberStatus::OutOfRange;
        assert_eq!(departure_of(&in_department("2"), out), Some(LeftReason::OutOfRange));
        for never_seen in ["", "name:IT"] {
            assert_eq!(departure_of(&in_department(never_seen), out), None, "{never_seen}");
            assert_eq!(departure_of(&in_department(never_seen), MemberStatus::Left), Some(LeftReason::Left));
        }
        for status in [MemberStatus::Active, MemberStatus::NotActivated, MemberStatus::Unknown] {
            assert_eq!(departure_of(&in_department("2"), status), None);
        }
    }
}
