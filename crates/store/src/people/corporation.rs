//! A connected corporation that was removed: its employees leave, and nobody acts as another employee through it any more.

use std::fmt::Write as _;

use deskpass_core::{Digest, EmployeeKey, LeftReason, Timestamp};

use super::leaving::{Leaving, LeftOutcome, leave};
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{AuditEvent, LogEntry, Result, Store};

/// The number of employees in one transaction, which shares the writer with sign-ins.
const BATCH_PEOPLE: usize = 100;

/// The number of digits of a row's identifier that stay when rows are made from a template: the time, and some of the random ones.
const KEPT_ID_DIGITS: usize = 16;

impl Store {
    /// Records that all employees of a corporation left, since it is no longer connected, and ends the sessions that began through one
    /// of its identities; each with a row of the log that is made from `entry_template`. Its links stay approved, and take effect again
    /// when their user names the employee again. Returns the number of employees who left. If the store fails, some may have left
    /// already: a second call continues.
    pub async fn mark_corporation_left(
        &self,
        corp: String,
        deny_until: Timestamp,
        entry_template: LogEntry,
    ) -> Result<usize> {
        let mut left = 0;
        loop {
            let (corp, template) = (corp.clone(), entry_template.clone());
            let batch = self.database.write(move |tx| leave_corporation(tx, &corp, deny_until, &template)).await?;
            let Some(batch) = batch else { break };
            left += batch;
        }
        for targets in self.unbind_links(corp.clone()).await?.chunks(BATCH_PEOPLE) {
            let (corp, targets, template) = (corp.clone(), targets.to_vec(), entry_template.clone());
            self.database.write(move |tx| end_linked(tx, &corp, &targets, deny_until, &template)).await?;
        }
        Ok(left)
    }

    /// Has no identity of a corporation begin a session; returns the employees whom its identities may act as, in order.
    async fn unbind_links(&self, corp: String) -> Result<Vec<EmployeeKey>> {
        self.database
            .write(move |tx| {
                // Proofs before links, as a sign-in locks them.
                tx.execute("DELETE FROM bind_proof WHERE corp_id = $1", &args![&*corp])?;
                let text = "UPDATE link SET bound_at = NULL WHERE corp_id = $1 AND bound_at IS NOT NULL";
                tx.execute(text, &args![&*corp])?;
                let text = "SELECT DISTINCT target_corp_id, target_key FROM link WHERE corp_id = $1 ORDER BY 1, 2";
                tx.rows(text, &args![&*corp], |row| row.employee(0))
            })
            .await
    }
}

/// Records that some employees of a corporation left; returns how many, and `None` if all of them had left before.
fn leave_corporation(tx: &mut Tx<'_>, corp: &str, deny_until: Timestamp, template: &LogEntry) -> Result<Option<usize>> {
    let text =
        "SELECT employee_key FROM employee WHERE corp_id = $1 AND left_at IS NULL ORDER BY employee_key LIMIT $2";
    let limit = i64::try_from(BATCH_PEOPLE).unwrap_or(i64::MAX);
    let employees = tx.rows(text, &args![corp, limit], |row| Ok(EmployeeKey::from_parts(corp, &row.text(0)?)))?;
    let leaving = |employee: EmployeeKey| {
        let (why, entry) = (LeftReason::CorporationRemoved, from_template(template, &employee));
        Leaving { employee, why, asked_at: None, left_at: entry.at, deny_until, entry }
    };
    let leaving: Vec<_> = employees.into_iter().map(leaving).collect();
    if leaving.is_empty() {
        return Ok(None);
    }
    let outcomes = leave(tx, leaving.iter().collect())?;
    Ok(Some(outcomes.into_iter().filter(|(_, outcome)| matches!(outcome, LeftOutcome::Ended(_))).count()))
}

/// Ends the sessions of employees that began through a link. A session does not say through which one.
fn end_linked(
    tx: &mut Tx<'_>,
    corp: &str,
    targets: &[EmployeeKey],
    deny_until: Timestamp,
    template: &LogEntry,
) -> Result<()> {
    let mut entries = Vec::new();
    for target in targets {
        let why = (EndReason::Kicked, deny_until);
        let ended = end_sessions_of(tx, target, SessionScope::ThroughLink, why, template.at)?;
        if ended > 0 {
            let detail = format!("corporation {corp} removed; {ended} session(s) ended");
            let entry = LogEntry { event: AuditEvent::SessionsEnded, ..from_template(template, target) };
            entries.push(entry.with_detail(detail));
        }
    }
    LogEntry::write_all(tx, &entries.iter().collect::<Vec<_>>())
}

/// A row about an employee. The end of its identifier is made from that of the template, since the store has no randomness.
fn from_template(template: &LogEntry, employee: &EmployeeKey) -> LogEntry {
    let mut id: String = template.id.chars().take(KEPT_ID_DIGITS).collect();
    let digest = Digest::of(&[template.id.as_bytes(), employee.corp().as_bytes(), employee.id().as_bytes()]);
    for byte in digest.bytes().iter().take(template.id.len().saturating_sub(id.len()) / 2) {
        // Writing to a text does not fail.
        let _ = write!(id, "{byte:02x}");
    }
    LogEntry { id, about: employee.clone(), ..template.clone() }
}
