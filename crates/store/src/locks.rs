//! Row locks: each keeps rows unchanged until the transaction ends. `change_author` defines the lock order.

use deskpass_core::{EmployeeKey, Role};

use crate::StoreError;
use crate::database::{Row, Tx, Value};

/// Locks the rows that `update` selects until the transaction ends; returns their number.
///
/// `update` sets a column to its current value. It replaces `SELECT … FOR UPDATE`, which SQLite does not have: PostgreSQL
/// locks the updated rows, and in SQLite there is only one writing transaction anyway.
pub(crate) fn lock_rows(tx: &Tx<'_>, update: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
    tx.execute(update, values)
}

/// Locks a row like [`lock_rows`] and reads the `RETURNING` columns of `update`; `None` when there is no such row.
pub(crate) fn lock_and_read<T>(
    tx: &Tx<'_>,
    update: &str,
    values: &[Value<'_>],
    read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    tx.first(update, values, read)
}

/// Serialises changes to rules and administrators, since each of them depends on the result of the others.
pub(crate) fn lock_administration(tx: &Tx<'_>) -> Result<(), StoreError> {
    lock_rows(tx, "UPDATE role SET name = name WHERE id = 1", &[]).map(drop)
}

/// Locks an employee and their agent record until the transaction ends, whether or not they are enabled.
pub(crate) fn lock_agent_and_employee(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<(), StoreError> {
    lock_agent(tx, employee)?;
    lock_employee(tx, employee)
}

/// Only for the lock order: a sign-in with a password locks this row before that of the employee.
pub(crate) fn lock_agent(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<(), StoreError> {
    let text = "UPDATE agent SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2";
    lock_rows(tx, text, &args![employee.corp(), employee.id()]).map(drop)
}

/// Locks an employee until the transaction ends, whether or not they are enabled.
pub(crate) fn lock_employee(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<(), StoreError> {
    let text = "UPDATE employee SET name = name WHERE corp_id = $1 AND employee_key = $2";
    lock_rows(tx, text, &args![employee.corp(), employee.id()]).map(drop)
}

/// Whether an employee is enabled; locks the row until the transaction ends.
pub(crate) fn lock_enabled_employee(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool, StoreError> {
    let text = "UPDATE employee SET name = name WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL";
    Ok(lock_rows(tx, text, &args![employee.corp(), employee.id()])? == 1)
}

/// Whether an employee holds a role; locks the assignment until the transaction ends.
pub(crate) fn lock_role(tx: &Tx<'_>, employee: &EmployeeKey, role: Role) -> Result<bool, StoreError> {
    let text = "UPDATE user_role SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3";
    Ok(lock_rows(tx, text, &args![employee.corp(), employee.id(), role])? == 1)
}

/// Whether an agent record matches this condition; locks it until the transaction ends.
pub(crate) fn lock_agent_where(tx: &Tx<'_>, which: &str, values: &[Value<'_>]) -> Result<bool, StoreError> {
    Ok(lock_rows(tx, &format!("UPDATE agent SET role_id = role_id WHERE {which}"), values)? == 1)
}

/// The default role of the agent record, if it is enabled; locks the record until the transaction ends.
pub(crate) fn lock_default_role(tx: &Tx<'_>, key: &EmployeeKey) -> Result<Option<Role>, StoreError> {
    let text = "UPDATE agent SET role_id = role_id WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL
        RETURNING role_id";
    lock_and_read(tx, text, &args![key.corp(), key.id()], |row| row.role(0))
}
