//! The synchronisation: reads the directory of the platform, follows its people, and applies the role rules.

mod calls;
mod difference;
mod holders;
mod listing;
mod people;
mod report;
mod role_losses;
mod run;

use std::time::Duration;

use deskpass_core::{Memberships, RoleRule, RuleGroup, Timestamp};
use deskpass_store::Chore;
use serde::{Deserialize, Serialize};

use self::difference::StoredDirectory;
use self::listing::Listing;
use self::role_losses::RoleLosses;
use self::run::SyncRun;
use super::role_rules::{RuleEffect, RuleSubjects};
use crate::chore_lease::ChoreLease;
use crate::{Auth, Error, InternalError};

pub use self::report::{SyncOptions, SyncProgress, SyncReport, SyncStep, UpdatedPerson};

/// The lease of a synchronisation, which is renewed at each step.
const SYNC_LEASE: Duration = Duration::from_mins(5);
/// How soon a synchronisation follows a change that needs one. Changes often come in numbers.
const SYNC_DELAY: Duration = Duration::from_mins(1);
/// The minimum time between two synchronisations that changes caused, and the same where the platform meters calls.
const MIN_SYNC_GAP: Duration = Duration::from_mins(10);
const MIN_METERED_SYNC_GAP: Duration = Duration::from_hours(6);
/// The shortest period where the platform meters calls.
const MIN_METERED_PERIOD: Duration = Duration::from_hours(7 * 24);
/// The most changes of the stored directory in a transaction.
const CHANGES_PER_BATCH: usize = 200;

/// What the synchronisation remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SyncState {
    /// When the last one ended. Before the first one: when the service began to count.
    last_at: Option<Timestamp>,
    /// When the next one is to begin because of a change.
    due_at: Option<Timestamp>,
    pub(super) halted: bool,
    /// Where the lookups of people who are missing from the listing go on.
    missing_after: Option<String>,
}

impl SyncState {
    fn is_due(&self, now: Timestamp, period: Duration, metered: bool) -> bool {
        let (gap, period) =
            if metered { (MIN_METERED_SYNC_GAP, period.max(MIN_METERED_PERIOD)) } else { (MIN_SYNC_GAP, period) };
        // A time in the future is of a wrong clock.
        let has_passed = |span| self.last_at.is_some_and(|last| last > now || now.since(last) >= span);
        let is_wanted = self.due_at.is_some_and(|due| due <= now) && (self.last_at.is_none() || has_passed(gap));
        is_wanted || has_passed(period)
    }
}

impl Auth {
    /// Synchronises with the directory of the platform. Nothing is changed by an answer that was not complete. Fails if another node is
    /// at it.
    pub async fn synchronise(
        &self,
        options: SyncOptions,
        progress: &(dyn Fn(SyncProgress) + Send + Sync),
    ) -> Result<SyncReport, Error> {
        let lease = self.claim(Chore::Synchronise, SYNC_LEASE).await?.ok_or(InternalError::ChoreTaken)?;
        self.run_synchronisation(lease, options, progress).await
    }

    /// Synchronises if a period has passed or a change needs it, and no other node is at it; `None` if not.
    pub async fn synchronise_if_due(&self) -> Result<Option<SyncReport>, Error> {
        let Some(period) = self.policy.people.sync_period else { return Ok(None) };
        let (now, state) = (self.clock.now(), self.sync_state().await?);
        if state.last_at.is_none() && state.due_at.is_none() {
            // The first one waits for a period, unless there are rules that depend on it.
            let due_at = (!self.all_role_rules().await?.is_empty()).then_some(now);
            let begin = |state: SyncState| match state {
                SyncState { last_at: None, due_at: None, .. } => {
                    SyncState { last_at: due_at.is_none().then_some(now), due_at, ..state }
                }
                begun => begun,
            };
            self.change_chore_state(Chore::Synchronise, begin).await?;
            return Ok(None);
        }
        let metered = self.platform.lookups_per_day().is_some();
        if !state.is_due(now, period, metered) || !self.may_list().await? {
            return Ok(None);
        }
        let Some(lease) = self.claim(Chore::Synchronise, SYNC_LEASE).await? else { return Ok(None) };
        let report = self.run_synchronisation(lease, SyncOptions::default(), &|_| {}).await;
        if report.is_err() {
            self.request_synchronisation().await?;
        }
        report.map(Some)
    }

