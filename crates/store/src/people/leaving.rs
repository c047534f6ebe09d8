//! People who left, according to the platform, and those who came back. It is apart from being disabled by an administrator.
//!
//! What the platform says is as old as the question. So `left_at` is when the platform said that the person left, and a return or
//! departure that was asked about before the last news changes nothing.

use deskpass_core::{EmployeeKey, LeftReason, Role, Timestamp};

use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::directory::{ListedPerson, entry_of_ending, find, is_last_administrator};
use crate::locks::{lock_administration, lock_employee};
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{LogEntry, Result, Store};

/// An employee who left.
#[derive(Clone, Debug)]
pub struct Leaving {
    /// The employee.
    pub employee: EmployeeKey,
    /// Why they may not sign in.
    pub why: LeftReason,
    /// When the platform was asked, just before; `None` if it said so by itself.
    pub asked_at: Option<Timestamp>,
    /// Since when they are gone: when the platform was asked, or when it happened.
    pub left_at: Timestamp,
    /// How long the digests of the ended sessions are denied.
    pub deny_until: Timestamp,
    /// The audit event.
    pub entry: LogEntry,
}

/// Outcome of recording that an employee left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOutcome {
    /// The employee left, and this many sessions ended.
    Ended(usize),
    /// The employee had left before, and only the time changed.
    AlreadyLeft,
    /// The platform was asked again later and said that the employee is active, or an event said that
    /// they came later, and nothing changed.
    ActiveSince,
    /// There is no such employee.
    Unknown,
}

impl Store {
    /// Records that an employee left, ends their sessions, and logs it, unless the platform said later that they are active. The last
    /// administrator leaves as well; then the log says it.
    pub async fn mark_left(&self, leaving: Leaving) -> Result<LeftOutcome> {
        self.database
            .write(move |tx| {
                let outcomes = leave(tx, vec![&leaving])?;
                Ok(outcomes.first().map_or(LeftOutcome::Unknown, |(_, outcome)| *outcome))
            })
            .await
    }

    /// Records that an employee who left is back, and logs it; `false`, with no change, when the employee had not left, or left after
    /// the platform was asked, at `asked_at`, or waits until their new identifier is known: then the
    /// answer is about the next holder. An employee whom an administrator disabled stays disabled.
    pub async fn mark_returned(&self, employee: EmployeeKey, asked_at: Timestamp, entry: LogEntry) -> Result<bool> {
        self.database
            .write(move |tx| {
                // In one order with what makes the employee wait.
                lock_employee(tx, &employee)?;
                if waits(tx, &employee)? || !lift(tx, &employee, asked_at)? {
                    return Ok(false);
                }
                entry.write(tx)?;
                Ok(true)
            })
            .await
    }

    /// Records when an employee came, according to an event: no departure from before that counts any more.
    pub async fn note_joined(&self, employee: EmployeeKey, joined_at: Timestamp) -> Result<()> {
        let text = "UPDATE employee SET joined_at = $3
            WHERE corp_id = $1 AND employee_key = $2 AND COALESCE(joined_at, 0) < $3";
        let work = move |tx: &mut Tx<'_>| tx.execute(text, &args![employee.corp(), employee.id(), joined_at]).map(drop);
        self.database.write(work).await
    }

    /// Records that an employee who left is back, whenever they left, since an operator says so, and logs it; `false`, with no change,
    /// when the employee had not left.
    pub async fn readmit(&self, employee: EmployeeKey, entry: LogEntry) -> Result<bool> {
        self.database
            .write(move |tx| {
                if !lift_any(tx, &employee, entry.at)? {
                    return Ok(false);
                }
                entry.write(tx)?;
                Ok(true)
            })
            .await
    }
}

/// Records that an employee who left is back, whenever they left; whether that changes anything.
fn lift_any(tx: &mut Tx<'_>, employee: &EmployeeKey, at: Timestamp) -> Result<bool> {
    // The clock of the node that recorded the departure may be ahead.
    let text = "SELECT left_at FROM employee WHERE corp_id = $1 AND employee_key = $2 AND left_at IS NOT NULL";
    lock_employee(tx, employee)?;
    let Some(left_at) = tx.first(text, &args![employee.corp(), employee.id()], |row| row.timestamp(0))? else {
        return Ok(false);
    };
    let is_back = lift(tx, employee, left_at.max(at))?;
    // If the change is still to be handled, the next attempt locks the employee again.
    let text = "UPDATE identifier_change SET waits = 0 WHERE corp_id = $1 AND employee_key = $2 AND waits = 1";
    tx.execute(text, &args![employee.corp(), employee.id()])?;
    Ok(is_back)
}

/// Whether an employee is locked until it is known which identifier they have now. However long that
/// lasts, whoever comes meanwhile is the next holder of the identifier.
fn waits(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM identifier_change WHERE corp_id = $1 AND employee_key = $2 AND waits = 1";
    tx.exists(text, &args![employee.corp(), employee.id()])
}

