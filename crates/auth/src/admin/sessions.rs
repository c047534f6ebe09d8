//! Sessions that an administrator ends.

use deskpass_core::{Digest, EmployeeKey, Timestamp};
use deskpass_store::{AuditEvent, EndReason, SessionSelection};

use super::Administrator;
use crate::{Error, Refusal};

impl Administrator<'_> {
    /// Requires a session within the administrator's scope; returns its employee.
    pub async fn require_session(&self, id: Digest) -> Result<EmployeeKey, Error> {
        let found = self.auth.store.find_session(id).await?.ok_or(Refusal::NoSuchSession)?;
        let employee = found.session.employee;
        self.require_in_scope(&employee).map_err(|_| Refusal::NoSuchSession)?;
        Ok(employee)
    }

    /// Ends a session of any employee within the scope.
    pub async fn end_session(&self, id: Digest) -> Result<(), Error> {
        let employee = self.require_session(id).await?;
        let ended = self.end_audited(employee, SessionSelection::One(id)).await?;
        if ended == 0 { Err(Refusal::NoSuchSession.into()) } else { Ok(()) }
    }

    /// Ends all sessions of an employee; returns how many.
    pub async fn end_sessions_of(&self, employee: EmployeeKey) -> Result<usize, Error> {
        self.require_employee(&employee).await?;
        self.end_audited(employee, SessionSelection::All).await
    }

    /// Ends the sessions of all employees, or those that began before a time; returns how many. For the operator. Each step is
    /// logged with its change, so an interrupted command has ended what the log says, and can be repeated.
    pub async fn end_all_sessions(&self, before: Option<Timestamp>, detail: &str) -> Result<usize, Error> {
        let (mut ended, mut after) = (0, None);
        loop {
            let entry = self.entry(AuditEvent::AllSessionsEnded, &self.auth.deployment_key(), detail)?;
            let deny_until = self.auth.deny_until(entry.at);
            let batch = self.auth.store.end_all_sessions(before, after, deny_until, entry).await?;
            ended += batch.ended;
            if batch.next.is_none() {
                return Ok(ended);
            }
            after = batch.next;
        }
    }

    async fn end_audited(&self, employee: EmployeeKey, which: SessionSelection) -> Result<usize, Error> {
        let entry = self.entry(AuditEvent::SessionsEnded, &employee, "")?;
        let deny_until = self.auth.deny_until(entry.at);
        let kicked = EndReason::Kicked;
        self.commit(self.auth.store.end_sessions(self.author(), employee, which, kicked, deny_until, entry)).await
    }
}
