//! The roles of a person: where each comes from, and taking them away or replacing them by hand.
//!
//! A row of `user_role` is a role that the person holds. It was assigned by hand permanently or temporarily, or a rule gives it; a rule
//! may give a role that was assigned as well. Everything that changes the origin of a role locks the employee first.

use deskpass_core::{EmployeeKey, Role, Roles, Timestamp};

use super::person::{GRANT_ROLE, REVOKE_ROLE, find, is_last_admin, noting_last_admin};
use crate::cache::CacheChange;
use crate::database::{Sql, Tx};
use crate::deny_list::EndReason;
use crate::locks::{lock_administration, lock_employee};
use crate::oidc::endings::end_told_role;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::temporary_admin::Gift;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store};

/// Why a person holds a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleOrigin {
    /// The role.
    pub role: Role,
    /// Whether it was assigned by hand, permanently.
    pub by_hand: bool,
    /// Whether a rule gives it.
    pub by_rule: bool,
    /// When it ends, if it is temporary. If a rule gives it as well, the person keeps it then.
    pub until: Option<Timestamp>,
    /// Why it is temporary.
    pub reason: Option<String>,
}

/// Outcome of revoking a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevokeOutcome {
    /// The role is revoked.
    Revoked,
    /// The person did not hold it.
    NotHeld,
    /// The person is the last administrator, and keeps that role.
    LastAdmin,
    /// A rule gives the role, and the person keeps it. What was assigned by hand beside the rule is taken back.
    FromRule,
}

/// Outcome of setting a person's roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetRolesOutcome {
    /// The roles changed; these are the previous roles.
    Changed(Roles),
    /// The roles were the same.
    Unchanged,
    /// There is no such person.
    Unknown,
    /// The person is the last administrator, and keeps that role.
    LastAdmin,
    /// A rule gives this role, which should be revoked. The roles did not change; what was assigned by hand beside the rule is taken
    /// back.
    FromRule(Role),
}

impl Store {
    /// The roles of a person, each with its origin, in the order of their ids.
    pub async fn role_origins(&self, key: EmployeeKey) -> Result<Vec<RoleOrigin>> {
        self.database.read(move |sql| origins(sql, &key)).await
    }

