//! Whom to ask the platform about: employees with live sessions, those who were not checked for the longest time first.

use deskpass_core::{EmployeeKey, Timestamp};

use crate::{Result, Store};

impl Store {
    /// Employees of a corporation with a live session, who are enabled, have not left, and were last checked before `before`: each with
    /// the identifier as the corporation writes it, the longest unchecked first, at most `limit`.
    pub async fn people_to_check(
        &self,
        corp: String,
        before: Timestamp,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<(EmployeeKey, String)>> {
        let text = people_to_check(limit);
        self.database
            .read(move |sql| sql.rows(&text, &args![&*corp, before, now], |row| Ok((row.employee(0)?, row.text(2)?))))
            .await
    }

    /// Records that the platform said at this time that employees are active.
    pub async fn mark_checked(&self, mut employees: Vec<EmployeeKey>, at: Timestamp) -> Result<()> {
        // In one order in all transactions, so that two of them do not block each other.
        employees.sort_by(|one, other| (one.corp(), one.id()).cmp(&(other.corp(), other.id())));
        // No cached record has the time, so none changes.
        let text = "UPDATE employee SET checked_at = $3
            WHERE corp_id = $1 AND employee_key = $2 AND COALESCE(checked_at, 0) < $3";
        self.database
            .write(move |tx| {
                employees.iter().try_for_each(|key| tx.execute(text, &args![key.corp(), key.id(), at]).map(drop))
            })
            .await
    }
}

/// Walks the index `employee_by_check`, and looks for a session of each employee. The session is a subquery that is NULL or not: a
/// database might turn a condition on its existence into a join of whole tables. For the same reason the limit is a literal.
pub(super) fn people_to_check(limit: i64) -> String {
    let limit = limit.max(0);
    format!(
        "SELECT e.corp_id, e.employee_key, e.employee_id FROM employee e
         WHERE e.corp_id = $1 AND e.left_at IS NULL AND COALESCE(e.checked_at, 0) < $2 AND e.disabled_at IS NULL
         AND (SELECT s.digest FROM session s WHERE s.corp_id = e.corp_id AND s.employee_key = e.employee_key
         AND s.expires_at > $3 LIMIT 1) IS NOT NULL
         ORDER BY COALESCE(e.checked_at, 0), e.employee_key LIMIT {limit}"
    )
}
