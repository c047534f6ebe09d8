//! Whom to ask the platform about: employees with live sessions, those whom it was not asked about for the longest time first.
//!
//! Most employees have no session. Those who may have one are marked when they sign in (`watched`), and the mark is removed when they
//! are found without one: so however many employees there are, few rows are looked at.

use deskpass_core::{EmployeeKey, Timestamp};

use crate::database::{Row, Sql, SqlValue, Tx};
use crate::{Result, Store};

/// How many more people than wanted are looked at, since some of them have no session any more.
const EXTRA_PEOPLE: i64 = 100;

/// How many times people without a session are set aside before the search ends. The next one continues.
const MAX_ROUNDS: usize = 20;

/// How many people a transaction sets aside.
const SET_ASIDE_AT_ONCE: usize = 100;

/// A person who may have a session.
struct Watched {
    employee: EmployeeKey,
    employee_id: String,
    is_signed_in: bool,
}

impl Store {
    /// Employees of a corporation with a live session, who have not left, and whom the platform was last asked about before `before`: each
    /// with the identifier as the corporation writes it, the longest ago first, at most `limit`.
    pub async fn people_to_check(
        &self,
        corp: String,
        before: Timestamp,
        now: Timestamp,
        limit: i64,
    ) -> Result<Vec<(EmployeeKey, String)>> {
        let (text, wanted) = (watched_people(limit), usize::try_from(limit).unwrap_or(0));
        let mut found = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let (text, of) = (text.clone(), corp.clone());
            let people = self.database.read(move |sql| sql.rows(&text, &args![&*of, before, now], watched)).await?;
            let (signed_in, absent): (Vec<_>, Vec<_>) = people.into_iter().partition(|person| person.is_signed_in);
            found = signed_in.into_iter().map(|person| (person.employee, person.employee_id)).collect();
            let is_enough = absent.is_empty() || found.len() >= wanted;
            let absent: Vec<_> = absent.into_iter().map(|person| person.employee.id().to_owned()).collect();
            self.unwatch(&corp, &absent, now).await?;
            if is_enough {
                break;
            }
        }
        found.truncate(wanted);
        Ok(found)
    }

    /// Removes the mark from employees of a corporation who have no live session, a few in each transaction.
    async fn unwatch(&self, corp: &str, ids: &[String], now: Timestamp) -> Result<()> {
        for some in ids.chunks(SET_ASIDE_AT_ONCE) {
            let (corp, some) = (corp.to_owned(), some.to_vec());
            self.database.write(move |tx| set_aside(tx, &corp, &some, now)).await?;
        }
        Ok(())
    }

    /// Records that the platform, asked at this time, said that employees are active.
    pub async fn mark_checked(&self, mut employees: Vec<EmployeeKey>, at: Timestamp) -> Result<()> {
        sort(&mut employees);
        // No cached record has the time, so none changes.
        let text = "UPDATE employee SET checked_at = $3,
            tried_at = CASE WHEN COALESCE(tried_at, 0) < $3 THEN $3 ELSE tried_at END
            WHERE corp_id = $1 AND employee_key = $2 AND COALESCE(checked_at, 0) < $3";
        self.mark(text, employees, at).await
    }

    /// Records that the platform was asked about employees at this time, and did not say that they are active.
    pub async fn mark_tried(&self, mut employees: Vec<EmployeeKey>, at: Timestamp) -> Result<()> {
        sort(&mut employees);
        let text = "UPDATE employee SET tried_at = $3
            WHERE corp_id = $1 AND employee_key = $2 AND COALESCE(tried_at, 0) < $3";
        self.mark(text, employees, at).await
    }

    async fn mark(&self, text: &'static str, employees: Vec<EmployeeKey>, at: Timestamp) -> Result<()> {
        self.database
            .write(move |tx| {
                employees.iter().try_for_each(|key| tx.execute(text, &args![key.corp(), key.id(), at]).map(drop))
            })
            .await
    }
}

/// Removes the mark from those of these employees who have no live session. Those whose rows are in use keep it until the next search:
/// a sign-in that is under way has locked the row, and its session is not seen yet.
fn set_aside(tx: &Tx<'_>, corp: &str, ids: &[String], now: Timestamp) -> Result<()> {
    let lock = if let Sql::Postgres(_) = **tx { " FOR NO KEY UPDATE SKIP LOCKED" } else { "" };
    let text = format!(
        "SELECT employee_key FROM employee WHERE corp_id = $1 AND employee_key IN ({}){lock}",
        placeholders(2, ids.len())
    );
    let mut values = vec![SqlValue::from(corp)];
    values.extend(ids.iter().map(|id| SqlValue::from(&**id)));
    let locked = tx.rows(&text, &values, |row| row.text(0))?;
    if locked.is_empty() {
        return Ok(());
    }
    // A statement of its own, which sees the session of a sign-in that ended just before. The session is a subquery for the same reason
    // as below.
    let text = format!(
        "UPDATE employee SET watched = 0 WHERE corp_id = $1 AND employee_key IN ({}) AND
         (SELECT s.digest FROM session s WHERE s.corp_id = employee.corp_id AND s.employee_key = employee.employee_key
         AND s.expires_at > $2 LIMIT 1) IS NULL",
        placeholders(3, locked.len())
    );
    let mut values = args![corp, now].to_vec();
    values.extend(locked.iter().map(|id| SqlValue::from(&**id)));
    tx.execute(&text, &values).map(drop)
}

/// The placeholders of so many values, beginning with this number.
fn placeholders(first: usize, count: usize) -> String {
    (first..first + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

/// In one order in all transactions, so that two of them do not block each other.
fn sort(employees: &mut [EmployeeKey]) {
    employees.sort_by(|one, other| (one.corp(), one.id()).cmp(&(other.corp(), other.id())));
}

fn watched(row: &Row<'_>) -> Result<Watched> {
    Ok(Watched { employee: row.employee(0)?, employee_id: row.text(2)?, is_signed_in: !row.is_null(3)? })
}

/// Walks the index `employee_by_check`, and looks for a session of each employee. The session is a subquery in the result: a database
/// might turn a condition on its existence into a join of whole tables. For the same reason the limit is a literal.
pub(super) fn watched_people(limit: i64) -> String {
    let limit = limit.max(0).saturating_add(EXTRA_PEOPLE);
    format!(
        "SELECT e.corp_id, e.employee_key, e.employee_id, (SELECT s.digest FROM session s WHERE s.corp_id = e.corp_id
         AND s.employee_key = e.employee_key AND s.expires_at > $3 LIMIT 1) FROM employee e
         WHERE e.corp_id = $1 AND e.left_at IS NULL AND e.watched = 1 AND COALESCE(e.tried_at, 0) < $2
         ORDER BY COALESCE(e.tried_at, 0), e.employee_key LIMIT {limit}"
    )
}
