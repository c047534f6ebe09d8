//! The synchronisation: reads the directory of the platform, follows its people, and applies the role rules.

mod difference;
mod listing;
mod people;
mod report;

use std::time::Duration;

use deskpass_core::{EmployeeKey, Memberships, Timestamp};
use deskpass_store::Chore;
use serde::{Deserialize, Serialize};

use self::difference::StoredDirectory;
use self::listing::Listing;
use crate::{Auth, Error};

pub use self::report::{SyncOptions, SyncProgress, SyncReport, SyncStep, UpdatedPerson};

/// The lease of a synchronisation: after it, another node may begin one.
const SYNC_LEASE: Duration = Duration::from_mins(30);
/// How soon a synchronisation follows a change that needs one. Changes often come in numbers.
const SYNC_DELAY: Duration = Duration::from_mins(1);
/// The minimum time between two synchronisations that changes caused, and the same where the platform meters calls.
const MIN_SYNC_GAP: Duration = Duration::from_mins(10);
const MIN_METERED_SYNC_GAP: Duration = Duration::from_hours(6);
/// The most changes of the stored directory in a transaction.
const CHANGES_PER_BATCH: usize = 200;

/// What the synchronisation remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SyncState {
    /// When the last one ended. Before the first one: when the service began to count.
    last_at: Option<Timestamp>,
    /// When the next one is to begin because of a change.
    due_at: Option<Timestamp>,
    pub(super) halted: bool,
}

impl SyncState {
    fn is_due(&self, now: Timestamp, period: Duration, metered: bool) -> bool {
        let gap = if metered { MIN_METERED_SYNC_GAP } else { MIN_SYNC_GAP };
        let may_follow = self.last_at.is_none_or(|last| now.since(last) >= gap);
        let is_wanted = self.due_at.is_some_and(|due| due <= now) && may_follow;
        is_wanted || self.last_at.is_some_and(|last| now.since(last) >= period)
    }
}

impl Auth {
    /// Synchronises with the directory of the platform. Nothing is changed by an answer that was not complete.
    pub async fn synchronise(
        &self,
        options: SyncOptions,
        progress: &(dyn Fn(SyncProgress) + Send + Sync),
    ) -> Result<SyncReport, Error> {
        let listing = Listing::read(self, progress).await?;
        let (departments, members) = (listing.departments.len(), listing.members.len());
        let mut report = SyncReport { departments, members, ..SyncReport::default() };
        let loss = self.follow_directory(&listing, options).await?;
        report.halted = loss.is_some();
        self.follow_people(&listing, options, &mut report, progress).await?;
        report.roles = if options.dry_run {
            let directory = loss.is_none().then(|| listing.memberships());
            let of = |key: &EmployeeKey, stored: Memberships| match &directory {
                Some(directory) => directory.of(key, stored),
                None => stored,
            };
            self.preview_rules(&self.all_role_rules().await?, of).await?
        } else {
            let done = |done| progress(SyncProgress { step: SyncStep::Rules, done, total: None });
            self.apply_rules(done).await?
        };
        if !options.dry_run {
            self.record_synchronisation(report.halted, report.left.len().max(loss.unwrap_or(0)), options).await?;
        }
        Ok(report)
    }

    /// Synchronises if a period has passed or a change needs it, and no other node is at it; `None` if not.
    pub async fn synchronise_if_due(&self) -> Result<Option<SyncReport>, Error> {
        let Some(period) = self.policy.people.sync_period else { return Ok(None) };
        let (now, state) = (self.clock.now(), self.sync_state().await?);
        if state.last_at.is_none() && state.due_at.is_none() {
            // The first one waits for a period, unless there are rules that depend on it.
            let due_at = (!self.all_role_rules().await?.is_empty()).then_some(now);
            let last_at = due_at.is_none().then_some(now);
            self.set_sync_state(SyncState { last_at, due_at, ..state }).await?;
            return Ok(None);
        }
        let metered = self.platform.lookups_per_day().is_some();
        if !state.is_due(now, period, metered)
            || !self.store.claim_chore(Chore::Synchronise, now, now + SYNC_LEASE).await?
        {
            return Ok(None);
        }
        // Even if it fails, the next attempt is not made at once.
        self.set_sync_state(SyncState { last_at: Some(now), due_at: None, ..state }).await?;
        let report = self.synchronise(SyncOptions::default(), &|_| {}).await;
        self.store.claim_chore(Chore::Synchronise, now + SYNC_LEASE, self.clock.now()).await?;
        if report.is_err() {
            self.request_synchronisation().await?;
        }
        report.map(Some)
    }

