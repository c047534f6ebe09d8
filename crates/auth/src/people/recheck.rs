//! The re-check: one node asks the platform about people with live sessions, since not every departure sends an event.

use std::time::Duration;

use deskpass_core::{ClientInfo, EmployeeKey, LeftReason, Timestamp};
use deskpass_platform::{Identity, Profile};
use deskpass_store::{Chore, Notice, NoticeSubject, SignInReference};
use serde::{Deserialize, Serialize};

use super::leaver::departure_of;
use super::leaver_guard::LeaverGuard;
use super::pace::{DailyBudget, Pace};
use crate::notice::MAX_NOTIFIED_ADMINS;
use crate::{Auth, AuthEvent, Error, InternalError, LeaverSource, PersonCheckOutcome};

const LOOKUPS_PER_SECOND: u32 = 5;
/// The lease of a pass: after it, another node may check.
const RECHECK_LEASE: Duration = Duration::from_mins(10);
/// The most people in a pass: as many as can be looked up within the lease.
const MAX_PEOPLE_PER_PASS: u32 = 2_500;
/// After so many people, those who left are locked and the others recorded as checked.
const BATCH_SIZE: usize = 50;
/// After so many failures in a row the platform is down, and the pass ends.
const MAX_FAILURES: usize = 3;

/// What the re-check remembers from one pass to the next.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct RecheckState {
    guard: LeaverGuard,
    budget: DailyBudget,
}

/// A pass of the re-check.
#[derive(Debug, Default)]
struct Pass {
    state: RecheckState,
    /// How many people the platform was asked about.
    checked: usize,
    /// Those who were checked and are not recorded yet.
    settled: Vec<EmployeeKey>,
    /// Those who left and are not locked yet.
    leavers: Vec<(EmployeeKey, LeftReason)>,
}

impl Auth {
    /// Asks the platform about people with live sessions whom it was not asked about for a period, and locks those who left; returns how
    /// many were checked. Does nothing if another node is at it. A failure of the platform locks nobody.
    pub async fn recheck(&self) -> Result<usize, Error> {
        let Some(period) = self.policy.people.recheck_period else { return Ok(0) };
        let now = self.clock.now();
        // Read first: usually nobody is due, and a claim is a write.
        if self.people_due(now, period, 1).await?.is_empty() {
            return Ok(0);
        }
        let until = now + RECHECK_LEASE;
        if !self.store.claim_chore(Chore::Recheck, now, until).await? {
            return Ok(0);
        }
        let mut pass = Pass { state: self.recheck_state().await?, ..Pass::default() };
        let left = pass.state.budget.remaining(now, self.platform.lookups_per_day());
        let due = self.people_due(now, period, left.min(MAX_PEOPLE_PER_PASS)).await?;
        let ran = self.run_pass(&mut pass, due).await;
        self.set_recheck_state(pass.state).await?;
        // Gives the lease back.
        self.store.claim_chore(Chore::Recheck, until, self.clock.now()).await?;
        ran.map(|()| pass.checked)
    }

    /// Whether nobody is locked at present because so many people seem to have left.
    pub async fn leavers_halted(&self) -> Result<bool, Error> {
        Ok(self.recheck_state().await?.guard.halted || self.sync_state().await?.halted)
    }

    async fn people_due(
        &self,
        now: Timestamp,
        period: Duration,
        at_most: u32,
    ) -> Result<Vec<(EmployeeKey, String)>, Error> {
        let corp = self.policy.home_corp.as_str().to_owned();
        Ok(self.store.people_to_check(corp, now - period, now, i64::from(at_most)).await?)
    }

    async fn run_pass(&self, pass: &mut Pass, due: Vec<(EmployeeKey, String)>) -> Result<(), Error> {
        let (mut pace, mut failures) = (Pace::per_second(LOOKUPS_PER_SECOND), 0);
        for (employee, userid) in due {
            pace.wait().await;
            let now = self.clock.now();
            pass.state.budget.spend(now);
            match self.departure_now(&employee, userid).await {
                Ok(departure) => {
                    failures = 0;
                    self.count_checked(pass, employee, departure, now);
                }
                Err(Error::Internal(InternalError::Platform(error))) => {
                    tracing::info!(%employee, %error, "could not ask the platform about an employee");
                    self.observer.notify(AuthEvent::PersonChecked(PersonCheckOutcome::Failed));
                    failures += 1;
                }
                Err(error) => return Err(error),
            }
            if failures >= MAX_FAILURES {
                tracing::warn!("re-check stopped: the platform does not answer; nobody is locked out for it");
                break;
            }
            if pass.settled.len() + pass.leavers.len() >= BATCH_SIZE {
                self.settle_batch(pass).await?;
            }
        }
        self.settle_batch(pass).await?;
        if pass.leavers.is_empty() { Ok(()) } else { self.hold_leavers(pass).await }
    }

