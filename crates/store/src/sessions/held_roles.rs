//! The roles that an employee holds while a session begins.

use deskpass_core::Roles;

use super::new_session::NewSession;
use crate::Result;
use crate::database::Tx;

const HELD: &str = "SELECT role_id FROM user_role WHERE corp_id = $1 AND employee_key = $2
    AND (by_hand = 1 OR by_rule = 1 OR until IS NULL OR until > $3)
    AND NOT EXISTS (SELECT 1 FROM employee e WHERE e.corp_id = $1 AND e.employee_key = $2 AND e.unconfirmed_at IS NOT NULL)";

/// The roles that the employee of a session holds when it begins. The caller has locked the employee, so they stay as they are read here.
pub(super) fn held_roles(tx: &Tx<'_>, NewSession { session, .. }: &NewSession) -> Result<Roles> {
    let values = args![session.employee.corp(), session.employee.id(), session.created_at];
    Ok(tx.rows(HELD, &values, |row| row.role(0))?.into_iter().collect())
}
