//! Follows the people of the directory: their records, those who left, and those who came back.

use std::collections::BTreeMap;

use deskpass_core::{EmployeeKey, IdentifiedPerson, LeftReason, Person};
use deskpass_platform::{Department, DirectoryDepartment, Profile};
use tokio::task::JoinSet;

use super::super::leaver::{departure, departure_of, is_back};
use super::super::leaver_guard::is_too_many;
use super::super::pace::Pace;
use super::listing::{ListedMember, Listing};
use super::report::{ProgressListener, SyncOptions, SyncProgress, SyncReport, SyncStep, UpdatedPerson};
use crate::platform_user::{changed_fields, identified_person, reconcile_department};
use crate::{Auth, Error, InternalError, LeaverSource};

const PAGE_SIZE: i64 = 500;
const LOOKUPS_PER_SECOND: u32 = 10;
/// After so many failures in a row the platform is down, and nobody else is looked up.
const MAX_FAILURES: usize = 3;
/// How many records are written at the same time. Writes that arrive together share a commit.
const CONCURRENT_WRITES: usize = 16;

/// Looks up people who are missing from the listing: it may be incomplete, so that alone is no reason to lock anybody.
struct Lookups {
    pace: Pace,
    remaining: u32,
    failures: usize,
}

impl Auth {
    /// Compares all employees of the home corporation with the listing, and follows it.
    pub(super) async fn follow_people(
        &self,
        listing: &Listing,
        options: SyncOptions,
        report: &mut SyncReport,
        progress: ProgressListener<'_>,
    ) -> Result<(), Error> {
        let home = self.policy.home_corp.as_str();
        let remaining = self.platform.lookups_per_day().unwrap_or(u32::MAX);
        let mut lookups = Lookups { pace: Pace::per_second(LOOKUPS_PER_SECOND), remaining, failures: 0 };
        let (mut done, mut present, mut records) = (0, 0, Vec::new());
        let mut after = Some(EmployeeKey::from_parts(home, ""));
        while let Some(last) = after {
            let page = self.store.employees(Some(last), PAGE_SIZE).await?;
            // Employees are sorted by corporation.
            after = page.last().map(|listed| listed.person.key.clone()).filter(|key| key.corp() == home);
            for person in page.into_iter().map(|listed| listed.person).filter(|person| person.key.corp() == home) {
                done += 1;
                present += usize::from(person.left.is_none());
                let why = self.follow_person(listing, &person, options, &mut lookups, report).await?;
                if why.is_none() && !person.disabled {
                    let changed = changed_record(listing, &person, report);
                    records.extend(changed.filter(|_| !options.dry_run));
                }
                report.left.extend(why.map(|why| (person.key, person.name, why)));
            }
            self.write_records(std::mem::take(&mut records)).await?;
            progress(SyncProgress { step: SyncStep::People, done, total: None });
        }
        self.lock_leavers(options, report, present).await
    }

    /// Follows one employee; returns why they must be locked, if so.
    async fn follow_person(
        &self,
        listing: &Listing,
        person: &Person,
        options: SyncOptions,
        lookups: &mut Lookups,
        report: &mut SyncReport,
    ) -> Result<Option<LeftReason>, Error> {
        let Some(member) = listing.member(&person.employee_id) else {
            return if person.left.is_none() { self.look_up_missing(person, lookups).await } else { Ok(None) };
        };
        if let Some(why) = departure(member.profile.status) {
            return Ok(Some(why).filter(|_| person.left.is_none()));
        }
        if person.left.is_some() && is_back(member.profile.status) {
            report.returned.push((person.key.clone(), person.name.clone()));
            if !options.dry_run {
                self.mark_returned(&person.key, LeaverSource::Sync).await?;
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
            writes.spawn(async move { store.upsert_person(who, now).await });
        }
        while let Some(joined) = writes.join_next().await {
            // A write that did not run to its end is repeated by the next synchronisation.
            joined.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    /// Asks the platform about an employee who is missing from the listing.
    async fn look_up_missing(&self, person: &Person, lookups: &mut Lookups) -> Result<Option<LeftReason>, Error> {
        if lookups.remaining == 0 || lookups.failures >= MAX_FAILURES {
            return Ok(None);
        }
        lookups.remaining -= 1;
        match self.paced_profile(&person.employee_id, &mut lookups.pace).await {
            Ok(profile) => {
                lookups.failures = 0;
                Ok(departure_of(person, profile.status))
            }
            Err(Error::Internal(InternalError::Platform(error))) => {
                tracing::info!(employee = %person.key, %error, "could not ask the platform about an employee");
                lookups.failures += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Locks those who left, unless they are so many that the platform's answers are not believed.
    async fn lock_leavers(&self, options: SyncOptions, report: &mut SyncReport, present: usize) -> Result<(), Error> {
        let leaving = report.left.len();
        if !options.force && is_too_many(leaving, present) {
            tracing::error!(
                leaving,
                "too many people seem to have left at once, so nobody is locked out: check the application's range at \
                 the platform, then run `deskpass sync --dry-run` and `deskpass sync --force`"
            );
            report.halted = true;
        }
        if options.dry_run || report.halted {
            return Ok(());
        }
        for (employee, _, why) in &report.left {
            self.mark_left(employee, *why, LeaverSource::Sync).await?;
        }
        Ok(())
    }
}

/// The record of an employee as it must be, if it must change.
fn changed_record(listing: &Listing, person: &Person, report: &mut SyncReport) -> Option<IdentifiedPerson> {
    let ListedMember { userid, profile, .. } = listing.member(&person.employee_id)?;
    let named = named_department(profile.clone(), &listing.departments);
    let mut who = identified_person(person.key.clone(), userid, Some(named));
    if profile.avatar.is_none() {
        // A list need not have everything that a profile has.
        who.avatar = None;
    }
    reconcile_department(person, &mut who);
    let fields = changed_fields(person, &who);
    if fields.is_empty() {
        return None;
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
