//! Whose record an employee record is, after identifiers at the platform passed from one person to another.
//!
//! Events may come late, in any order, and more than once. So each is judged by when it happened: a record that was added later, or an
//! identifier that passed on since, is not about the person whom the event names.

use std::time::Duration;

use deskpass_core::{EmployeeKey, LeftReason, MAX_CLOCK_SKEW, Timestamp};

use crate::Result;
use crate::database::{Row, Sql, Tx};
use crate::directory::note_holder;

/// How far the clock of the platform and that of a node may be apart.
const CLOCK_SKEW: Duration = Duration::from_secs(2 * MAX_CLOCK_SKEW.as_secs());
/// Some platforms write times in whole seconds.
const EVENT_TIME_UNIT: Duration = Duration::from_secs(1);

/// Whose record the one under the former identifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OldRecord {
    /// That of the person who has another identifier now.
    Theirs,
    /// That of another person, or of no one any more; or there is none.
    Others,
    /// It was added about when the identifier changed.
    Unclear,
}

/// Whose record the one under the new identifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewRecord {
    /// There is none.
    None,
    /// No one's: its person has another identifier, and nothing is left of them.
    Empty,
    /// That of a former holder who left.
    Left,
    /// That of a former holder, who has no other identifier yet as far as is known.
    Former,
    /// That of the person who has this identifier now, and signed in under it before the event was
    /// handled; unless another person got it since, of which the event has not arrived.
    Theirs,
    /// It was added about when the identifier passed on again.
    Unclear,
    /// This event was handled before, or the identifier passed on since.
    PassedOn,
}

/// What is recorded about an identifier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identifier {
    record: Option<Record>,
    changed_at: Option<Timestamp>,
    /// Whether the employee is locked until their new identifier is known.
    pub(super) waits: bool,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    created_at: Timestamp,
    left_at: Option<Timestamp>,
    left: Option<LeftReason>,
}

impl Identifier {
    pub(super) fn read(sql: &Sql<'_>, key: &EmployeeKey) -> Result<Self> {
        let values = args![key.corp(), key.id()];
        let text = "SELECT created_at, left_at, left_why FROM employee WHERE corp_id = $1 AND employee_key = $2";
        let record = sql.first(text, &values, record)?;
        let text = "SELECT changed_at, waits FROM identifier_change WHERE corp_id = $1 AND employee_key = $2";
        let change = sql.first(text, &values, |row| Ok((row.timestamp(0)?, row.int(1)? == 1)))?;
        let (changed_at, waits) = change.unzip();
        Ok(Self { record, changed_at, waits: waits.unwrap_or(false) })
    }

    /// Whether its record was emptied when its person got another identifier.
    pub(super) fn is_empty(&self) -> bool {
        !self.waits && self.record.is_some_and(|record| record.left == Some(LeftReason::Renamed))
    }

    /// Whose record it is when an event says that its holder got another one at this time.
    pub(super) fn before(&self, happened_at: Timestamp) -> OldRecord {
        let Some(record) = self.record else { return OldRecord::Others };
        let passed_on = self.changed_at.is_some_and(|changed_at| changed_at >= happened_at);
        // Who left the corporation gets no other identifier: that is the next holder of this one.
        let had_left = record.left == Some(LeftReason::Left)
            && record.left_at.is_some_and(|left_at| left_at + CLOCK_SKEW < happened_at);
        if passed_on || had_left || self.is_empty() || record.created_at > happened_at + CLOCK_SKEW {
            OldRecord::Others
        } else if record.created_at > happened_at + EVENT_TIME_UNIT {
            OldRecord::Unclear
        } else {
            OldRecord::Theirs
        }
    }

    /// Whose record it is when an event says that a person got this identifier at this time, and an event
    /// that is not handled yet, that the person got another one at `onward_at`.
    pub(super) fn after(&self, happened_at: Timestamp, onward_at: Option<Timestamp>) -> NewRecord {
        let passed_on = |is_empty: bool| {
            // In the same second, the former holder may have got another identifier as well.
            self.changed_at.is_some_and(|changed_at| changed_at > happened_at || changed_at == happened_at && !is_empty)
        };
        let Some(record) = self.record else {
            return if passed_on(true) { NewRecord::PassedOn } else { NewRecord::None };
        };
        if passed_on(self.is_empty()) {
            NewRecord::PassedOn
        } else if self.is_empty() {
            NewRecord::Empty
        } else if record.created_at > happened_at + CLOCK_SKEW {
            match onward_at {
                Some(onward_at) if record.created_at > onward_at + CLOCK_SKEW => NewRecord::PassedOn,
                Some(onward_at) if record.created_at + CLOCK_SKEW > onward_at => NewRecord::Unclear,
                _ => NewRecord::Theirs,
            }
        } else if record.left.is_some() && !self.waits {
            NewRecord::Left
        } else {
            NewRecord::Former
        }
    }

    /// Whether its person left the corporation, or the application's range, after this time.
    pub(super) fn left_after(&self, at: Timestamp) -> bool {
        let has_left = |record: Record| {
            let is_gone = matches!(record.left, Some(LeftReason::Left | LeftReason::OutOfRange));
            is_gone && record.left_at.is_some_and(|left_at| left_at >= at)
        };
        !self.waits && self.record.is_some_and(has_left)
    }

    /// Whether a version that kept no times of changes has handled this event, or one after it.
    pub(super) fn was_handled_before(&self, happened_at: Timestamp) -> bool {
        let left_at = self.record.and_then(|record| record.left_at);
        self.is_empty() && self.changed_at.is_none() && left_at.is_some_and(|left_at| left_at >= happened_at)
    }
}

fn record(row: &Row<'_>) -> Result<Record> {
    let left = row.maybe_text(2)?.and_then(|why| LeftReason::from_name(&why));
    Ok(Record { created_at: row.timestamp(0)?, left_at: row.maybe_timestamp(1)?, left })
}

/// Records now that an identifier passed on at this time. Its employee does not wait any more.
pub(super) fn note_change(tx: &Tx<'_>, key: &EmployeeKey, at: Timestamp, now: Timestamp) -> Result<()> {
    let text = "INSERT INTO identifier_change (corp_id, employee_key, changed_at) VALUES ($1, $2, $3)
        ON CONFLICT (corp_id, employee_key) DO UPDATE SET waits = 0, changed_at = CASE
        WHEN excluded.changed_at > identifier_change.changed_at THEN excluded.changed_at
        ELSE identifier_change.changed_at END";
    tx.execute(text, &args![key.corp(), key.id(), at])?;
    note_holder(tx, key, now)
}

/// Records that the employee with an identifier waits until their new one is known.
pub(super) fn note_waiting(tx: &Tx<'_>, key: &EmployeeKey) -> Result<()> {
    let text = "INSERT INTO identifier_change (corp_id, employee_key, changed_at, waits) VALUES ($1, $2, $3, 1)
        ON CONFLICT (corp_id, employee_key) DO UPDATE SET waits = 1";
    tx.execute(text, &args![key.corp(), key.id(), Timestamp::from_millis(0)]).map(drop)
}
