//! Notices through the platform: to agents about their credentials, and to administrators about disowned sign-ins and about devices of
//! people whom the platform cannot reach.

use std::time::Duration;

use deskpass_core::{ClientInfo, EmployeeKey, NoEntropy, Reference, Timestamp};
use deskpass_platform::Meaning;
use deskpass_store::{Notice, NoticeAbout, NoticeSubject};

use crate::sweep::CLOCK_SET_GRACE;
use crate::{Auth, AuthEvent, Error, NoticeOutcome};

/// The maximum number of administrators who get a notice about one event.
pub(crate) const MAX_NOTIFIED_ADMINS: usize = 20;

/// The lease of a notice that a node delivers, and the first pause after a failed attempt.
const NOTICE_RETRY_PAUSE: Duration = Duration::from_mins(1);
/// How many times the pause doubles: up to an hour.
const MAX_PAUSE_DOUBLINGS: u32 = 6;
/// The age after which a notice is dropped.
const MAX_NOTICE_AGE: Duration = Duration::from_hours(24);
/// The number of notices in a batch: as many as can be tried within the lease, however slow the platform is. Otherwise another
/// node would deliver the last ones again.
const NOTICE_BATCH_SIZE: i64 = 10;

impl Auth {
    /// The id of a notice. Messages show its end: the reference under which the log has the event.
    pub(crate) fn notice_id(&self, at: Timestamp, visitor: &ClientInfo) -> Result<String, NoEntropy> {
        let mut id = self.record_id(at)?;
        if let Some(reference) = visitor.reference {
            id.truncate(id.len().saturating_sub(Reference::DIGITS));
            id.push_str(&reference.to_string());
        }
        Ok(id)
    }

