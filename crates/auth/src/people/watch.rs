//! Marks people with sessions as those to be checked. A sign-in does it, but not at a node of an earlier version: during an upgrade such
//! nodes go on working.

use std::time::Duration;

use deskpass_core::Timestamp;
use deskpass_store::Chore;

use super::recheck::{RECHECK_LEASE, RecheckState};
use crate::chore_lease::ChoreLease;
use crate::{Auth, Error};

/// How often one node looks for people without the mark.
const MARK_INTERVAL: Duration = Duration::from_hours(1);

impl Auth {
    /// Marks everyone with a session as one to be checked, if no node has done it for an hour. Does nothing if another node is at it.
    pub async fn watch_people_with_sessions(&self) -> Result<(), Error> {
        if self.policy.people.recheck_period.is_none() || !self.is_mark_due().await? {
            return Ok(());
        }
        let Some(mut lease) = self.claim(Chore::Recheck, RECHECK_LEASE).await? else { return Ok(()) };
        let marked = self.mark_people_with_sessions(&mut lease).await;
        self.release(lease).await?;
        marked
    }

    async fn is_mark_due(&self) -> Result<bool, Error> {
        Ok(is_due(self.recheck_state().await?.marked_at, self.clock.now()))
    }

    async fn mark_people_with_sessions(&self, lease: &mut ChoreLease) -> Result<(), Error> {
        // Another node may have ended just before the claim.
        if !self.is_mark_due().await? {
            return Ok(());
        }
        let (home, now, mut after) = (self.policy.home_corp.as_str(), self.clock.now(), None);
        loop {
            after = self.store.watch_people_with_sessions(home.to_owned(), after).await?;
            if after.is_none() {
                break;
            }
            self.renew(lease).await?;
        }
        let mark = |mut state: RecheckState| {
            state.marked_at = Some(now);
            state
        };
        self.change_chore_state(Chore::Recheck, mark).await.map(drop)
    }
}

fn is_due(marked_at: Option<Timestamp>, now: Timestamp) -> bool {
    // A time in the future is of a wrong clock.
    marked_at.is_none_or(|marked| marked > now || now >= marked + MARK_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_with_sessions_are_marked_once_an_hour() {
        let (now, second) = (Timestamp::from_millis(1_700_000_000_000), Duration::from_secs(1));
        assert!(is_due(None, now) && is_due(Some(now - MARK_INTERVAL), now));
        assert!(!is_due(Some(now), now) && !is_due(Some(now - MARK_INTERVAL + second), now));
        assert!(is_due(Some(now + second), now), "a wrong clock");
    }
}
