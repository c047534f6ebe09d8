//! Replacing all roles of a person at once.

use deskpass_core::{EmployeeKey, Role, Roles, Timestamp};

use super::person::{GRANT_ROLE, REVOKE_ROLE, find, is_last_admin, noting_last_admin};
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::locks::{lock_administration, lock_employee};
use crate::oidc::endings::end_told_role;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store};

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
}

impl Store {
    /// Sets a person's roles, and logs it when they change. Sessions with a default role end, and so do the grants of clients that
    /// were told a revoked role. The last administrator of a corporation keeps that role, unless `even_last`; then the log says it.
    pub async fn set_roles(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        roles: Roles,
        even_last: bool,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<SetRolesOutcome, ChangeError> {
        self.write_as(by, move |tx| set(tx, &key, roles, (even_last, deny_until), &entry)).await
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
    let counts = before.holds(Role::Admin) && !listed.person.disabled;
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
    for role in before.iter().filter(|role| !roles.holds(*role)) {
        end_told_role(tx, key, role, entry.at)?;
    }
    let entry = entry.clone().with_detail(format!("{} -> {}", describe(before), describe(roles)));
    noting_last_admin(&entry, last).write(tx)?;
    Ok(SetRolesOutcome::Changed(before))
}

fn describe(roles: Roles) -> String {
    let names: Vec<_> = roles.iter().map(Role::name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