    fn count_checked(&self, pass: &mut Pass, employee: EmployeeKey, departure: Option<LeftReason>, now: Timestamp) {
        pass.checked += 1;
        pass.state.guard.count(now, departure.is_some());
        if let Some(why) = departure {
            pass.leavers.push((employee, why));
        } else {
            self.observer.notify(AuthEvent::PersonChecked(PersonCheckOutcome::Active));
            pass.settled.push(employee);
        }
    }

    /// Why the employee may not sign in according to the platform's answer.
    async fn departure_now(&self, employee: &EmployeeKey, userid: String) -> Result<Option<LeftReason>, Error> {
        let Profile { status, .. } = self.platform.profile(&Identity::Member { userid }).await?;
        let person = self.store.person(employee).await?;
        Ok(person.and_then(|person| departure_of(&person, status)))
    }

    /// Records those who were checked, and locks those who left, unless so many did.
    async fn settle_batch(&self, pass: &mut Pass) -> Result<(), Error> {
        let settled = std::mem::take(&mut pass.settled);
        if !settled.is_empty() {
            self.store.mark_checked(settled, self.clock.now()).await?;
        }
        if pass.state.guard.may_lock() {
            for (employee, why) in std::mem::take(&mut pass.leavers) {
                self.mark_left(&employee, why, LeaverSource::Recheck).await?;
                self.observer.notify(AuthEvent::PersonChecked(PersonCheckOutcome::Left));
            }
        }
        Ok(())
    }

    /// Does not lock people because too many seem to have left.
    async fn hold_leavers(&self, pass: &mut Pass) -> Result<(), Error> {
        let held: Vec<_> = std::mem::take(&mut pass.leavers).into_iter().map(|(employee, _)| employee).collect();
        held.iter().for_each(|_| self.observer.notify(AuthEvent::PersonChecked(PersonCheckOutcome::Held)));
        let (now, leaving) = (self.clock.now(), pass.state.guard.leaving());
        tracing::error!(
            leaving,
            held = held.len(),
            "too many people seem to have left at once, so nobody is locked out: check the application's range at the \
             platform, then run `deskpass sync --dry-run` and `deskpass sync --force`"
        );
        // They are asked about again after a period, and not every minute.
        self.store.mark_checked(held, now).await?;
        if pass.state.guard.halt(now) { self.tell_of_many_leavers(leaving).await } else { Ok(()) }
    }

    /// Tells administrators that nobody is locked because too many people seem to have left.
    pub(super) async fn tell_of_many_leavers(&self, leaving: usize) -> Result<(), Error> {
        let (home, now) = (self.policy.home_corp.as_str(), self.clock.now());
        let told = self.store.administrators(home.to_owned(), self.deployment_key(), MAX_NOTIFIED_ADMINS).await?;
        let about = Some(SignInReference { who: leaving.to_string(), at: now });
        let notice = |admin: &EmployeeKey| -> Result<Notice, Error> {
            let notice = self.new_notice(admin, NoticeSubject::ManyLeavers, now, &ClientInfo::service())?;
            Ok(Notice { about: about.clone(), ..notice })
        };
        let notices: Vec<_> = told.iter().map(notice).collect::<Result<_, _>>()?;
        self.store.queue_notices(notices, None).await?;
        self.notices_due.notify_one();
        Ok(())
    }

    async fn recheck_state(&self) -> Result<RecheckState, Error> {
        // A state that this version cannot read begins anew.
        let state = self.store.chore_state(Chore::Recheck).await?;
        Ok(state.and_then(|state| serde_json::from_str(&state).ok()).unwrap_or_default())
    }

    /// Forgets how many people left lately.
    pub(super) async fn reset_leaver_guard(&self) -> Result<(), Error> {
        let state = self.recheck_state().await?;
        self.set_recheck_state(RecheckState { guard: LeaverGuard::default(), ..state }).await
    }

    async fn set_recheck_state(&self, state: RecheckState) -> Result<(), Error> {
        let text = serde_json::to_string(&state).ok();
        Ok(self.store.set_chore_state(Chore::Recheck, text).await?)
    }
}