    /// Has a synchronisation begin soon.
    pub(crate) async fn request_synchronisation(&self) -> Result<(), Error> {
        let due_at = self.clock.now() + SYNC_DELAY;
        // One that is due in a long time was requested by a wrong clock.
        let request = |state: SyncState| SyncState {
            due_at: Some(state.due_at.filter(|due| *due <= due_at).unwrap_or(due_at)),
            ..state
        };
        self.change_chore_state(Chore::Synchronise, request).await.map(drop)
    }

    /// Synchronises under a lease, and gives it back.
    async fn run_synchronisation(
        &self,
        lease: ChoreLease,
        options: SyncOptions,
        progress: &(dyn Fn(SyncProgress) + Send + Sync),
    ) -> Result<SyncReport, Error> {
        let began_at = self.clock.now();
        let missing_after = self.sync_state().await?.missing_after;
        if !options.dry_run {
            // What is requested from now on may not be in the listing, and stays. Even if it fails, the next attempt is not made at once.
            let begin = |state: SyncState| SyncState { last_at: Some(began_at), due_at: None, ..state };
            self.change_chore_state(Chore::Synchronise, begin).await?;
        }
        let (report, leavers) = (SyncReport::default(), Vec::new());
        let mut run = SyncRun { options, progress, lease, began_at, report, leavers, missing_after };
        let outcome = self.synchronise_in(&mut run).await;
        let SyncRun { lease, report, .. } = run;
        self.release(lease).await?;
        outcome.map(|()| report)
    }

    async fn synchronise_in(&self, run: &mut SyncRun<'_>) -> Result<(), Error> {
        let corp = self.policy.home_corp.as_str();
        // Before the listing, so that what changes meanwhile is recognised.
        let stored = StoredDirectory::read(self, corp).await?;
        let mut listing = Listing::read(self, run).await?;
        stored.keep_unread(&mut listing);
        (run.report.departments, run.report.members) = (listing.departments.len(), listing.members.len());
        let of_file = self.policy.people.role_rules.iter();
        run.report.unmatched = of_file.filter(|rule| !listing.has_group(&rule.group)).cloned().collect();
        let rules = self.all_role_rules().await?;
        let loss = self.unbelievable_loss(&stored, &listing, &rules, run).await?;
        run.report.halted = loss.is_some();
        if loss.is_none() && !run.options.dry_run {
            self.follow_directory(&stored, &listing, &rules, run).await?;
        }
        self.follow_people(&listing, run).await?;
        run.report.roles = if run.options.dry_run {
            // Also if it is not believed: this is how an operator sees why.
            let directory = listing.memberships();
            self.preview_rules(&rules, |member: &str, stored: Memberships| directory.of(member, &stored)).await?
        } else {
            self.apply_all_rules(run).await?
        };
        if run.options.dry_run { Ok(()) } else { self.record_synchronisation(loss, run).await }
    }

    /// If the directory would take membership or roles from so many people that the answer is not believed: from how many.
    async fn unbelievable_loss(
        &self,
        stored: &StoredDirectory,
        listing: &Listing,
        rules: &[RoleRule],
        run: &mut SyncRun<'_>,
    ) -> Result<Option<usize>, Error> {
        if run.options.force {
            return Ok(None);
        }
        if let Some(lost) = stored.unbelievable_loss(listing) {
            tracing::error!(
                lost,
                listed = listing.members.len(),
                "the platform's directory lost so many members at once that it is not believed: check the application's \
                 range, then run `deskpass sync --force`"
            );
            return Ok(Some(lost));
        }
        let lost = self.unbelievable_role_loss(listing, rules, run).await?;
        if let Some(lost) = lost {
            tracing::error!(
                lost,
                "so many people would lose a role of a rule at once that the platform's directory is not believed: check \
                 the application's range and the tags, then run `deskpass sync --dry-run` and `deskpass sync --force`"
            );
        }
        Ok(lost)
    }

    /// How many people would lose a role of a rule, if they are too many.
    async fn unbelievable_role_loss(
        &self,
        listing: &Listing,
        rules: &[RoleRule],
        run: &mut SyncRun<'_>,
    ) -> Result<Option<usize>, Error> {
        if rules.is_empty() {
            return Ok(None);
        }
        let (directory, mut losses) = (listing.memberships(), RoleLosses::default());
        let mut subjects = RuleSubjects::of(self).await?;
        while let Some(page) = subjects.next(self).await? {
            // Who may not sign in loses nothing, and must not hide what others lose.
            for subject in page.into_iter().filter(|subject| subject.is_admitted) {
                let after = directory.of(self.subject_member(&subject), &subject.memberships);
                losses.count(subject.by_rule, subject.memberships.roles(rules), after.roles(rules));
            }
            self.renew(&mut run.lease).await?;
        }
        Ok(losses.unbelievable())
    }

