//! Who may have a device: agents, and employees who hold a role other than `user`.
//!
//! The device of an employee who is no agent is in a row of its own kind (`device_only`), which is made when it is first
//! needed. For nodes of the previous version, which do not know the kind, it is a disabled record with the role `user`.

use deskpass_core::{EmployeeKey, Role, Timestamp};

use crate::Result;
use crate::database::{Sql, Tx};

/// Condition on an `agent` row: its owner may have a device. A disabled agent may not; the device of an employee who is no agent
/// depends on a role other than `user`. The parameters `$1` and `$2` name the employee.
pub(super) fn may_have_device() -> String {
    format!(
        "(device_only = 0 AND disabled_at IS NULL OR device_only = 1 AND EXISTS
        (SELECT 1 FROM user_role r WHERE r.corp_id = $1 AND r.employee_key = $2 AND r.role_id <> {}))",
        Role::User.id()
    )
}

/// What an employee's row in `agent` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// An agent record, enabled or disabled.
    Agent,
    /// A row for the device of an employee who is no agent.
    DeviceOnly,
}

/// The kind of the employee's row, if there is one.
pub(super) fn record_kind(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Option<RecordKind>> {
    let text = "SELECT device_only FROM agent WHERE corp_id = $1 AND employee_key = $2";
    sql.first(text, &args![key.corp(), key.id()], |row| {
        Ok(if row.int(0)? == 0 { RecordKind::Agent } else { RecordKind::DeviceOnly })
    })
}

/// Makes the row for the device of an employee who has none and holds a role other than `user`.
pub(super) fn ensure_row(tx: &Tx<'_>, key: &EmployeeKey, at: Timestamp) -> Result<()> {
    let text = "INSERT INTO agent (corp_id, employee_key, role_id, created_at, disabled_at, device_only)
        SELECT corp_id, employee_key, $3, $4, $4, 1 FROM employee WHERE corp_id = $1 AND employee_key = $2
        AND EXISTS (SELECT 1 FROM user_role r WHERE r.corp_id = $1 AND r.employee_key = $2 AND r.role_id <> $3)
        ON CONFLICT DO NOTHING";
    tx.execute(text, &args![key.corp(), key.id(), Role::User, at]).map(drop)
}
