//! What an administrator does about others' sessions.

use deskpass_core::{Digest, EmployeeKey};
use deskpass_store::{Ended, Ending, Event};

use super::Administrator;
use crate::{Error, Refusal};

impl Administrator<'_> {
    /// Makes sure that there is a session that they reach.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn expect_session(&self, id: Digest) -> Result<EmployeeKey, Error> {
        let found = self.auth.store.find_session(id).await?.ok_or(Refusal::NoSuchSession)?;
        let employee = found.session.employee;
        self.reach(&employee).map_err(|_| Refusal::NoSuchSession)?;
        Ok(employee)
    }

    /// Ends a session, whoever's it is.
    ///
    /// # Errors
    /// When there is no such session that they reach, or the store fails.
    pub async fn end_session(&self, id: Digest) -> Result<(), Error> {
        let employee = self.expect_session(id).await?;
        let ended = self.end(employee, Ending::One(id)).await?;
        if ended == 0 { Err(Refusal::NoSuchSession.into()) } else { Ok(()) }
    }

    /// Ends all sessions of an employee; returns how many.
    ///
    /// # Errors
    /// When there is no such employee, or the store fails.
    pub async fn end_sessions_of(&self, employee: EmployeeKey) -> Result<usize, Error> {
        self.expect_employee(&employee).await?;
        self.end(employee, Ending::All).await
    }

    async fn end(&self, employee: EmployeeKey, which: Ending) -> Result<usize, Error> {
        let entry = self.entry(Event::SessionsEnded, &employee, "")?;
        let deny_until = self.auth.deny_until(entry.at);
        self.changed(self.auth.store.end_sessions(self.by(), employee, which, Ended::Kicked, deny_until, entry).await)
            .await
    }
}
