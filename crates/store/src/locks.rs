//! Row locks: each keeps rows as they are until the transaction ends. `change_author` says in which order they are taken.

use deskpass_core::{EmployeeKey, Role};

use crate::StoreError;
use crate::database::{Row, Tx, Value};

/// Locks the rows that `update` names until the transaction ends; returns how many there are.
///
/// `update` sets a column to the value it has. It stands for `SELECT … FOR UPDATE`, which SQLite does not have: PostgreSQL
/// locks the rows for it, and in SQLite a transaction that writes is the only one anyway.
pub(crate) fn lock_rows(tx: &Tx<'_>, update: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
    tx.execute(update, values)
}

/// Locks a row as [`lock_rows`] does and reads what the `RETURNING` of `update` names; `None` when there is no such row.
pub(crate) fn lock_and_read<T>(
    tx: &Tx<'_>,
    update: &str,
    values: &[Value<'_>],
    read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    tx.first(update, values, read)
}

/// Of several who change rules or administrators, one at a time: what each of them decides depends on what the others did.
pub(crate) fn lock_administration(tx: &Tx<'_>) -> Result<(), StoreError> {
    lock_rows(tx, "UPDATE role SET name = name WHERE id = 1", &[]).map(drop)
}

/// Keeps an employee and their agent record as they are until the transaction ends, whether or not they count.
pub(crate) fn lock_agent_and_employee(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<(), StoreError> {
    lock_agent(tx, employee)?;
    lock_employee(tx, employee)
}

/// Only for the order of locks: whoever signs in with a password holds this row before that of the employee.
pub(crate) fn lock_agent(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<(), StoreError> {
    let text = "UPDATE agent SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2";
    lock_rows(tx, text, &args![employee.corp(), employee.id()]).map(drop)
}

/// Keeps an employee as they are until the transaction ends, whether or not they are enabled.
pub(crate) fn lock_employee(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<(), StoreError> {
    let text = "UPDATE employee SET name = name WHERE corp_id = $1 AND employee_key = $2";
    lock_rows(tx, text, &args![employee.corp(), employee.id()]).map(drop)
}

/// Whether an employee is enabled, and keeps that so until the transaction ends.
pub(crate) fn lock_enabled_employee(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool, StoreError> {
    let text = "UPDATE employee SET name = name WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL";
    Ok(lock_rows(tx, text, &args![employee.corp(), employee.id()])? == 1)
}

/// Whether an employee holds a role, and keeps that so until the transaction ends.
pub(crate) fn lock_role(tx: &Tx<'_>, employee: &EmployeeKey, role: Role) -> Result<bool, StoreError> {
    let text = "UPDATE user_role SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3";
    Ok(lock_rows(tx, text, &args![employee.corp(), employee.id(), role])? == 1)
}

/// Whether there is a record of which this is true, and keeps it as it is until the transaction ends.
pub(crate) fn lock_agent_where(tx: &Tx<'_>, which: &str, values: &[Value<'_>]) -> Result<bool, StoreError> {
    Ok(lock_rows(tx, &format!("UPDATE agent SET role_id = role_id WHERE {which}"), values)? == 1)
}

/// The role that the record lends, if it counts, and keeps that so until the transaction ends.
pub(crate) fn lock_default_role(tx: &Tx<'_>, key: &EmployeeKey) -> Result<Option<Role>, StoreError> {
    let text = "UPDATE agent SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL
        RETURNING role_id";
    lock_and_read(tx, text, &args![key.corp(), key.id()], |row| row.role(0))
}
