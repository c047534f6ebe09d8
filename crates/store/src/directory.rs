//! Employees and their roles.

mod administrators;
mod email;
mod filter;
mod holder;
mod people;
mod person;
mod query;
mod role_rules;
mod roles;
mod spelling;
mod terms;
mod timed_roles;

use std::sync::Arc;

use deskpass_core::{EmployeeKey, IdentifiedPerson, Person, Role, Roles, Timestamp};

use self::person::{GRANT_ROLE, PEOPLE_WITH_ROLES, holders, is_last_admin, merge_roles, noting_last_admin};
use crate::cache::{CacheChange, CacheLookup};
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::locks::{lock_administration, lock_employee};
use crate::sessions::{SessionScope, end_sessions_of};
use crate::temporary_admin::Gift;
use crate::{CachedPerson, ChangeAuthor, ChangeError, LogEntry, Result, Store};

pub use administrators::read_has_administrator;
pub use email::SetEmailOutcome;
pub use filter::{DepartmentFilter, PageStart, PeopleFilter, PeopleOrder, PeopleSelection};
use holder::note_first_holder;
pub use holder::{ConfirmOutcome, HolderAlarm, HolderOutcome, HolderReport, UnconfirmedHolder};
pub(crate) use holder::{is_unconfirmed, move_holder, note_holder, said_about};
pub(crate) use people::{MAX_SCANNED_ENTRIES, is_selective};
pub use people::{PeopleCount, PeoplePage};
pub use person::ListedPerson;
pub(crate) use person::{
    NEXT_COLUMN, PERSON_COLUMNS, ROLES_OF_PERSON, add_roles, administrators, find, listed, lock_out_leaver,
};
pub(crate) use query::PeopleSql;
pub use role_rules::{RuleEvaluation, RuleRolesOutcome, RuleSubject, SubjectPage};
pub(crate) use roles::roles_of;
pub use roles::{RevokeOutcome, RoleOrigin, SetRolesOutcome};
pub use timed_roles::{DueRole, GrantUntilOutcome};

/// A request to add an employee.
#[derive(Clone, Debug)]
pub struct NewEmployee {
    /// The employee, with the initial roles.
    pub person: Person,
    /// When the employee is added.
    pub at: Timestamp,
    /// The audit event, if a user or an operator adds the employee.
    pub entry: Option<LogEntry>,
}

/// Outcome of disabling an employee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisableOutcome {
    /// The employee is disabled, and this many sessions ended.
    Done(usize),
    /// There is no such employee.
    Unknown,
    /// The employee is the last administrator, and stays enabled.
    LastAdmin,
}

impl Store {
    /// The person, with their current roles.
    pub async fn person(&self, key: &EmployeeKey) -> Result<Option<Arc<Person>>> {
        let gap = match self.cache.look_up(&self.cache.people, key).await {
            CacheLookup::Hit(person) => return Ok(Some(Arc::new(person.to_person()))),
            CacheLookup::Miss(gap) => gap,
        };
        let wanted = key.clone();
        let Some(found) = self.database.read(move |sql| find(sql, &wanted)).await? else { return Ok(None) };
        gap.fill(Arc::new(CachedPerson::new(&found.person)));
        Ok(Some(Arc::new(found.person)))
    }

    /// Removes what is in memory about an employee, who may have changed on another node: the next look-up reads the database.
    pub fn forget_person(&self, key: &EmployeeKey) {
        self.cache.apply(CacheChange::Person(key.clone()));
    }

    /// All employees, ordered by corporation and identifier, at most `limit` starting after `after`.
    pub async fn employees(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<ListedPerson>> {
        self.database
            .read(move |sql| {
                let (corp, id) = after.as_ref().map_or(("", ""), |key| (key.corp(), key.id()));
                let text = format!(
                    "{PEOPLE_WITH_ROLES} WHERE (e.corp_id, e.employee_key) IN (SELECT corp_id, employee_key FROM employee
                     WHERE (corp_id, employee_key) > ($1, $2) ORDER BY corp_id, employee_key LIMIT $3)
                     ORDER BY e.corp_id, e.employee_key, r.role_id"
                );
                Ok(merge_roles(sql.rows(&text, &args![corp, id, limit], listed)?))
            })
            .await
    }

    /// An employee as a list entry.
    pub async fn listed_person(&self, key: EmployeeKey) -> Result<Option<ListedPerson>> {
        self.database.read(move |sql| find(sql, &key)).await
    }

    /// Enabled administrators of a corporation except one employee, at most `at_most`.
    pub async fn administrators(&self, corp: String, except: EmployeeKey, at_most: usize) -> Result<Vec<EmployeeKey>> {
        self.database.read(move |sql| administrators(sql, &corp, &except, at_most)).await
    }

    /// The same for any role.
    pub async fn role_holders(
        &self,
        corp: String,
        role: Role,
        except: EmployeeKey,
        at_most: usize,
    ) -> Result<Vec<EmployeeKey>> {
        self.database.read(move |sql| holders(sql, (&corp, role), &except, at_most)).await
    }

