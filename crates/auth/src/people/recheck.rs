//! The re-check: one node asks the platform about people with live sessions, since not every departure sends an event.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deskpass_core::{ClientInfo, EmployeeKey, LeftReason, Timestamp};
use deskpass_platform::{Error as PlatformError, Identity, Meaning};
use deskpass_store::{Chore, LeftOutcome, NoticeAbout, NoticeSubject};
use serde::{Deserialize, Serialize};

use super::leaver::{departure_of, shows_member, was_visible};
use super::leaver_guard::LeaverGuard;
use super::pace::{DailyBudget, LookupPurpose, Pace};
use crate::chore_lease::ChoreLease;
use crate::notice::MAX_NOTIFIED_ADMINS;
use crate::{Auth, AuthEvent, Error, InternalError, LeaverSource, PersonCheckOutcome};

const LOOKUPS_PER_SECOND: u32 = 5;
/// The lease of a pass, which is renewed after each batch.
pub(super) const RECHECK_LEASE: Duration = Duration::from_mins(10);
/// The most people in a pass.
const MAX_PEOPLE_PER_PASS: u32 = 2_500;
/// After so many people, those who left are locked and the others recorded as checked.
const BATCH_SIZE: usize = 50;
/// After so many failures in a row the platform is down, and the pass ends.
const MAX_OUTAGES: usize = 3;
/// After so many refusals in a row the application may see nobody, and the pass ends.
const MAX_REFUSALS: usize = 20;

/// What the re-check remembers from one pass to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RecheckState {
    guard: LeaverGuard,
    /// The calls that the service makes by itself, for whatever purpose.
    pub(super) budget: DailyBudget,
    /// Everyone who was last checked before this time is due.
    all_before: Option<Timestamp>,
    /// When people with sessions were last marked to be checked.
    pub(super) marked_at: Option<Timestamp>,
}

impl RecheckState {
    /// The time of the last check before which people are due.
    fn due_before(&self, now: Timestamp, period: Duration) -> Timestamp {
        let by_period = now - period;
        // A time in the future is of a wrong clock.
        self.all_before.filter(|all| *all <= now).map_or(by_period, |all| all.max(by_period))
    }
}

/// A person who left and is not locked yet, and when the platform was asked.
type Leaver = (EmployeeKey, LeftReason, Timestamp);

/// A pass of the re-check.
#[derive(Debug)]
struct Pass {
    lease: ChoreLease,
    /// How many people the platform was asked about.
    checked: usize,
    /// When the platform was asked about each of those whom the guard has not counted yet, and whether they left.
    counts: Vec<(Timestamp, bool)>,
    /// Those who were checked and are not recorded yet, and when the platform was asked.
    settled: Vec<(EmployeeKey, Timestamp)>,
    /// The same of those whom the platform refused to tell about.
    tried: Vec<(EmployeeKey, Timestamp)>,
    leavers: Vec<Leaver>,
}

/// The failures in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    outages: usize,
    refusals: usize,
}

impl Failures {
    /// Counts a failure; whether it is an outage, after which the person is asked about again soon. A refusal is an answer about the
    /// person, who must not keep others from being checked.
    fn count(&mut self, error: &PlatformError) -> bool {
        let is_outage = matches!(error.meaning(), Meaning::Retry | Meaning::Limited | Meaning::Refresh);
        if is_outage {
            self.outages += 1;
        } else {
            *self = Self { outages: 0, refusals: self.refusals + 1 };
        }
        is_outage
    }

    /// Why the pass must end, if so.
    const fn problem(self) -> Option<&'static str> {
        match (self.outages >= MAX_OUTAGES, self.refusals >= MAX_REFUSALS) {
            (true, _) => Some("the platform does not answer"),
            (false, true) => Some("the platform refuses to answer: check the permissions of the application"),
            (false, false) => None,
        }
    }
}

