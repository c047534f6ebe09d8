//! Row locks: each keeps rows unchanged until the transaction ends. `change_author` defines the lock order. A lock is
//! an `UPDATE` that sets a column to its current value, since SQLite has no `SELECT … FOR UPDATE`: PostgreSQL locks the
//! updated rows, and in SQLite there is only one writing transaction anyway.

use deskpass_core::{Digest, EmployeeKey, Role, Roles, Timestamp};

use crate::Result;
use crate::database::{Row, Sql, SqlValue, Tx};

/// Serialises changes to rules and administrators, since each of them depends on the result of the others.
pub(crate) fn lock_administration(tx: &Tx<'_>) -> Result<()> {
    tx.execute("UPDATE role SET name = name WHERE id = 1", &[]).map(drop)
}

/// Locks an agent record, if there is one, until the transaction ends: it is neither disabled nor enabled meanwhile. Always before
/// that of the employee, as a sign-in with a password does.
pub(crate) fn lock_agent(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<()> {
    let text = "UPDATE agent SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2";
    tx.execute(text, &args![employee.corp(), employee.id()]).map(drop)
}

/// Locks an employee until the transaction ends, whether or not they are enabled.
pub(crate) fn lock_employee(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<()> {
    let text = "UPDATE employee SET name = name WHERE corp_id = $1 AND employee_key = $2";
    tx.execute(text, &args![employee.corp(), employee.id()]).map(drop)
}

/// Whether an employee is enabled and has not left; locks the row until the transaction ends.
pub(crate) fn lock_enabled_employee(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool> {
    let text = "UPDATE employee SET name = name WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL
        AND left_at IS NULL";
    Ok(tx.execute(text, &args![employee.corp(), employee.id()])? == 1)
}

/// Whether an employee holds a role at this time; locks the assignment until the transaction ends. A role that was assigned until a
/// time ends then, even if nothing has taken it back yet. A holder of the identifier who is not confirmed holds none.
pub(crate) fn lock_role(tx: &Tx<'_>, employee: &EmployeeKey, role: Role, now: Timestamp) -> Result<bool> {
    let text = "UPDATE user_role SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3
        AND (until IS NULL OR until > $4 OR by_hand = 1 OR by_rule = 1)
        AND NOT EXISTS (SELECT 1 FROM employee e WHERE e.corp_id = $1 AND e.employee_key = $2 AND e.unconfirmed_at IS NOT NULL)";
    Ok(tx.execute(text, &args![employee.corp(), employee.id(), role, now])? == 1)
}

/// The first of these roles that an employee does not hold at this time and that is not the default role of their session; locks the assignments
/// of the others until the transaction ends.
pub(crate) fn lock_roles(
    tx: &Tx<'_>,
    employee: &EmployeeKey,
    roles: Roles,
    default_role: Option<Role>,
    now: Timestamp,
) -> Result<Option<Role>> {
    for role in roles.iter().filter(|role| default_role != Some(*role)) {
        if !lock_role(tx, employee, role, now)? {
            return Ok(Some(role));
        }
    }
    Ok(None)
}

/// The registration of an OpenID Connect client that is enabled; it stays so until the transaction ends. Other transactions may lock
/// it in the same way meanwhile: many users sign in to one client.
pub(crate) fn lock_enabled_client(tx: &Tx<'_>, id: &str) -> Result<Option<String>> {
    let lock = if let Sql::Postgres(_) = **tx { " FOR SHARE" } else { "" };
    let text = format!(
        "SELECT registration FROM oidc_client WHERE id = $1 AND disabled_at IS NULL AND removed_at IS NULL{lock}"
    );
    tx.first(&text, &args![id], |row| row.text(0))
}

/// Whether an agent record matches this condition; locks it until the transaction ends.
pub(crate) fn lock_agent_where(tx: &Tx<'_>, which: &str, values: &[SqlValue<'_>]) -> Result<bool> {
    Ok(tx.execute(&format!("UPDATE agent SET role_id = role_id WHERE {which}"), values)? == 1)
}

/// The default role of the agent record, if it is enabled; locks the record until the transaction ends.
pub(crate) fn lock_default_role(tx: &Tx<'_>, key: &EmployeeKey) -> Result<Option<Role>> {
    let text = "UPDATE agent SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL
        AND device_only = 0 RETURNING role_id";
    tx.first(text, &args![key.corp(), key.id()], |row| row.role(0))
}

/// The columns of a locked session on which its use depends.
pub(crate) struct LockedSession {
    pub(crate) active: Role,
    pub(crate) default_role: Option<Role>,
    pub(crate) expires_at: Timestamp,
}

/// Locks the session until the transaction ends; `None` when it has ended.
pub(crate) fn lock_session(tx: &Tx<'_>, digest: Digest, employee: &EmployeeKey) -> Result<Option<LockedSession>> {
    let text = "UPDATE session SET role_id = role_id WHERE digest = $1 AND corp_id = $2 AND employee_key = $3
        AND NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1) RETURNING role_id, lent_role_id, expires_at";
    let read = |row: &Row<'_>| {
        let default_role = row.maybe_role(1)?;
        Ok(LockedSession { active: row.role(0)?, default_role, expires_at: row.timestamp(2)? })
    };
    tx.first(text, &args![digest, employee.corp(), employee.id()], read)
}

pub(crate) fn lock_proof(tx: &Tx<'_>, digest: Digest) -> Result<()> {
    tx.execute("UPDATE bind_proof SET attempts = attempts WHERE digest = $1", &args![digest]).map(drop)
}

/// Whether an identity may act as `target`, in use or only approved; locks the link until the transaction ends.
pub(crate) fn lock_link(tx: &Tx<'_>, identity: &EmployeeKey, target: &EmployeeKey) -> Result<bool> {
    let text = "UPDATE link SET approved_at = approved_at
        WHERE corp_id = $1 AND user_id = $2 AND target_corp_id = $3 AND target_key = $4";
    Ok(tx.execute(text, &args![identity.corp(), identity.id(), target.corp(), target.id()])? == 1)
}

/// Whether an identity acts as `target`, since the user has named that employee once; locks the link until the transaction ends.
pub(crate) fn lock_bound_link(tx: &Tx<'_>, identity: &EmployeeKey, target: &EmployeeKey) -> Result<bool> {
    let text = "UPDATE link SET approved_at = approved_at
        WHERE corp_id = $1 AND user_id = $2 AND target_corp_id = $3 AND target_key = $4 AND bound_at IS NOT NULL";
    Ok(tx.execute(text, &args![identity.corp(), identity.id(), target.corp(), target.id()])? == 1)
}