    /// Adds an employee; `false`, with no change, when the employee exists already.
    pub async fn add_employee(&self, by: ChangeAuthor, new: NewEmployee) -> Result<bool, ChangeError> {
        let gift = Gift::Roles(new.person.key.clone(), new.person.roles);
        self.write_giving(by, gift, move |tx| {
            let NewEmployee { person, at, entry } = &new;
            if !person::insert(tx, person, *at)? {
                return Ok(false);
            }
            for role in person.roles.iter() {
                tx.execute(GRANT_ROLE, &args![person.key.corp(), person.key.id(), role])?;
            }
            terms::refresh(tx, &person.key)?;
            tx.record_change(CacheChange::Person(person.key.clone()));
            entry.as_ref().map_or(Ok(()), |entry| entry.write(tx))?;
            Ok(true)
        })
        .await
    }

    /// Stores the platform's data about a person, and adds the person if they are new; `false`, with no change, if it is about a former
    /// holder of the identifier.
    pub async fn upsert_person(&self, who: IdentifiedPerson, at: Timestamp) -> Result<bool> {
        self.database.write(move |tx| upsert(tx, &who, at)).await
    }

    /// Grants a person a role permanently; `false` when it was granted so before. Fails when there is no such person.
    pub async fn grant(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        role: Role,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        let gift = Gift::Roles(key.clone(), Roles::NONE.with(role));
        self.write_giving(by, gift, move |tx| {
            // The role may end by itself at this moment.
            lock_employee(tx, &key)?;
            if tx.execute(GRANT_ROLE, &args![key.corp(), key.id(), role])? == 0 {
                return Ok(false);
            }
            tx.record_change(CacheChange::Person(key.clone()));
            entry.write(tx)?;
            Ok(true)
        })
        .await
    }

    /// Revokes a person's role, and ends the grants of clients that were told it. A role that a rule gives stays. The last
    /// administrator of a corporation keeps that role, unless `even_last`; then the log says it.
    pub async fn revoke(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        role: Role,
        even_last: bool,
        entry: LogEntry,
    ) -> Result<RevokeOutcome, ChangeError> {
        self.write_as(by, move |tx| roles::revoke(tx, &key, role, even_last, &entry)).await
    }

    /// Disables a person and ends their sessions. The last administrator of a corporation stays, unless `even_last`; then the log
    /// says it.
    pub async fn disable(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        even_last: bool,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<DisableOutcome, ChangeError> {
        self.write_as(by, move |tx| {
            // Before any read: two administrators who disable each other must not both see the other as enabled.
            lock_administration(tx)?;
            let Some(ListedPerson { person, .. }) = find(tx, &key)? else { return Ok(DisableOutcome::Unknown) };
            let last = is_last_administrator(tx, &person)?;
            if last && !even_last {
                return Ok(DisableOutcome::LastAdmin);
            }
            let text = "UPDATE employee SET disabled_at = $3
                WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL";
            if tx.execute(text, &args![key.corp(), key.id(), entry.at])? == 0 {
                return Ok(DisableOutcome::Done(0));
            }
            tx.record_change(CacheChange::Person(key.clone()));
            let why = (EndReason::Disabled, deny_until);
            let ended = end_sessions_of(tx, &key, SessionScope::All, why, entry.at)?;
            entry_of_ending(&entry, ended, last).write(tx)?;
            Ok(DisableOutcome::Done(ended))
        })
        .await
    }

    /// Enables a person again; `false` when there is no such person.
    pub async fn enable(&self, by: ChangeAuthor, key: EmployeeKey, entry: LogEntry) -> Result<bool, ChangeError> {
        self.write_giving(by, Gift::Account(key.clone()), move |tx| {
            let text = "UPDATE employee SET disabled_at = NULL
                WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NOT NULL";
            if tx.execute(text, &args![key.corp(), key.id()])? == 0 {
                return Ok(find(tx, &key)?.is_some());
            }
            tx.record_change(CacheChange::Person(key.clone()));
            entry.write(tx)?;
            Ok(true)
        })
        .await
    }
}

/// Stores the platform's data about a person, and adds the person if they are new, as part of a transaction.
pub(crate) fn upsert(tx: &mut Tx<'_>, who: &IdentifiedPerson, at: Timestamp) -> Result<bool> {
    let change = email::platform_change(tx, who)?;
    let is_known = person::exists(tx, &who.key)?;
    if !person::upsert(tx, who, at)? {
        return Ok(false);
    }
    if !is_known {
        note_first_holder(tx, &who.key)?;
        lock_out_leaver(tx, &who.key, who.asked_at)?;
    }
    email::apply(tx, &who.key, &change)?;
    terms::refresh(tx, &who.key)?;
    tx.record_change(CacheChange::Person(who.key.clone()));
    Ok(true)
}

/// Whether a person is the last administrator of their corporation who may sign in. The caller holds the administration lock.
pub(crate) fn is_last_administrator(tx: &Tx<'_>, person: &Person) -> Result<bool> {
    Ok(person.roles.holds(Role::Admin) && person.is_admitted() && is_last_admin(tx, &person.key)?)
}

/// The entry of a change after which a person may not sign in, with the number of ended sessions.
pub(crate) fn entry_of_ending(entry: &LogEntry, ended: usize, last_admin: bool) -> LogEntry {
    noting_last_admin(&entry.clone().with_detail(format!("{ended} session(s) ended")), last_admin)
}