/// Records that an employee who left before `asked_at` is back; whether that changes anything. At the same millisecond the question
/// was later: the platform had sent its event before that.
pub(super) fn lift(tx: &mut Tx<'_>, employee: &EmployeeKey, asked_at: Timestamp) -> Result<bool> {
    let text = "UPDATE employee SET left_at = NULL, left_why = NULL,
        checked_at = CASE WHEN COALESCE(checked_at, 0) < $3 THEN $3 ELSE checked_at END,
        tried_at = CASE WHEN COALESCE(tried_at, 0) < $3 THEN $3 ELSE tried_at END
        WHERE corp_id = $1 AND employee_key = $2 AND left_at <= $3";
    forget_moved_holder(tx, employee)?;
    if tx.execute(text, &args![employee.corp(), employee.id(), asked_at])? == 0 {
        return Ok(false);
    }
    tx.record_change(CacheChange::Person(employee.clone()));
    Ok(true)
}

/// Forgets who held the identifier of a record that is empty, since its person has another one: a node of version 0.2.0, which empties
/// records as well, leaves that.
fn forget_moved_holder(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<()> {
    let text = "UPDATE employee SET holder = NULL, claimant = NULL, unconfirmed_at = NULL
        WHERE corp_id = $1 AND employee_key = $2 AND left_why = $3 AND NOT EXISTS (SELECT 1 FROM identifier_change c
        WHERE c.corp_id = $1 AND c.employee_key = $2 AND c.waits = 1)";
    tx.execute(text, &args![employee.corp(), employee.id(), LeftReason::Renamed.name()]).map(drop)
}

/// Records that employees left, ends their sessions, and logs it; returns the outcome for each.
pub(super) fn leave<'a>(tx: &mut Tx<'_>, mut leaving: Vec<&'a Leaving>) -> Result<Vec<(&'a Leaving, LeftOutcome)>> {
    // In one order in all transactions, so that two of them do not block each other.
    leaving.sort_by(|one, other| {
        let (one, other) = (&one.employee, &other.employee);
        (one.corp(), one.id()).cmp(&(other.corp(), other.id()))
    });
    let text = "SELECT 1 FROM user_role WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3";
    for Leaving { employee, .. } in &leaving {
        if tx.exists(text, &args![employee.corp(), employee.id(), Role::Admin])? {
            // Before the rows of employees, and only for administrators: many others may leave at once.
            lock_administration(tx)?;
            break;
        }
    }
    let (mut outcomes, mut entries) = (Vec::with_capacity(leaving.len()), Vec::<LogEntry>::new());
    for leaving in leaving {
        let (outcome, entry) = leave_one(tx, leaving)?;
        outcomes.push((leaving, outcome));
        entries.extend(entry);
    }
    LogEntry::write_all(tx, &entries.iter().collect::<Vec<_>>())?;
    Ok(outcomes)
}

/// Records that an employee left and ends their sessions; returns the row of the log, which is written later.
pub(super) fn leave_one(tx: &mut Tx<'_>, leaving: &Leaving) -> Result<(LeftOutcome, Option<LogEntry>)> {
    let Leaving { employee, why, asked_at, left_at, deny_until, entry } = leaving;
    let Some(ListedPerson { person, .. }) = find(tx, employee)? else { return Ok((LeftOutcome::Unknown, None)) };
    let last = is_last_administrator(tx, &person)?;
    let (corp, id, said_at) = (employee.corp(), employee.id(), *left_at);
    let not_after = asked_at.unwrap_or(Timestamp::from_millis(i64::MAX));
    // A sign-in that is under way has locked this row, or waits for it: no session begins unseen.
    let text = "UPDATE employee SET left_at = $3, left_why = $4
        WHERE corp_id = $1 AND employee_key = $2 AND left_at IS NULL AND COALESCE(checked_at, 0) <= $5
        AND COALESCE(joined_at, 0) <= $3";
    if tx.execute(text, &args![corp, id, said_at, why.name(), not_after])? == 0 {
        // The platform says it again: a return that it was asked about before that does not count any more.
        let text = "UPDATE employee SET left_at = CASE WHEN left_at < $3 THEN $3 ELSE left_at END
            WHERE corp_id = $1 AND employee_key = $2 AND left_at IS NOT NULL";
        let has_left = tx.execute(text, &args![corp, id, said_at])? == 1;
        return Ok((if has_left { LeftOutcome::AlreadyLeft } else { LeftOutcome::ActiveSince }, None));
    }
    tx.record_change(CacheChange::Person(employee.clone()));
    let ended = end_sessions_of(tx, employee, SessionScope::All, (EndReason::Left, *deny_until), entry.at)?;
    let entry = entry.clone().with_detail(why.name().to_owned());
    Ok((LeftOutcome::Ended(ended), Some(entry_of_ending(&entry, ended, last))))
}
