//! People who left according to events: they are locked before the platform is asked about anybody.

use deskpass_core::{EmployeeId, EmployeeKey, LeftReason, NoEntropy, Timestamp};
use deskpass_store::{ClaimedEvent, Leaving};

use super::stored_change::StoredChange;
use crate::{Auth, Error, LeaverSource};

/// How many leavers are locked in one transaction, unless it is the one that stores their events.
const LOCK_BATCH_SIZE: i64 = 50;

/// A person who left according to an event.
pub(super) struct Leaver {
    pub(super) key: EmployeeKey,
    pub(super) userid: String,
    pub(super) why: LeftReason,
}

impl Auth {
    /// The person whom an event locks out.
    pub(super) fn leaver_of(&self, change: &StoredChange) -> Option<Leaver> {
        let (userid, why) = change.leaver()?;
        let id = EmployeeId::parse(userid).ok()?;
        Some(Leaver { key: self.resolve_key(None, &id), userid: userid.to_owned(), why })
    }

    /// What the store needs to lock a person who left at this time according to an event. It counts from then, and not from its arrival: a
    /// return that is told of late may have come after it.
    pub(super) fn leaving_by_event(
        &self,
        leaver: &Leaver,
        happened_at: Timestamp,
        received_at: Option<Timestamp>,
    ) -> Result<Leaving, NoEntropy> {
        let leaving = self.leaving(&leaver.key, leaver.why, LeaverSource::Event, received_at)?;
        Ok(Leaving { left_at: happened_at, ..leaving })
    }

    /// Leaves out those whose key is that of another person: keys do not distinguish case, but most platforms do.
    pub(super) async fn own_leavers(&self, leavers: Vec<Option<Leaver>>) -> Result<Vec<Option<Leaver>>, Error> {
        if !self.platform.kind().distinguishes_case() {
            return Ok(leavers);
        }
        let keys: Vec<_> = leavers.iter().flatten().map(|leaver| leaver.key.id().to_owned()).collect();
        let known = self.store.spellings(self.policy.home_corp.as_str().to_owned(), keys).await?;
        let is_own = |leaver: &Leaver| known.get(leaver.key.id()).is_none_or(|id| self.is_spelled(id, &leaver.userid));
        Ok(leavers.into_iter().map(|leaver| leaver.filter(is_own)).collect())
    }

    /// Whether an identifier of the platform is that of an employee: keys do not distinguish case, but most platforms do.
    pub(super) fn is_spelled(&self, employee_id: &str, userid: &str) -> bool {
        employee_id == userid || !self.platform.kind().distinguishes_case() && employee_id.eq_ignore_ascii_case(userid)
    }

    /// Locks the people who were not locked when their events were stored, before the platform is asked about anybody.
    pub(super) async fn lock_waiting_leavers(&self) -> Result<(), Error> {
        loop {
            let waiting = self.store.leavers_to_lock(LOCK_BATCH_SIZE).await?;
            if waiting.is_empty() {
                return Ok(());
            }
            let leaver = |event: &ClaimedEvent| {
                serde_json::from_str(&event.change).ok().and_then(|it: StoredChange| self.leaver_of(&it))
            };
            let leavers = self.own_leavers(waiting.iter().map(leaver).collect()).await?;
            let mut locks = Vec::with_capacity(waiting.len());
            for (ClaimedEvent { digest, received_at, happened_at, .. }, leaver) in waiting.into_iter().zip(leavers) {
                let leaving =
                    leaver.map(|leaver| self.leaving_by_event(&leaver, happened_at, Some(received_at))).transpose()?;
                locks.push((digest, leaving));
            }
            for (employee, why) in self.store.lock_leavers(locks).await? {
                self.note_left(&employee, why, LeaverSource::Event);
            }
        }
    }
}
