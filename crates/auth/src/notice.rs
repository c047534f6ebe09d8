//! What is told through the platform: to agents that somebody used or changed what opens their account, to administrators that
//! somebody else signed in as somebody.

use std::time::Duration;

use deskpass_core::{ClientInfo, EmployeeKey, NoEntropy, Timestamp};
use deskpass_store::{Notice, NoticeSubject};
use deskpass_wecom::errcode::is_permanent_for_message;

use crate::sweep::CLOCK_SET_GRACE;
use crate::{Auth, Error};

/// How long one is left to whoever took it up, and the first pause after a try.
const NOTICE_RETRY_PAUSE: Duration = Duration::from_mins(1);
/// How often the pause doubles: to an hour.
const MAX_PAUSE_DOUBLINGS: u32 = 6;
/// How old a notice may get before it is no use telling.
const MAX_NOTICE_AGE: Duration = Duration::from_hours(24);
/// How many are delivered in one go: no more than can be tried within the pause, however slow the platform is. Otherwise
/// another node would deliver the last of them, too.
const NOTICE_BATCH_SIZE: i64 = 10;

impl Auth {
    pub(crate) fn new_notice(
        &self,
        employee: &EmployeeKey,
        subject: NoticeSubject,
        at: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<Notice, NoEntropy> {
        let id = self.record_id(at)?;
        let (employee, address) = (employee.clone(), visitor.address.decided.to_string());
        let user_agent = visitor.user_agent.as_str().to_owned();
        Ok(Notice { id, employee, subject, address, user_agent, at, about: None, tries: 0 })
    }

    /// Delivers what is due, in the words of `write`; returns how many notices were taken up, delivered or not.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn deliver_notices(&self, write: impl Fn(&Notice) -> String) -> Result<usize, Error> {
        let now = self.clock.now();
        let due = self.store.claim_notices(now, now + NOTICE_RETRY_PAUSE, NOTICE_BATCH_SIZE).await?;
        let count = due.len();
        for notice in due {
            if self.try_deliver(&notice, write(&notice)).await {
                self.store.delete_notice(notice.id).await?;
            } else {
                // This try is among them.
                let doubled = u32::try_from(notice.tries.saturating_sub(1)).unwrap_or(0).min(MAX_PAUSE_DOUBLINGS);
                self.store.postpone_notice(notice.id, now + NOTICE_RETRY_PAUSE * 2_u32.pow(doubled)).await?;
            }
        }
        Ok(count)
    }

    /// Whether nothing remains to be done: it was delivered, or never will be.
    async fn try_deliver(&self, notice: &Notice, text: String) -> bool {
        let employee = &notice.employee;
        let stale = self.clock.now().since(notice.at) > MAX_NOTICE_AGE && !self.clock.was_set_within(CLOCK_SET_GRACE);
        if *employee.corp() != *self.policy.home_corp.as_str() || stale {
            tracing::info!(?employee, subject = ?notice.subject, "somebody could not be told");
            return true;
        }
        match self.platform.notify(employee.id(), &text).await {
            Ok(()) => true,
            Err(error) if error.errcode().is_some_and(is_permanent_for_message) => {
                tracing::warn!(?employee, %error, "the platform does not tell somebody what happened");
                true
            }
            Err(error) => {
                tracing::debug!(?employee, %error, "somebody is told later");
                false
            }
        }
    }
}
