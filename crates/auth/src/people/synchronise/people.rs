//! Follows the people of the directory: their records, those who left, and those who came back.

use std::collections::{BTreeMap, HashMap, HashSet};

use deskpass_core::{EmployeeKey, Holder, IdentifiedPerson, LeftReason, Person, Timestamp};
use deskpass_platform::{Department, DirectoryDepartment, Profile};
use deskpass_store::LeftOutcome;
use tokio::task::JoinSet;

use super::super::leaver::{departure, departure_of, is_back, shows_member, was_visible};
use super::super::leaver_guard::is_too_many;
use super::super::pace::{LookupPurpose, Pace};
use super::listing::{ListedMember, Listing};
use super::report::{SyncReport, SyncStep, UpdatedPerson};
use super::run::SyncRun;
use crate::platform_user::{changed_fields, identified_person, reconcile_department};
use crate::{Auth, Error, InternalError, LeaverSource};

const PAGE_SIZE: i64 = 500;
const LOOKUPS_PER_SECOND: u32 = 10;
/// The most lookups of one synchronisation. The next one goes on where they ended.
const MAX_LOOKUPS: u32 = 1_000;
/// After so many failures in a row the platform is down, and nobody else is looked up.
const MAX_FAILURES: usize = 3;
/// How many records are written at the same time. Writes that arrive together share a commit.
const CONCURRENT_WRITES: usize = 16;

/// Looks up people who are missing from the listing: it may be incomplete, so that alone is no reason to lock anybody.
struct Lookups {
    pace: Pace,
    remaining: u32,
    failures: usize,
    /// How many people are missing from the listing.
    missing: usize,
    /// How many of them the platform said something about, and how many of those left.
    answered: usize,
    left: usize,
    /// The last person of the synchronisation before, if there were more than it could look up.
    after: Option<String>,
    /// The last person who was looked up.
    last: Option<String>,
}

impl Lookups {
    fn new(remaining: u32, after: Option<String>) -> Self {
        let pace = Pace::per_second(LOOKUPS_PER_SECOND);
        Self { pace, remaining, failures: 0, missing: 0, answered: 0, left: 0, after, last: None }
    }

    /// Takes a lookup of a person, who come in the order of their keys; `false` if it is not the person's turn.
    fn take(&mut self, id: &str) -> bool {
        let came_before = self.after.as_deref().is_some_and(|after| id <= after);
        if came_before || self.remaining == 0 || self.failures >= MAX_FAILURES {
            return false;
        }
        self.remaining -= 1;
        self.last = Some(id.to_owned());
        true
    }

    /// How many of those who were not looked up left as well, if most likely too many did: there are limits to lookups, so that those
    /// who were found may be few of all employees.
    fn expected_others(&self) -> usize {
        if !is_too_many(self.left, self.answered) {
            return 0;
        }
        let others = self.missing.saturating_sub(self.answered);
        others.saturating_mul(self.left).checked_div(self.answered).unwrap_or(0)
    }

    /// Where the next synchronisation goes on; `None` at the beginning.
    fn next_after(self) -> Option<String> {
        let stopped_early = self.remaining == 0 || self.failures >= MAX_FAILURES;
        if stopped_early { self.last.or(self.after) } else { None }
    }
}