impl Auth {
    /// Asks the platform about people with live sessions whom it was not asked about for a period, and locks those who left; returns how
    /// many were checked. Does nothing if another node is at it. A failure of the platform locks nobody.
    pub async fn recheck(&self) -> Result<usize, Error> {
        let Some(period) = self.policy.people.recheck_period else { return Ok(0) };
        let (now, state) = (self.clock.now(), self.recheck_state().await?);
        let (before, left) = (state.due_before(now, period), self.lookups_left(LookupPurpose::Departure).await?);
        // Read first: usually nobody is due, and a claim is a write.
        if left == 0 || self.people_due(before, 1).await?.is_empty() {
            return Ok(0);
        }
        let Some(lease) = self.claim(Chore::Recheck, RECHECK_LEASE).await? else { return Ok(0) };
        let (counts, settled, tried, leavers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut pass = Pass { lease, checked: 0, counts, settled, tried, leavers };
        let due = self.people_due(before, left.min(MAX_PEOPLE_PER_PASS)).await?;
        let ran = self.run_pass(&mut pass, due).await;
        let Pass { lease, checked, .. } = pass;
        self.release(lease).await?;
        ran.map(|()| checked)
    }

    /// Has everyone with a session checked as soon as possible, and the directory read: the application may see fewer people.
    pub(crate) async fn request_recheck(&self) -> Result<(), Error> {
        let now = self.clock.now();
        let all = |state: RecheckState| RecheckState { all_before: Some(now), ..state };
        self.change_chore_state(Chore::Recheck, all).await?;
        self.recheck_due.notify_one();
        self.request_synchronisation().await
    }

    /// Whether a person who is out of range at a sign-in may be locked: many at once are more often a mistake in the application's range
    /// than a fact. They count like those whom the re-check finds.
    pub(crate) async fn may_lock_at_sign_in(&self, employee: &EmployeeKey, asked_at: Timestamp) -> Result<bool, Error> {
        let must_tell = AtomicBool::new(false);
        let count = |mut state: RecheckState| {
            // Once they are too many, everyone may sign in at the same time, and need not be counted.
            let is_counted = state.guard.is_halted_at(asked_at);
            if !is_counted {
                state.guard.count(asked_at, true);
            }
            let tells = !is_counted && !state.guard.may_lock() && state.guard.halt(asked_at);
            must_tell.store(tells, Ordering::Relaxed);
            state
        };
        let guard = self.change_chore_state(Chore::Recheck, count).await?.guard;
        if guard.may_lock() {
            return Ok(true);
        }
        tracing::warn!(
            %employee,
            "the platform does not show an employee who signs in any more; many left at once, so nobody is locked out: check \
             the application's range at the platform, then run `deskpass sync --dry-run` and `deskpass sync --force`"
        );
        if must_tell.into_inner() {
            self.tell_of_many_leavers(guard.leaving()).await?;
        }
        Ok(false)
    }

    /// Whether nobody is locked at present because so many people seem to have left.
    pub async fn leavers_halted(&self) -> Result<bool, Error> {
        Ok(self.recheck_state().await?.guard.halted || self.sync_state().await?.halted)
    }

    async fn people_due(&self, before: Timestamp, at_most: u32) -> Result<Vec<(EmployeeKey, String)>, Error> {
        let corp = self.policy.home_corp.as_str().to_owned();
        Ok(self.store.people_to_check(corp, before, self.clock.now(), i64::from(at_most)).await?)
    }

    async fn run_pass(&self, pass: &mut Pass, due: Vec<(EmployeeKey, String)>) -> Result<(), Error> {
        let (mut pace, mut failures) = (Pace::per_second(LOOKUPS_PER_SECOND), Failures::default());
        for (employee, userid) in due {
            if !self.take_lookup(LookupPurpose::Departure).await? {
                break;
            }
            pace.wait().await;
            let asked_at = self.clock.now();
            match self.departure_now(&employee, userid, asked_at).await {
                Ok(departure) => {
                    failures = Failures::default();
                    self.count_checked(pass, employee, departure, asked_at);
                }
                Err(Error::Internal(InternalError::Platform(error))) => {
                    tracing::info!(%employee, %error, "could not ask the platform about an employee");
                    self.observer.notify(AuthEvent::PersonChecked(PersonCheckOutcome::Failed));
                    if !failures.count(&error) {
                        // Asked about again after a period.
                        pass.tried.push((employee, asked_at));
                    }
                }
                Err(error) => return Err(error),
            }
            if let Some(problem) = failures.problem() {
                tracing::warn!(problem, "re-check stopped; nobody is locked out for it");
                break;
            }
            if pass.counts.len() + pass.tried.len() >= BATCH_SIZE {
                self.settle_batch(pass).await?;
            }
        }
        self.settle_batch(pass).await?;
        if pass.leavers.is_empty() { Ok(()) } else { self.hold_leavers(pass).await }
    }

    fn count_checked(
        &self,
        pass: &mut Pass,
        employee: EmployeeKey,
        departure: Option<LeftReason>,
        asked_at: Timestamp,
    ) {
        pass.checked += 1;
        pass.counts.push((asked_at, departure.is_some()));
        if let Some(why) = departure {
            pass.leavers.push((employee, why, asked_at));
        } else {
            self.observer.notify(AuthEvent::PersonChecked(PersonCheckOutcome::Active));
            pass.settled.push((employee, asked_at));
        }
    }

    /// Why the employee may not sign in according to the platform's answer.
    async fn departure_now(
        &self,
        employee: &EmployeeKey,
        userid: String,
        asked_at: Timestamp,
    ) -> Result<Option<LeftReason>, Error> {
        let profile = self.platform.profile(&Identity::Member { userid, holder_id: None }).await?;
        let said = self.holder(None, Some(&profile));
        self.follow_holder(employee, said.as_ref(), asked_at, LeaverSource::Recheck).await?;
        let Some(person) = self.store.person(employee).await? else { return Ok(None) };
        if shows_member(&profile) && !was_visible(&person) {
            self.store.mark_seen(employee.clone()).await?;
        }
        Ok(departure_of(&person, profile.status))
    }

    /// Counts people who were checked, with whether they left; returns the guard. Sign-ins count at the same time.
    async fn count_in_guard(&self, counts: &[(Timestamp, bool)]) -> Result<LeaverGuard, Error> {
        let count = |mut state: RecheckState| {
            for (asked_at, is_leaving) in counts {
                state.guard.count(*asked_at, *is_leaving);
            }
            state
        };
        Ok(self.change_chore_state(Chore::Recheck, count).await?.guard)
    }

    /// Records those who were checked, and locks those who left, unless so many did.
    async fn settle_batch(&self, pass: &mut Pass) -> Result<(), Error> {
        self.renew(&mut pass.lease).await?;
        if let Some((employees, asked_at)) = first_asked(std::mem::take(&mut pass.settled)) {
            self.store.mark_checked(employees, asked_at).await?;
        }
        self.mark_all_tried(std::mem::take(&mut pass.tried)).await?;
        if self.count_in_guard(&std::mem::take(&mut pass.counts)).await?.may_lock() {
            for (employee, why, asked_at) in std::mem::take(&mut pass.leavers) {
                let outcome = self.mark_left(&employee, why, LeaverSource::Recheck, asked_at).await?;
                if matches!(outcome, LeftOutcome::Ended(_)) {
                    self.observer.notify(AuthEvent::PersonChecked(PersonCheckOutcome::Left));
                }
            }
        }
        Ok(())
    }

    /// Records that the platform was asked about people, and did not say that they are active.
    async fn mark_all_tried(&self, tried: Vec<(EmployeeKey, Timestamp)>) -> Result<(), Error> {
        let Some((employees, asked_at)) = first_asked(tried) else { return Ok(()) };
        Ok(self.store.mark_tried(employees, asked_at).await?)
    }

    /// Does not lock people because too many seem to have left.
    async fn hold_leavers(&self, pass: &mut Pass) -> Result<(), Error> {
        let held = std::mem::take(&mut pass.leavers);
        for _ in &held {
            self.observer.notify(AuthEvent::PersonChecked(PersonCheckOutcome::Held));
        }
        let (now, must_tell) = (self.clock.now(), AtomicBool::new(false));
        let halt = |mut state: RecheckState| {
            must_tell.store(state.guard.halt(now), Ordering::Relaxed);
            state
        };
        let leaving = self.change_chore_state(Chore::Recheck, halt).await?.guard.leaving();
        tracing::error!(
            leaving,
            held = held.len(),
            "too many people seem to have left at once, so nobody is locked out: check the application's range at the \
             platform, then run `deskpass sync --dry-run` and `deskpass sync --force`"
        );
        // They are asked about again after a period, and not every minute.
        self.mark_all_tried(held.into_iter().map(|(employee, _, asked_at)| (employee, asked_at)).collect()).await?;
        if must_tell.into_inner() { self.tell_of_many_leavers(leaving).await } else { Ok(()) }
    }

    /// Tells administrators that nobody is locked because too many people seem to have left.
    pub(super) async fn tell_of_many_leavers(&self, leaving: usize) -> Result<(), Error> {
        let (home, now) = (self.policy.home_corp.as_str(), self.clock.now());
        let told = self.store.administrators(home.to_owned(), self.deployment_key(), MAX_NOTIFIED_ADMINS).await?;
        let (about, service) = (NoticeAbout::Leavers(leaving), ClientInfo::service());
        let notices = self.notices_to(&told, NoticeSubject::ManyLeavers, &about, now, &service)?;
        self.store.queue_notices(notices).await?;
        self.notices_due.notify_one();
        Ok(())
    }

    pub(super) async fn recheck_state(&self) -> Result<RecheckState, Error> {
        self.chore_state(Chore::Recheck).await
    }

    /// Forgets how many people left lately.
    pub(super) async fn reset_leaver_guard(&self) -> Result<(), Error> {
        let reset = |state: RecheckState| RecheckState { guard: LeaverGuard::default(), ..state };
        self.change_chore_state(Chore::Recheck, reset).await.map(drop)
    }
}

/// The people, and when the platform was asked about the first of them: one transaction has one time.
fn first_asked(people: Vec<(EmployeeKey, Timestamp)>) -> Option<(Vec<EmployeeKey>, Timestamp)> {
    let asked_at = people.iter().map(|(_, asked_at)| *asked_at).min()?;
    Some((people.into_iter().map(|(employee, _)| employee).collect(), asked_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use deskpass_platform::Unreachable;

    #[test]
    fn only_an_outage_keeps_a_person_due_and_ends_the_pass_soon() {
        let mut failures = Failures::default();
        let unknown = PlatformError::refused(1_i64, Meaning::Administrator);
        for _ in 1..MAX_REFUSALS {
            assert!(!failures.count(&unknown));
            assert_eq!(failures.problem(), None, "other people may be known");
        }
        assert!(!failures.count(&unknown));
        assert!(failures.problem().is_some());
        let mut failures = Failures::default();
        for _ in 0..MAX_OUTAGES {
            assert_eq!(failures.problem(), None);
            assert!(failures.count(&PlatformError::Unreachable(Unreachable::TimedOut)));
        }
        assert!(failures.problem().is_some());
        let mut failures = Failures { outages: MAX_OUTAGES - 1, refusals: 0 };
        failures.count(&unknown);
        assert_eq!(failures.outages, 0, "it answers");
    }

    #[test]
    fn everyone_is_due_after_a_change_of_the_range() {
        let (now, hour) = (Timestamp::from_millis(1_700_000_000_000), Duration::from_hours(1));
        let state = |all_before| RecheckState { all_before, ..RecheckState::default() };
        assert_eq!(state(None).due_before(now, hour), now - hour);
        assert_eq!(state(Some(now)).due_before(now, hour), now);
        assert_eq!(state(Some(now - hour * 2)).due_before(now, hour), now - hour, "long ago");
        assert_eq!(state(Some(now + hour)).due_before(now, hour), now - hour, "a wrong clock");
    }
}