    /// Sets a person's roles, and logs it when they change. Roles that the person held before keep their origin: a role that ends by
    /// itself still does. Sessions with a default role end, and so do the grants of clients that were told a revoked role. A role that
    /// a rule gives cannot be revoked. The last administrator of a corporation keeps that role, unless `even_last`; then the log says
    /// it.
    pub async fn set_roles(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        roles: Roles,
        even_last: bool,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<SetRolesOutcome, ChangeError> {
        let gift = Gift::MissingRoles(key.clone(), roles);
        self.write_giving(by, gift, move |tx| set(tx, &key, roles, (even_last, deny_until), &entry)).await
    }
}

fn set(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    roles: Roles,
    (even_last, deny_until): (bool, Timestamp),
    entry: &LogEntry,
) -> Result<SetRolesOutcome> {
    let without_admin = !roles.holds(Role::Admin);
    if without_admin {
        // Before any read: two administrators who revoke each other's role must not both see the other as an administrator.
        lock_administration(tx)?;
    }
    // Of two concurrent changes to a person's roles, the second sees the result of the first.
    lock_employee(tx, key)?;
    let Some(listed) = find(tx, key)? else { return Ok(SetRolesOutcome::Unknown) };
    let before = listed.person.roles;
    if before == roles {
        return Ok(SetRolesOutcome::Unchanged);
    }
    let revoked: Roles = before.iter().filter(|role| !roles.holds(*role)).collect();
    if let Some(role) = leave_to_rules(tx, key, revoked, entry)? {
        return Ok(SetRolesOutcome::FromRule(role));
    }
    let counts = before.holds(Role::Admin) && listed.person.is_admitted();
    let last = without_admin && counts && is_last_admin(tx, key)?;
    if last && !even_last {
        return Ok(SetRolesOutcome::LastAdmin);
    }
    for role in Role::ALL.into_iter().filter(|role| before.holds(*role) != roles.holds(*role)) {
        let text = if roles.holds(role) { GRANT_ROLE } else { REVOKE_ROLE };
        tx.execute(text, &args![key.corp(), key.id(), role])?;
    }
    tx.record_change(CacheChange::Person(key.clone()));
    // The person has exactly these roles: a default role, used while there were none, is no longer valid. Before the grants: the use of
    // a refresh token locks its session first, and then its grant.
    end_sessions_of(tx, key, SessionScope::WithDefaultRole, (EndReason::Kicked, deny_until), entry.at)?;
    for role in revoked.iter() {
        end_told_role(tx, key, role, entry.at)?;
    }
    let entry = entry.clone().with_detail(format!("{} -> {}", describe(before), describe(roles)));
    noting_last_admin(&entry, last).write(tx)?;
    Ok(SetRolesOutcome::Changed(before))
}

/// Revokes a role as [`Store::revoke`] does.
pub(super) fn revoke(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    role: Role,
    even_last: bool,
    entry: &LogEntry,
) -> Result<RevokeOutcome> {
    if role == Role::Admin {
        // Before any read: of two who revoke the role of two administrators, one must see what the other did.
        lock_administration(tx)?;
    }
    lock_employee(tx, key)?;
    if leave_to_rules(tx, key, Roles::NONE.with(role), entry)?.is_some() {
        return Ok(RevokeOutcome::FromRule);
    }
    let mut last = false;
    if role == Role::Admin {
        let person = find(tx, key)?.map(|found| found.person);
        let counts = person.is_some_and(|person| person.roles.holds(Role::Admin) && person.is_admitted());
        last = counts && is_last_admin(tx, key)?;
    }
    if last && !even_last {
        return Ok(RevokeOutcome::LastAdmin);
    }
    if tx.execute(REVOKE_ROLE, &args![key.corp(), key.id(), role])? == 0 {
        return Ok(RevokeOutcome::NotHeld);
    }
    tx.record_change(CacheChange::Person(key.clone()));
    end_told_role(tx, key, role, entry.at)?;
    noting_last_admin(entry, last).write(tx)?;
    Ok(RevokeOutcome::Revoked)
}

/// Finds those of these roles that a rule gives, takes back what was assigned by hand beside the rule, and logs that; returns the
/// first of them. The caller holds the lock of the employee.
fn leave_to_rules(tx: &mut Tx<'_>, key: &EmployeeKey, revoked: Roles, entry: &LogEntry) -> Result<Option<Role>> {
    let from_rules: Vec<_> = origins(tx, key)?.into_iter().filter(|it| it.by_rule && revoked.holds(it.role)).collect();
    let assigned: Roles = from_rules.iter().filter(|it| it.by_hand || it.until.is_some()).map(|it| it.role).collect();
    let text = "UPDATE user_role SET by_hand = 0, until = NULL, reason = NULL, told_at = NULL
        WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3";
    for role in assigned.iter() {
        tx.execute(text, &args![key.corp(), key.id(), role])?;
    }
    if !assigned.is_empty() {
        tx.record_change(CacheChange::Person(key.clone()));
        entry.clone().with_detail(format!("{} stays: from a rule", describe(assigned))).write(tx)?;
    }
    Ok(from_rules.first().map(|origin| origin.role))
}

/// The roles of a person, each with its origin.
pub(super) fn origins(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Vec<RoleOrigin>> {
    let text = "SELECT role_id, by_hand, by_rule, until, reason FROM user_role
        WHERE corp_id = $1 AND employee_key = $2 ORDER BY role_id";
    sql.rows(text, &args![key.corp(), key.id()], |row| {
        Ok(RoleOrigin {
            role: row.role(0)?,
            by_hand: row.int(1)? != 0,
            by_rule: row.int(2)? != 0,
            until: row.maybe_timestamp(3)?,
            reason: row.maybe_text(4)?,
        })
    })
}

/// The roles of a person, whatever their origin.
pub(crate) fn roles_of(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Roles> {
    Ok(origins(sql, key)?.iter().map(|origin| origin.role).collect())
}

/// The names of roles, for the log.
pub(super) fn describe(roles: Roles) -> String {
    let names: Vec<_> = roles.iter().map(Role::name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
