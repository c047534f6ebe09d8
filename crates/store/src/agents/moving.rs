//! The agent record of a person who has another identifier now. Credentials do not move: whoever knew or had them may be another person
//! by then, and so may the next one with the old identifier.

use deskpass_core::{EmployeeKey, Role, Timestamp};

use crate::Result;
use crate::database::Tx;

/// Gives an employee an agent record like that of another employee, who has one, but without credentials. A record that the employee
/// has already stays as it is. The caller holds the locks of both.
pub(crate) fn move_record(tx: &Tx<'_>, from: &EmployeeKey, to: &EmployeeKey, at: Timestamp) -> Result<()> {
    let text = "INSERT INTO agent (corp_id, employee_key, role_id, created_at, disabled_at)
        SELECT $3, $4, role_id, $5, disabled_at FROM agent WHERE corp_id = $1 AND employee_key = $2 AND device_only = 0
        ON CONFLICT (corp_id, employee_key) DO UPDATE SET role_id = excluded.role_id,
        created_at = excluded.created_at, disabled_at = excluded.disabled_at, device_only = 0, password_hash = NULL,
        setup_code = NULL WHERE agent.device_only = 1";
    tx.execute(text, &args![from.corp(), from.id(), to.corp(), to.id(), at]).map(drop)
}

/// Deletes the agent record of an employee: password, device, recovery codes, known browsers and codes for a setup. The caller has ended
/// the partial sessions.
pub(crate) fn end_credentials(tx: &Tx<'_>, key: &EmployeeKey) -> Result<()> {
    for table in ["recovery_code", "known_browser", "half_session", "agent"] {
        let text = format!("DELETE FROM {table} WHERE corp_id = $1 AND employee_key = $2");
        tx.execute(&text, &args![key.corp(), key.id()])?;
    }
    Ok(())
}

/// Whether an employee has a password or a device, or needs a setup code for another one.
pub(crate) fn has_credentials(tx: &Tx<'_>, key: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM agent WHERE corp_id = $1 AND employee_key = $2
        AND (password_hash IS NOT NULL OR otp_secret IS NOT NULL OR code_needed = 1)";
    tx.exists(text, &args![key.corp(), key.id()])
}

/// Has an employee need an administrator's setup code for a first password or device. A setup that has begun is over. The caller holds
/// the lock of the record, and there is an employee.
pub(crate) fn require_code(tx: &Tx<'_>, key: &EmployeeKey, at: Timestamp) -> Result<()> {
    let text = "INSERT INTO agent (corp_id, employee_key, role_id, created_at, disabled_at, device_only, code_needed)
        VALUES ($1, $2, $3, $4, $4, 1, 1) ON CONFLICT (corp_id, employee_key) DO UPDATE SET code_needed = 1,
        otp_pending = NULL, otp_pending_until = NULL, otp_pending_by = NULL WHERE agent.otp_secret IS NULL";
    tx.execute(text, &args![key.corp(), key.id(), Role::User, at]).map(drop)
}