    /// Brings the stored directory up to date.
    async fn follow_directory(
        &self,
        stored: &StoredDirectory,
        listing: &Listing,
        rules: &[RoleRule],
        run: &mut SyncRun<'_>,
    ) -> Result<(), Error> {
        let corp = self.policy.home_corp.as_str();
        let tag = |rule: &RoleRule| match &rule.group {
            RuleGroup::Tag(id) => Some(id.clone()),
            RuleGroup::Department(_) => None,
        };
        let moved = stored.moved_since(self, corp).await?;
        let mut changes = stored.changes_to(listing, &moved, &rules.iter().filter_map(tag).collect());
        while !changes.is_empty() {
            self.renew(&mut run.lease).await?;
            let batch = changes.drain(..changes.len().min(CHANGES_PER_BATCH)).collect();
            self.store.change_directory(corp.to_owned(), batch).await?;
        }
        Ok(())
    }

    /// Gives everyone the roles of the rules; returns what changed.
    async fn apply_all_rules(&self, run: &mut SyncRun<'_>) -> Result<Vec<RuleEffect>, Error> {
        // As they are now: they may have changed since the beginning.
        let rules = self.all_role_rules().await?;
        let (mut effects, mut done, mut subjects) = (Vec::new(), 0, RuleSubjects::of(self).await?);
        while let Some(page) = subjects.next(self).await? {
            done += page.len();
            effects.extend(self.apply_to_page(page, &rules).await?);
            run.note(SyncStep::Rules, done, None);
            self.renew(&mut run.lease).await?;
        }
        Ok(effects)
    }

    async fn record_synchronisation(&self, loss: Option<usize>, run: &SyncRun<'_>) -> Result<(), Error> {
        let (now, halted, missing_after) = (self.clock.now(), run.report.halted, run.missing_after.clone());
        let was_halted = self.sync_state().await?.halted;
        // A request that came meanwhile stays.
        let end =
            |state: SyncState| SyncState { last_at: Some(now), halted, missing_after: missing_after.clone(), ..state };
        self.change_chore_state(Chore::Synchronise, end).await?;
        if halted && !was_halted {
            self.tell_of_many_leavers(run.leavers.len().max(loss.unwrap_or(0))).await?;
        }
        if run.options.force {
            // The operator has looked at it: the re-check begins to count anew.
            self.reset_leaver_guard().await?;
        }
        Ok(())
    }

    pub(super) async fn sync_state(&self) -> Result<SyncState, Error> {
        self.chore_state(Chore::Synchronise).await
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn a_synchronisation_is_due_after_a_period_or_soon_after_a_change() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let state = |ago: Duration, due_at| SyncState { last_at: Some(now - ago), due_at, ..SyncState::default() };
        assert!(!state(Duration::from_hours(23), None).is_due(now, DAY, false));
        assert!(state(DAY, None).is_due(now, DAY, false));
        let changed = Some(now - SYNC_DELAY);
        assert!(!state(Duration::from_mins(9), changed).is_due(now, DAY, false), "too soon after the last one");
        assert!(state(Duration::from_mins(10), changed).is_due(now, DAY, false));
        assert!(!state(Duration::from_hours(1), Some(now + SYNC_DELAY)).is_due(now, DAY, false));
        let future = SyncState { last_at: Some(now + DAY * 365), ..SyncState::default() };
        assert!(future.is_due(now, DAY, false), "a wrong clock");
    }

    #[test]
    fn after_a_restore_a_synchronisation_is_due() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let state: SyncState = serde_json::from_str(&Chore::due_state(now)).unwrap();
        assert_eq!(state, SyncState { due_at: Some(now), ..SyncState::default() });
        assert!(state.is_due(now, DAY, false));
    }

    #[test]
    fn where_calls_are_metered_synchronisations_are_rare() {
        let now = Timestamp::from_millis(1_700_000_000_000);
        let state = |ago: Duration, due_at| SyncState { last_at: Some(now - ago), due_at, ..SyncState::default() };
        let changed = Some(now - SYNC_DELAY);
        assert!(!state(Duration::from_hours(5), changed).is_due(now, DAY, true));
        assert!(state(Duration::from_hours(6), changed).is_due(now, DAY, true));
        assert!(!state(DAY * 6, None).is_due(now, DAY, true), "the period is a week");
        assert!(state(DAY * 7, None).is_due(now, DAY, true));
        assert!(!state(DAY * 8, None).is_due(now, DAY * 30, true));
        assert!(SyncState { due_at: Some(now), ..SyncState::default() }.is_due(now, DAY, true), "the first one");
    }
}