    pub(crate) fn new_notice(
        &self,
        employee: &EmployeeKey,
        subject: NoticeSubject,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<Notice, NoEntropy> {
        let id = self.notice_id(at, visitor)?;
        let (employee, address) = (employee.clone(), visitor.address.decided.to_string());
        let user_agent = visitor.user_agent.as_str().to_owned();
        Ok(Notice { id, employee, subject, address, user_agent, at, about: None, tries: 0 })
    }

    /// The same notice for each of these people.
    pub(crate) fn notices_to(
        &self,
        recipients: &[EmployeeKey],
        subject: NoticeSubject,
        about: &NoticeAbout,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<Vec<Notice>, NoEntropy> {
        let notice = |recipient: &EmployeeKey| -> Result<Notice, NoEntropy> {
            Ok(Notice { about: Some(about.clone()), ..self.new_notice(recipient, subject, at, visitor)? })
        };
        recipients.iter().map(notice).collect()
    }

    /// The notices for administrators of the home corporation about a new device: none, unless its owner is of another corporation and
    /// gets no notice.
    pub(crate) async fn admin_notices_of_device(
        &self,
        owner: &EmployeeKey,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<Vec<Notice>, Error> {
        let home = self.policy.home_corp.as_str();
        if owner.corp() == home {
            return Ok(Vec::new());
        }
        let about = NoticeAbout::SignIn { who: format!("{}/{}", owner.corp(), owner.id()), at };
        let told = self.store.administrators(home.to_owned(), owner.clone(), MAX_NOTIFIED_ADMINS).await?;
        Ok(self.notices_to(&told, NoticeSubject::PartnerDeviceBound, &about, at, visitor)?)
    }

    /// The notices for administrators of the home corporation about an identifier that passed to another person, who had the identifier
    /// `from` before, if any. The people with these identifiers get none: it is not known who they are.
    pub(crate) async fn passed_on_notices(
        &self,
        identifier: &EmployeeKey,
        from: Option<&EmployeeKey>,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<Vec<Notice>, Error> {
        let home = self.policy.home_corp.as_str().to_owned();
        let mut told = self.store.administrators(home, identifier.clone(), MAX_NOTIFIED_ADMINS).await?;
        told.retain(|administrator| Some(administrator) != from);
        let from = from.map(|from| from.id().to_owned());
        let about = NoticeAbout::PassedOn { id: identifier.id().to_owned(), from };
        Ok(self.notices_to(&told, NoticeSubject::IdentifierPassedOn, &about, at, visitor)?)
    }

    /// Delivers the notices that are due, with the text from `write`; returns how many were claimed, delivered or not.
    pub async fn deliver_notices(&self, write: impl Fn(&Notice) -> String) -> Result<usize, Error> {
        let leased_at = self.clock.lease_now();
        let due = self.store.claim_notices(leased_at, leased_at + NOTICE_RETRY_PAUSE, NOTICE_BATCH_SIZE).await?;
        let count = due.len();
        for notice in due {
            let outcome = self.try_deliver(&notice, write(&notice)).await;
            self.observer.notify(AuthEvent::Notice(outcome));
            if outcome == NoticeOutcome::Postponed {
                // `tries` includes this attempt.
                let doubled = u32::try_from(notice.tries.saturating_sub(1)).unwrap_or(0).min(MAX_PAUSE_DOUBLINGS);
                self.store.postpone_notice(notice.id, leased_at + NOTICE_RETRY_PAUSE * 2_u32.pow(doubled)).await?;
            } else {
                self.store.delete_notice(notice.id).await?;
            }
        }
        Ok(count)
    }

    /// Tries to deliver a notice.
    async fn try_deliver(&self, notice: &Notice, text: String) -> NoticeOutcome {
        let employee = &notice.employee;
        if *employee.corp() != *self.policy.home_corp.as_str() {
            tracing::info!(%employee, subject = notice.subject.name(), "notice dropped: recipient unknown to the platform");
            return NoticeOutcome::Dropped;
        }
        if self.clock.now().since(notice.at) > MAX_NOTICE_AGE && !self.clock.was_set_within(CLOCK_SET_GRACE) {
            tracing::info!(%employee, subject = notice.subject.name(), "notice dropped: could not be sent in time");
            return NoticeOutcome::Dropped;
        }
        // Keys are in lower case, but a platform may distinguish the identifier as it wrote it.
        let recipient = match self.store.person(employee).await {
            Ok(person) => person.map_or_else(|| employee.id().to_owned(), |person| person.employee_id.clone()),
            Err(error) => {
                tracing::debug!(%employee, %error, "notice postponed: could not read the recipient");
                return NoticeOutcome::Postponed;
            }
        };
        match self.platform.send(&recipient, &text).await {
            Ok(()) => NoticeOutcome::Delivered,
            Err(error) if is_permanent(error.meaning()) => {
                tracing::warn!(%employee, subject = notice.subject.name(), %error, "notice dropped: refused by the platform");
                NoticeOutcome::Dropped
            }
            Err(error) => {
                tracing::debug!(%employee, %error, "notice postponed: could not be sent");
                NoticeOutcome::Postponed
            }
        }
    }
}

/// Whether the same message would fail in the same way again: the error is about the recipient or the message. Every other error may
/// pass; above all an outage of sign-in, which is when passwords are used.
fn is_permanent(meaning: Meaning) -> bool {
    matches!(meaning, Meaning::Rejected | Meaning::Gone | Meaning::OutOfRange)
}

#[cfg(test)]
mod tests {
    use deskpass_platform::{Error, InvalidResponse, Unreachable};

    use super::*;

    #[test]
    fn a_notice_is_dropped_only_when_its_recipient_or_text_is_refused() {
        for (meaning, permanent) in [
            (Meaning::Rejected, true),
            (Meaning::Gone, true),
            (Meaning::OutOfRange, true),
            (Meaning::Retry, false),
            (Meaning::Refresh, false),
            (Meaning::StartAgain, false),
            (Meaning::Administrator, false),
            (Meaning::Developer, false),
            (Meaning::Limited, false),
        ] {
            assert_eq!(is_permanent(Error::refused(1_i64, meaning).meaning()), permanent, "{meaning:?}");
        }
        for error in [Error::Unreachable(Unreachable::TimedOut), Error::InvalidResponse(InvalidResponse::NotJson)] {
            assert!(!is_permanent(error.meaning()), "{error}");
        }
    }
}