    /// Has a synchronisation begin soon.
    pub(crate) async fn request_synchronisation(&self) -> Result<(), Error> {
        let state = self.sync_state().await?;
        if state.due_at.is_some() {
            return Ok(());
        }
        self.set_sync_state(SyncState { due_at: Some(self.clock.now() + SYNC_DELAY), ..state }).await
    }

    /// Brings the stored directory up to date. If it would lose so many members that the answer is not believed, returns how many.
    async fn follow_directory(&self, listing: &Listing, options: SyncOptions) -> Result<Option<usize>, Error> {
        let corp = self.policy.home_corp.as_str();
        let stored = StoredDirectory::read(self, corp).await?;
        if let Some(lost) = stored.unbelievable_loss(listing).filter(|_| !options.force) {
            tracing::error!(
                lost,
                listed = listing.members.len(),
                "the platform's directory lost so many members at once that it is not believed: check the application's \
                 range, then run `deskpass sync --force`"
            );
            return Ok(Some(lost));
        }
        let mut changes = if options.dry_run { Vec::new() } else { stored.changes_to(listing) };
        while !changes.is_empty() {
            let batch = changes.drain(..changes.len().min(CHANGES_PER_BATCH)).collect();
            self.store.change_directory(corp.to_owned(), batch).await?;
        }
        Ok(None)
    }

    async fn record_synchronisation(&self, halted: bool, leaving: usize, options: SyncOptions) -> Result<(), Error> {
        let state = self.sync_state().await?;
        self.set_sync_state(SyncState { last_at: Some(self.clock.now()), due_at: None, halted }).await?;
        if halted && !state.halted {
            self.tell_of_many_leavers(leaving).await?;
        }
        if options.force {
            // The operator has looked at it: the re-check begins to count anew.
            self.reset_leaver_guard().await?;
        }
        Ok(())
    }

    pub(super) async fn sync_state(&self) -> Result<SyncState, Error> {
        // A state that this version cannot read begins anew.
        let state = self.store.chore_state(Chore::Synchronise).await?;
        Ok(state.and_then(|state| serde_json::from_str(&state).ok()).unwrap_or_default())
    }

    async fn set_sync_state(&self, state: SyncState) -> Result<(), Error> {
        let text = serde_json::to_string(&state).ok();
        Ok(self.store.set_chore_state(Chore::Synchronise, text).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synchronisation_is_due_after_a_period_or_soon_after_a_change() {
        let (now, day) = (Timestamp::from_millis(1_700_000_000_000), Duration::from_hours(24));
        let state = |ago: Duration, due_at| SyncState { last_at: Some(now - ago), due_at, halted: false };
        assert!(!state(Duration::from_hours(23), None).is_due(now, day, false));
        assert!(state(day, None).is_due(now, day, false));
        let changed = Some(now - SYNC_DELAY);
        assert!(!state(Duration::from_mins(9), changed).is_due(now, day, false), "too soon after the last one");
        assert!(state(Duration::from_mins(10), changed).is_due(now, day, false));
        assert!(!state(Duration::from_hours(5), changed).is_due(now, day, true), "calls are metered");
        assert!(state(Duration::from_hours(6), changed).is_due(now, day, true));
        assert!(!state(Duration::from_hours(1), Some(now + SYNC_DELAY)).is_due(now, day, false));
        assert!(SyncState { due_at: Some(now), ..SyncState::default() }.is_due(now, day, true), "the first one");
    }
}
