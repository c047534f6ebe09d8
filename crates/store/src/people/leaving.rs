//! People who left, according to the platform, and those who came back. It is apart from being disabled by an administrator.

use std::fmt::Write as _;

use deskpass_core::{Digest, EmployeeKey, LeftReason, Role, Timestamp};

use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::directory::{ListedPerson, entry_of_ending, find, is_last_administrator};
use crate::locks::lock_administration;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{LogEntry, Result, Store};

/// The number of employees of a corporation who leave in one transaction, which shares the writer with sign-ins.
const BATCH_PEOPLE: i64 = 100;

/// The number of digits of a row's identifier that stay when rows are made from a template: the time, and some of the random ones.
const KEPT_ID_DIGITS: usize = 16;

/// An employee who left.
#[derive(Clone, Debug)]
pub struct Leaving {
    /// The employee.
    pub employee: EmployeeKey,
    /// Why they may not sign in.
    pub why: LeftReason,
    /// How long the digests of the ended sessions are denied.
    pub deny_until: Timestamp,
    /// The audit event. Its time is since when they left.
    pub entry: LogEntry,
}

/// Outcome of recording that an employee left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOutcome {
    /// The employee left, and this many sessions ended.
    Ended(usize),
    /// The employee had left before, and nothing changed.
    AlreadyLeft,
    /// There is no such employee.
    Unknown,
}

impl Store {
    /// Records that an employee left, ends their sessions, and logs it. The last administrator leaves as well; then the log says it.
    pub async fn mark_left(&self, leaving: Leaving) -> Result<LeftOutcome> {
        self.database
            .write(move |tx| {
                let outcomes = leave(tx, vec![&leaving])?;
                Ok(outcomes.into_iter().next().unwrap_or(LeftOutcome::Unknown))
            })
            .await
    }

    /// Records that an employee who left is back, and logs it; `false`, with no change, when the employee had not left. An employee whom
    /// an administrator disabled stays disabled.
    pub async fn mark_returned(&self, employee: EmployeeKey, at: Timestamp, entry: LogEntry) -> Result<bool> {
        self.database
            .write(move |tx| {
                let text = "UPDATE employee SET left_at = NULL, left_why = NULL, checked_at = $3
                    WHERE corp_id = $1 AND employee_key = $2 AND left_at IS NOT NULL";
                if tx.execute(text, &args![employee.corp(), employee.id(), at])? == 0 {
                    return Ok(false);
                }
                tx.record_change(CacheChange::Person(employee.clone()));
                entry.write(tx)?;
                Ok(true)
            })
            .await
    }

    /// Records that all employees of a corporation left, since it is no longer connected, each with a row of the log that is made from
    /// `entry_template`; returns their number. If the store fails, some may have left already: a second call continues.
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
            let Some(batch) = batch else { return Ok(left) };
            left += batch;
        }
    }
}

/// Records that some employees of a corporation left; returns how many, and `None` if all of them had left before.
fn leave_corporation(tx: &mut Tx<'_>, corp: &str, deny_until: Timestamp, template: &LogEntry) -> Result<Option<usize>> {
    let text =
        "SELECT employee_key FROM employee WHERE corp_id = $1 AND left_at IS NULL ORDER BY employee_key LIMIT $2";
    let employees =
        tx.rows(text, &args![corp, BATCH_PEOPLE], |row| Ok(EmployeeKey::from_parts(corp, &row.text(0)?)))?;
    let leaving = |employee: EmployeeKey| {
        let (why, entry) = (LeftReason::CorporationRemoved, from_template(template, &employee));
        Leaving { employee, why, deny_until, entry }
    };
    let leaving: Vec<_> = employees.into_iter().map(leaving).collect();
    if leaving.is_empty() {
        return Ok(None);
    }
    let outcomes = leave(tx, leaving.iter().collect())?;
    Ok(Some(outcomes.into_iter().filter(|outcome| matches!(outcome, LeftOutcome::Ended(_))).count()))
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

/// Records that employees left, ends their sessions, and logs it; returns the outcomes in the order of the employees.
pub(super) fn leave(tx: &mut Tx<'_>, mut leaving: Vec<&Leaving>) -> Result<Vec<LeftOutcome>> {
    // In one order in all transactions, so that two of them do not block each other.
    leaving.sort_by(|one, other| {
        let (one, other) = (&one.employee, &other.employee);
        (one.corp(), one.id()).cmp(&(other.corp(), other.id()))
    });
    let text = "SELECT 1 FROM user_role WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3";
    for Leaving { employee, .. } in leaving.iter().copied() {
        if tx.exists(text, &args![employee.corp(), employee.id(), Role::Admin])? {
            // Before the rows of employees, and only for administrators: many others may leave at once.
            lock_administration(tx)?;
            break;
        }
    }
    let (mut outcomes, mut entries) = (Vec::with_capacity(leaving.len()), Vec::<LogEntry>::new());
    for leaving in leaving {
        let (outcome, entry) = leave_one(tx, leaving)?;
        outcomes.push(outcome);
        entries.extend(entry);
    }
    LogEntry::write_all(tx, entries)?;
    Ok(outcomes)
}

/// Records that an employee left and ends their sessions; returns the row of the log, which is written later.
fn leave_one(tx: &mut Tx<'_>, leaving: &Leaving) -> Result<(LeftOutcome, Option<LogEntry>)> {
    let Leaving { employee, why, deny_until, entry } = leaving;
    let Some(ListedPerson { person, .. }) = find(tx, employee)? else { return Ok((LeftOutcome::Unknown, None)) };
    let last = is_last_administrator(tx, &person)?;
    // A sign-in that is under way has locked this row, or waits for it: no session begins unseen.
    let text = "UPDATE employee SET left_at = $3, left_why = $4
        WHERE corp_id = $1 AND employee_key = $2 AND left_at IS NULL";
    if tx.execute(text, &args![employee.corp(), employee.id(), entry.at, why.name()])? == 0 {
        return Ok((LeftOutcome::AlreadyLeft, None));
    }
    tx.record_change(CacheChange::Person(employee.clone()));
    let ended = end_sessions_of(tx, employee, SessionScope::All, (EndReason::Left, *deny_until), entry.at)?;
    let entry = entry.clone().with_detail(why.name().to_owned());
    Ok((LeftOutcome::Ended(ended), Some(entry_of_ending(&entry, ended, last))))
}
