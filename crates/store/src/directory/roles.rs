//! Who may act as what, changed all at once.

use deskpass_core::{EmployeeKey, Role, Roles, Timestamp};

use super::{GRANT, REVOKE, find, is_last_admin};
use crate::acting::hold_employee;
use crate::cache::Change;
use crate::database::Tx;
use crate::rulebook::take_turns;
use crate::sessions::{self, Ended, Which};
use crate::{By, ChangeError, LogEntry, Store, StoreError};

/// What became of somebody's roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// They are others than these, which they were.
    Yes(Roles),
    /// They were the same.
    No,
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
        by: By,
        key: EmployeeKey,
        roles: Roles,
        even_last: bool,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<Changed, ChangeError> {
        self.acting(by).write(move |tx| set(tx, &key, roles, (even_last, deny_until), &entry)).await
    }
}

fn set(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    roles: Roles,
    (even_last, deny_until): (bool, Timestamp),
    entry: &LogEntry,
) -> Result<Changed, StoreError> {
    let guarded = !even_last && !roles.holds(Role::Admin);
    if guarded {
        // Before anything is read: two administrators who take the role from each other must not both see the other one.
        take_turns(tx)?;
    }
    // Of two who give somebody roles at once, the second sees those that the first gave.
    hold_employee(tx, key)?;
    let Some(listed) = find(tx, key)? else { return Ok(Changed::Unknown) };
    let before = listed.person.roles;
    if before == roles {
        return Ok(Changed::No);
    }
    let counts = before.holds(Role::Admin) && !listed.person.disabled;
    if guarded && counts && is_last_admin(tx, key)? {
        return Ok(Changed::LastAdmin);
    }
    for role in Role::ALL.into_iter().filter(|role| before.holds(*role) != roles.holds(*role)) {
        let text = if roles.holds(role) { GRANT } else { REVOKE };
        tx.execute(text, &args![key.corp(), key.id(), role])?;
    }
    tx.touch(Change::Person(key.clone()));
    // Exactly these roles: what was lent while there were none counts no more.
    sessions::end(tx, key, Which::Lent, Ended::Kicked, deny_until)?;
    entry.clone().saying(format!("{} -> {}", told(before), told(roles))).write(tx)?;
    Ok(Changed::Yes(before))
}

fn told(roles: Roles) -> String {
    let names: Vec<_> = roles.iter().map(Role::name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
