//! Marks people about whom the platform is to be asked, and those whom it has shown.
//!
//! A sign-in marks the person as one who may have a session, but not at a node of a version before the mark: during an upgrade such nodes
//! go on working. So those who have a session and no mark are looked for.

use deskpass_core::EmployeeKey;

use crate::cache::CacheChange;
use crate::{Result, Store};

/// The number of people in a page, as in [`PEOPLE_WITH_SESSIONS`].
const PAGE_SIZE: usize = 1_000;

/// How many people are marked in a transaction.
const BATCH_SIZE: usize = 100;

/// A page of the people with sessions, and whether each has the mark. Looks up the next person in the index `session_of_employee`, however
/// many sessions a person has. The mark is a subquery in the result: a database might join whole tables otherwise.
pub(super) const PEOPLE_WITH_SESSIONS: &str = "WITH RECURSIVE person (employee_key, number) AS (
    SELECT (SELECT s.employee_key FROM session s WHERE s.corp_id = $1 AND s.employee_key > $2
    ORDER BY s.employee_key LIMIT 1), 1
    UNION ALL SELECT (SELECT s.employee_key FROM session s WHERE s.corp_id = $1 AND s.employee_key > person.employee_key
    ORDER BY s.employee_key LIMIT 1), number + 1 FROM person WHERE employee_key IS NOT NULL AND number < 1000)
    SELECT p.employee_key, COALESCE((SELECT e.watched FROM employee e WHERE e.corp_id = $1
    AND e.employee_key = p.employee_key), 1) FROM person p WHERE p.employee_key IS NOT NULL ORDER BY p.number";

impl Store {
    /// Marks people of a corporation who have a session and no mark, so that they are among [`Store::people_to_check`]. Looks at a thousand
    /// people with sessions after `after`; returns the last of them, or `None` at the end.
    pub async fn watch_people_with_sessions(&self, corp: String, after: Option<String>) -> Result<Option<String>> {
        let (of, after) = (corp.clone(), after.unwrap_or_default());
        let page = self.database.read(move |sql| {
            sql.rows(PEOPLE_WITH_SESSIONS, &args![&*of, &*after], |row| Ok((row.text(0)?, row.int(1)? == 1)))
        });
        let page = page.await?;
        let last = page.last().filter(|_| page.len() >= PAGE_SIZE).map(|(person, _)| person.clone());
        let mut unmarked: Vec<_> = page.into_iter().filter(|(_, watched)| !watched).map(|(person, _)| person).collect();
        // In one order in all transactions, so that two of them do not block each other.
        unmarked.sort_unstable();
        let text = "UPDATE employee SET watched = 1 WHERE corp_id = $1 AND employee_key = $2 AND watched = 0";
        for some in unmarked.chunks(BATCH_SIZE) {
            let (corp, some) = (corp.clone(), some.to_vec());
            let mark = self.database.write(move |tx| {
                some.iter().try_for_each(|person| tx.execute(text, &args![&*corp, &**person]).map(drop))
            });
            mark.await?;
        }
        Ok(last)
    }

    /// Records that the platform has shown an employee's record to the application.
    pub async fn mark_seen(&self, employee: EmployeeKey) -> Result<()> {
        let text = "UPDATE employee SET seen = 1 WHERE corp_id = $1 AND employee_key = $2 AND seen = 0";
        self.database
            .write(move |tx| {
                if tx.execute(text, &args![employee.corp(), employee.id()])? == 1 {
                    tx.record_change(CacheChange::Person(employee.clone()));
                }
                Ok(())
            })
            .await
    }
}
