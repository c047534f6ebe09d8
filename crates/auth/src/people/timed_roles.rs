//! Roles that were given until a time, and end by themselves.

use std::ops::RangeInclusive;
use std::time::Duration;

use deskpass_core::ClientInfo;
use deskpass_store::{AuditEvent, Notice, NoticeAbout, NoticeSubject};

use crate::{Auth, Error};

/// For how long a role can be given.
pub const ROLE_LIFETIMES: RangeInclusive<Duration> = Duration::from_mins(5)..=Duration::from_hours(30 * 24);

/// How long before its end a person is told that a role ends.
const NOTICE_PERIOD: Duration = Duration::from_mins(10);
const BATCH_SIZE: i64 = 100;

impl Auth {
    /// Ends the roles whose time is over, and tells the people whose roles end soon; returns how many roles ended. Every node does this:
    /// of two that find the same role, one ends it.
    pub async fn end_due_roles(&self) -> Result<usize, Error> {
        let (now, mut ended, mut told) = (self.clock.now(), 0, false);
        for due in self.store.roles_due(now, now + NOTICE_PERIOD, BATCH_SIZE).await? {
            let (employee, role, until) = (due.key.clone(), due.role, due.until);
            if until <= now {
                let entry = self.service_entry(AuditEvent::RoleEnded, &employee, now, &format!("-{role}"))?;
                if self.store.end_timed_role(due, now, entry).await? {
                    tracing::info!(%employee, %role, "a role that was given until now ended");
                    ended += 1;
                }
            } else if !due.is_told {
                let notice = self.new_notice(&employee, NoticeSubject::RoleEndsSoon, now, &ClientInfo::service())?;
                let about = Some(NoticeAbout::Role { role, until });
                told |= self.store.tell_role_ends(due, now, Notice { about, ..notice }).await?;
            }
        }
        if told {
            self.notices_due.notify_one();
        }
        Ok(ended)
    }
}