impl Auth {
    /// Compares all employees of the home corporation with the listing, and follows it.
    pub(super) async fn follow_people(&self, listing: &Listing, run: &mut SyncRun<'_>) -> Result<(), Error> {
        let home = self.policy.home_corp.as_str();
        // A listing that is not believed says nothing about who is missing.
        let at_most = if run.report.halted && !run.options.dry_run { 0 } else { MAX_LOOKUPS };
        let mut lookups = Lookups::new(at_most, run.missing_after.take());
        let (mut done, mut present, mut records) = (0, 0, Vec::new());
        let mut after = Some(EmployeeKey::from_parts(home, ""));
        while let Some(last) = after {
            let page = self.store.employees(Some(last), PAGE_SIZE).await?;
            // Employees are sorted by corporation.
            after = page.last().map(|listed| listed.person.key.clone()).filter(|key| key.corp() == home);
            let mut new_holders = if run.options.dry_run {
                HashMap::new()
            } else {
                self.follow_holders(listing, &page, run.began_at).await?
            };
            for person in page.into_iter().map(|listed| listed.person).filter(|person| person.key.corp() == home) {
                done += 1;
                present += usize::from(person.left.is_none());
                let left = self.follow_person(listing, &person, &mut lookups, run).await?;
                if left.is_none() && !person.disabled {
                    let holder = new_holders.remove(&person.key);
                    let changed = changed_record(listing, &person, (holder, run.began_at), &mut run.report);
                    records.extend(changed.filter(|_| !run.options.dry_run));
                }
                if let Some((why, asked_at)) = left {
                    run.leavers.push((person.key.clone(), why, asked_at));
                    run.report.left.push((person.key, person.name, why));
                }
            }
            self.write_records(std::mem::take(&mut records)).await?;
            run.note(SyncStep::People, done, None);
            self.renew(&mut run.lease).await?;
        }
        let expected_others = lookups.expected_others();
        run.missing_after = lookups.next_after();
        self.lock_leavers(run, expected_others, present).await
    }

    /// Follows one employee; returns why they must be locked, if so, and when the platform was asked.
    async fn follow_person(
        &self,
        listing: &Listing,
        person: &Person,
        lookups: &mut Lookups,
        run: &mut SyncRun<'_>,
    ) -> Result<Option<(LeftReason, Timestamp)>, Error> {
        let Some(member) = listing.member(&person.employee_id) else {
            return if person.left.is_none() { self.look_up_missing(person, lookups, run).await } else { Ok(None) };
        };
        if let Some(why) = departure(member.profile.status) {
            return Ok(Some((why, run.began_at)).filter(|_| person.left.is_none()));
        }
        if person.left.is_some() && is_back(member.profile.status) {
            // Who left since the listing began stays locked.
            let returns =
                run.options.dry_run || self.mark_returned(&person.key, LeaverSource::Sync, run.began_at).await?;
            if returns {
                run.report.returned.push((person.key.clone(), person.name.clone()));
            }
        }
        Ok(None)
    }

