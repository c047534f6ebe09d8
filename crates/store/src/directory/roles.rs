//! Who may act as what, changed all at once.

use deskpass_core::{EmployeeKey, Role, Roles, Timestamp};

use super::person::{GRANT_ROLE, REVOKE_ROLE, find, is_last_admin};
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::locks::{lock_administration, lock_employee};
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{ChangeAuthor, ChangeError, LogEntry, Store, StoreError};

/// What became of somebody's roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetRolesOutcome {
    /// They are others than these, which they were.
    Changed(Roles),
    /// They were the same.
    Unchanged,
    /// There is no such person.
    Unknown,
    /// They are the last administrator, and stay one.
    LastAdmin,
}

impl Store {
    /// Gives a person exactly these roles, and logs it when they had others. Sessions in which one was lent to them end. The last administrator of their corporation
    /// stays one, unless `even_last`.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_roles(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        roles: Roles,
        even_last: bool,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<SetRolesOutcome, ChangeError> {
        self.authorized(by).write(move |tx| set(tx, &key, roles, (even_last, deny_until), &entry)).await
    }
}

fn set(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    roles: Roles,
    (even_last, deny_until): (bool, Timestamp),
    entry: &LogEntry,
) -> Result<SetRolesOutcome, StoreError> {
    let guarded = !even_last && !roles.holds(Role::Admin);
    if guarded {
        // Before anything is read: two administrators who take the role from each other must not both see the other one.
        lock_administration(tx)?;
    }
    // Of two who give somebody roles at once, the second sees those that the first gave.
    lock_employee(tx, key)?;
    let Some(listed) = find(tx, key)? else { return Ok(SetRolesOutcome::Unknown) };
    let before = listed.person.roles;
    if before == roles {
        return Ok(SetRolesOutcome::Unchanged);
    }
    let counts = before.holds(Role::Admin) && !listed.person.disabled;
    if guarded && counts && is_last_admin(tx, key)? {
        return Ok(SetRolesOutcome::LastAdmin);
    }
    for role in Role::ALL.into_iter().filter(|role| before.holds(*role) != roles.holds(*role)) {
        let text = if roles.holds(role) { GRANT_ROLE } else { REVOKE_ROLE };
        tx.execute(text, &args![key.corp(), key.id(), role])?;
    }
    tx.record_change(CacheChange::Person(key.clone()));
    // Exactly these roles: what was lent while there were none counts no more.
    end_sessions_of(tx, key, SessionScope::WithDefaultRole, EndReason::Kicked, deny_until)?;
    entry.clone().with_detail(format!("{} -> {}", told(before), told(roles))).write(tx)?;
    Ok(SetRolesOutcome::Changed(before))
}

fn told(roles: Roles) -> String {
    let names: Vec<_> = roles.iter().map(Role::name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
