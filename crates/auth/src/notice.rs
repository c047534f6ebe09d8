//! What agents are told through the platform: that somebody used or changed what opens their account.

use std::time::Duration;

use deskpass_core::{EmployeeKey, NoEntropy, Timestamp, Visitor};
use deskpass_store::{Notice, Subject};
use deskpass_wecom::Error as PlatformError;
use deskpass_wecom::errcode::{Actor, meaning};

use crate::{Auth, Error};

/// How long after a try the next one may be made, by this node or another.
const PAUSE: Duration = Duration::from_mins(1);
/// How old a notice may get before it is no use telling.
const STALE: Duration = Duration::from_hours(24);
/// How many are delivered in one go: no more than can be tried within the pause, however slow the platform is. Otherwise
/// another node would deliver the last of them, too.
const BATCH: i64 = 10;

impl Auth {
    pub(crate) fn notice(
        &self,
        employee: &EmployeeKey,
        subject: Subject,
        at: Timestamp,
        visitor: &Visitor,
    ) -> Result<Notice, NoEntropy> {
        let id = format!("{:032x}", u128::from_be_bytes(self.entropy.bytes()?));
        let (employee, address) = (employee.clone(), visitor.address.decided.to_string());
        Ok(Notice { id, employee, subject, address, at, tries: 0 })
    }

    /// Delivers what is due, in the words of `write`; returns how many notices were taken up, delivered or not.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn deliver_notices(&self, write: impl Fn(&Notice) -> String) -> Result<usize, Error> {
        let now = self.clock.now();
        let due = self.store.claim_notices(now, now + PAUSE, BATCH).await?;
        let count = due.len();
        for notice in due {
            if self.is_settled(&notice, write(&notice)).await {
                self.store.drop_notice(notice.id).await?;
            }
        }
        Ok(count)
    }

    /// Whether nothing remains to be done: it was delivered, or never will be.
    async fn is_settled(&self, notice: &Notice, text: String) -> bool {
        let employee = &notice.employee;
        if *employee.corp() != *self.policy.home.as_str() || self.clock.now().since(notice.at) > STALE {
            tracing::info!(?employee, subject = ?notice.subject, "an agent could not be told");
            return true;
        }
        match self.platform.notify(employee.id(), &text).await {
            Ok(()) => true,
            // The same would be said tomorrow, unless the platform is merely busy.
            Err(PlatformError::Refused { errcode, .. }) if meaning(errcode).actor != Actor::Nobody => {
                tracing::warn!(
                    ?employee,
                    errcode,
                    "the platform does not tell an agent what happened to their account"
                );
                true
            }
            Err(error) => {
                tracing::debug!(?employee, %error, "an agent is told later");
                false
            }
        }
    }
}
