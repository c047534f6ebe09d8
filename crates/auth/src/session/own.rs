//! Sessions that a user lists and ends for themselves.

use deskpass_core::{ClientInfo, Digest};
use deskpass_store::{AuditEvent, EndReason, ListedSession, SessionSelection};

use crate::{Auth, Error, Refusal, TokenHolder};

impl Auth {
    /// The user's sessions, newest first.
    pub async fn own_sessions(&self, holder: &TokenHolder) -> Result<Vec<ListedSession>, Error> {
        Ok(self.store.own_sessions(holder.session().employee.clone(), self.clock.now()).await?)
    }

    /// Ends one of the user's own sessions.
    pub async fn end_own_session(&self, holder: &TokenHolder, id: Digest, visitor: &ClientInfo) -> Result<(), Error> {
        if id == holder.digest() {
            return self.logout(holder, visitor).await;
        }
        let ended = self.end_own_matching(holder, SessionSelection::One(id), AuditEvent::SessionEnded, visitor).await?;
        if ended == 0 { Err(Refusal::NoSuchSession.into()) } else { Ok(()) }
    }

    /// Ends all of the user's sessions, or all but the current one; returns how many.
    pub async fn logout_all(&self, holder: &TokenHolder, but_this: bool, visitor: &ClientInfo) -> Result<usize, Error> {
        let which = if but_this { SessionSelection::AllBut(holder.digest()) } else { SessionSelection::All };
        self.end_own_matching(holder, which, AuditEvent::LogoutAll, visitor).await
    }

    async fn end_own_matching(
        &self,
        holder: &TokenHolder,
        which: SessionSelection,
        event: AuditEvent,
        visitor: &ClientInfo,
    ) -> Result<usize, Error> {
        let (session, now) = (holder.session(), self.clock.now());
        let entry = self.entry(event, session, now, visitor)?;
        let (employee, deny_until) = (session.employee.clone(), self.deny_until(now));
        Ok(self
            .store
            .end_sessions(holder.as_author(now), employee, which, EndReason::SignedOut, deny_until, entry)
            .await?)
    }
}
