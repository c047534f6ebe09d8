//! What somebody does about their own sessions.

use deskpass_core::{Digest, Visitor};
use deskpass_store::{Ended, Ending, Event, ListedSession};

use crate::{Auth, Error, Holder, Refusal};

impl Auth {
    /// Where somebody is signed in, the newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn own_sessions(&self, holder: &Holder) -> Result<Vec<ListedSession>, Error> {
        Ok(self.store.own_sessions(holder.session().employee.clone(), self.clock.now()).await?)
    }

    /// Ends one of somebody's own sessions.
    ///
    /// # Errors
    /// When they have no such session, or the store fails.
    pub async fn end_own(&self, holder: &Holder, id: Digest, visitor: &Visitor) -> Result<(), Error> {
        if id == holder.digest() {
            return self.logout(holder, visitor).await;
        }
        let ended = self.end_of(holder, Ending::One(id), Event::SessionEnded, visitor).await?;
        if ended == 0 { Err(Refusal::NoSuchSession.into()) } else { Ok(()) }
    }

    /// Ends all of somebody's sessions, or all but the one they ask in; returns how many.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn logout_all(&self, holder: &Holder, but_this: bool, visitor: &Visitor) -> Result<usize, Error> {
        let which = if but_this { Ending::AllBut(holder.digest()) } else { Ending::All };
        self.end_of(holder, which, Event::LogoutAll, visitor).await
    }

    async fn end_of(&self, holder: &Holder, which: Ending, event: Event, visitor: &Visitor) -> Result<usize, Error> {
        let (session, now) = (holder.session(), self.clock.now());
        let entry = self.entry(event, session, now, visitor)?;
        let (employee, deny_until) = (session.employee.clone(), self.deny_until(now));
        Ok(self.store.end_sessions(holder.by(now), employee, which, Ended::SignedOut, deny_until, entry).await?)
    }
}