    /// Writes records, several at a time.
    async fn write_records(&self, records: Vec<IdentifiedPerson>) -> Result<(), Error> {
        let (mut writes, now) = (JoinSet::new(), self.clock.now());
        for who in records {
            if writes.len() >= CONCURRENT_WRITES
                && let Some(Ok(written)) = writes.join_next().await
            {
                written?;
            }
            let store = self.store.clone();
            writes.spawn(async move { store.upsert_person(who, now).await.map(drop) });
        }
        while let Some(joined) = writes.join_next().await {
            // A write that did not run to its end is repeated by the next synchronisation.
            joined.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    /// Asks the platform about an employee who is missing from the listing.
    async fn look_up_missing(
        &self,
        person: &Person,
        lookups: &mut Lookups,
        run: &mut SyncRun<'_>,
    ) -> Result<Option<(LeftReason, Timestamp)>, Error> {
        lookups.missing += 1;
        if !lookups.take(person.key.id()) {
            return Ok(None);
        }
        self.renew(&mut run.lease).await?;
        let asked_at = self.clock.now();
        match self.paced_profile(&person.employee_id, LookupPurpose::Other, &mut lookups.pace).await {
            Ok(profile) => {
                if !run.options.dry_run {
                    if shows_member(&profile) && !was_visible(person) {
                        self.store.mark_seen(person.key.clone()).await?;
                    }
                    let holder = self.holder(None, Some(&profile));
                    self.follow_holder(&person.key, holder.as_ref(), asked_at, LeaverSource::Sync).await?;
                }
                let departure = departure_of(person, profile.status);
                lookups.failures = 0;
                lookups.answered += 1;
                lookups.left += usize::from(departure.is_some());
                Ok(departure.map(|why| (why, asked_at)))
            }
            Err(Error::Internal(InternalError::Platform(error))) => {
                tracing::info!(employee = %person.key, %error, "could not ask the platform about an employee");
                lookups.failures += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Locks those who left, unless they, with others who are expected to have left as well, are so many that the platform's answers are
    /// not believed.
    async fn lock_leavers(&self, run: &mut SyncRun<'_>, expected_others: usize, present: usize) -> Result<(), Error> {
        let leaving = run.leavers.len();
        if !run.options.force && is_too_many(leaving.saturating_add(expected_others), present) {
            tracing::error!(
                leaving,
                expected_others,
                "too many people seem to have left at once, so nobody is locked out: check the application's range at \
                 the platform, then run `deskpass sync --dry-run` and `deskpass sync --force`"
            );
            run.report.halted = true;
        }
        if run.options.dry_run || run.report.halted {
            return Ok(());
        }
        let mut locked = HashSet::new();
        for (employee, why, asked_at) in &run.leavers {
            let outcome = self.mark_left(employee, *why, LeaverSource::Sync, *asked_at).await?;
            if matches!(outcome, LeftOutcome::Ended(_)) {
                locked.insert(employee);
            }
        }
        run.report.left.retain(|(employee, ..)| locked.contains(employee));
        Ok(())
    }
}

/// The record of an employee as it must be, if it must change. `holder` is who holds the identifier, if nothing is known of it yet.
fn changed_record(
    listing: &Listing,
    person: &Person,
    (holder, listed_at): (Option<Holder>, Timestamp),
    report: &mut SyncReport,
) -> Option<IdentifiedPerson> {
    let ListedMember { userid, profile, .. } = listing.member(&person.employee_id)?;
    let named = named_department(profile.clone(), &listing.departments);
    let who = identified_person(person.key.clone(), userid, Some(named));
    let mut who = IdentifiedPerson { holder, identified_at: Some(listed_at), ..who };
    if profile.avatar.is_none() {
        // A list need not have everything that a profile has.
        who.avatar = None;
    }
    reconcile_department(person, &mut who);
    let fields = changed_fields(person, &who);
    if fields.is_empty() {
        // That the application sees the person, and who holds the identifier, is no change of the record to a reader.
        return Some(who).filter(|who| who.holder.is_some() || who.seen && !was_visible(person));
    }
    report.updated.push(UpdatedPerson { employee: person.key.clone(), name: person.name.clone(), fields });
    Some(who)
}

/// A profile with the name of its department, which lists of members do not have.
fn named_department(profile: Profile, departments: &BTreeMap<String, DirectoryDepartment>) -> Profile {
    let department = match profile.department {
        Department::Known { id, name: None } => {
            let name = departments.get(&id).map(|department| department.name.clone());
            Department::Known { id, name }
        }
        other => other,
    };
    Profile { department, ..profile }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looked_up(lookups: &mut Lookups) -> Vec<&'static str> {
        ["a", "b", "c", "d"].into_iter().filter(|id| lookups.take(id)).collect()
    }

    #[tokio::test]
    async fn lookups_go_on_where_the_synchronisation_before_ended() {
        let mut first = Lookups::new(2, None);
        assert_eq!(looked_up(&mut first), ["a", "b"]);
        let mut second = Lookups::new(3, first.next_after());
        assert_eq!(looked_up(&mut second), ["c", "d"]);
        assert_eq!(second.next_after(), None, "then from the beginning");
        let mut failing = Lookups::new(9, Some("a".to_owned()));
        assert!(failing.take("b"));
        failing.failures = MAX_FAILURES;
        assert!(!failing.take("c"));
        assert_eq!(failing.next_after().as_deref(), Some("b"), "the platform is down");
        assert_eq!(Lookups::new(0, Some("b".to_owned())).next_after().as_deref(), Some("b"), "none were possible");
    }

    #[tokio::test]
    async fn those_who_could_not_be_looked_up_are_expected_to_be_like_the_others() {
        let others =
            |missing, answered, left| Lookups { missing, answered, left, ..Lookups::new(0, None) }.expected_others();
        assert_eq!(others(6_000, 1_000, 1_000), 5_000, "all of them left");
        assert_eq!(others(6_000, 1_000, 500), 2_500);
        assert_eq!(others(6_000, 1_000, 200), 0, "a fifth is believed");
        assert_eq!(others(6_000, 1_000, 0), 0, "a range of single members, who are in no list");
        assert_eq!(others(6_000, 5, 5), 0, "few say nothing about others");
        assert_eq!(others(8, 8, 8), 0, "everyone was looked up");
    }
}
