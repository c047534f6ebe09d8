//! Events that the platform sent by itself: each is accepted once, and handled later by one node. An employee who left is locked out in the
//! transaction that accepts the event, or soon afterwards if very many left at once.

use std::collections::HashSet;
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, LeftReason, Timestamp};

use super::leaving::{Leaving, LeftOutcome, leave};
use crate::database::{Row, Sql, SqlValue, Tx, in_snapshot};
use crate::due_time::due_at_once;
use crate::{Result, Store};

/// How long an event is recognised when it is delivered again.
pub(crate) const EVENT_RETENTION: Duration = Duration::from_hours(72);

/// The number of rows that one statement inserts.
const INSERTED_ROWS: usize = 100;

/// The values of the column `urgent`.
const IMMEDIATE: i64 = 2;
const URGENT: i64 = 1;
const OTHERS: i64 = 0;

/// The next due events of an urgency.
pub(super) const DUE_EVENTS: &str =
    "SELECT digest FROM platform_event WHERE urgent = $3 AND due_at <= $1 ORDER BY due_at, digest LIMIT $2";

/// The next events of an urgency that are not handled, the first due ones first.
pub(super) const PENDING_OF: &str = "SELECT change, received_at, COALESCE(happened_at, received_at), due_at, digest
    FROM platform_event WHERE urgent = $1 AND due_at IS NOT NULL AND (due_at, digest) > ($2, $3)
    ORDER BY due_at, digest LIMIT $4";
const PENDING_PAGE_SIZE: usize = 500;

/// The events whose person is still to be locked out.
pub(super) const LOCKS_DUE: &str = "SELECT digest, change, received_at, tries, COALESCE(happened_at, received_at)
    FROM platform_event WHERE to_lock = 1 ORDER BY received_at, digest LIMIT $1";

/// An event that the platform sent.
#[derive(Clone, Debug)]
pub struct ReceivedEvent {
    /// Digest of its de-duplication key.
    pub digest: Digest,
    /// The event, as JSON. The store does not read it.
    pub change: String,
    /// When it happened, as far as the platform says so.
    pub happened_at: Timestamp,
    /// Whether it is handled before those that are not urgent.
    pub is_urgent: bool,
    /// Whether it is handled before all others: the platform need not be asked about it, or what others are about depends on it.
    pub is_immediate: bool,
    /// The employee who left according to the event. Until it is handled, no record of this employee begins enabled.
    pub leaver: Option<EmployeeKey>,
    /// How to lock that employee out at once. Without it, the employee is one of [`Store::leavers_to_lock`].
    pub leaving: Option<Leaving>,
}

impl ReceivedEvent {
    /// The value of the column `urgent`.
    const fn urgency(&self) -> i64 {
        match (self.is_immediate, self.is_urgent) {
            (true, _) => IMMEDIATE,
            (false, true) => URGENT,
            (false, false) => OTHERS,
        }
    }
}

/// What accepting events changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    /// For each event, whether it is new.
    pub is_new: Vec<bool>,
    /// The employees who were locked out.
    pub left: Vec<(EmployeeKey, LeftReason)>,
}

/// An event that this node handles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedEvent {
    /// Digest of its de-duplication key.
    pub digest: Digest,
    /// The event, as JSON.
    pub change: String,
    /// When it was received.
    pub received_at: Timestamp,
    /// The number of attempts to handle it, with this one.
    pub tries: i64,
    /// When it happened: at the latest, when it was received.
    pub happened_at: Timestamp,
}

/// An event that is not handled yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEvent {
    /// The event, as JSON.
    pub change: String,
    /// When it was received.
    pub received_at: Timestamp,
    /// When it happened: at the latest, when it was received.
    pub happened_at: Timestamp,
}

impl Store {
    /// Accepts events, and locks out the employees who left according to those that are new. If the store fails, the platform must
    /// send all of them again. Give few of them a [`ReceivedEvent::leaving`]: they share one transaction.
    pub async fn receive_events(&self, events: Vec<ReceivedEvent>, now: Timestamp) -> Result<Reception> {
        self.database.write(move |tx| receive(tx, &events, now)).await
    }

    /// Up to `limit` events whose person is still to be locked out, the oldest first.
    pub async fn leavers_to_lock(&self, limit: i64) -> Result<Vec<ClaimedEvent>> {
        self.database.read(move |sql| sql.rows(LOCKS_DUE, &args![limit], claimed)).await
    }

    /// Locks out the people of such events, each once; for `None` there is nobody to lock out. Returns those who were locked out.
    pub async fn lock_leavers(
        &self,
        mut waiting: Vec<(Digest, Option<Leaving>)>,
    ) -> Result<Vec<(EmployeeKey, LeftReason)>> {
        // In one order on all nodes, so that two of them do not wait for each other.
        waiting.sort_by_key(|(digest, _)| *digest.bytes());
        let text = "UPDATE platform_event SET to_lock = 0 WHERE digest = $1 AND to_lock = 1";
        self.database
            .write(move |tx| {
                let mut leaving = Vec::<&Leaving>::new();
                for (digest, who) in &waiting {
                    if tx.execute(text, &args![*digest])? == 1 {
                        leaving.extend(who);
                    }
                }
                Ok(locked_out(leave(tx, leaving)?))
            })
            .await
    }

    /// Claims up to `limit` due events for this node until `until`, the most urgent and then the oldest first; then they are due again.
    pub async fn claim_events(&self, now: Timestamp, until: Timestamp, limit: i64) -> Result<Vec<ClaimedEvent>> {
        let mut claimed = Vec::new();
        for urgency in [IMMEDIATE, URGENT, OTHERS] {
            let rest = limit.saturating_sub(i64::try_from(claimed.len()).unwrap_or(i64::MAX));
            if rest > 0 {
                claimed.extend(self.claim(urgency, now, until, rest).await?);
            }
        }
        Ok(claimed)
    }

    /// All events that are to be handled before all others and are not handled yet.
    pub async fn pending_immediate_events(&self) -> Result<Vec<PendingEvent>> {
        self.database.read(move |sql| in_snapshot(sql, pending_events)).await
    }

    async fn claim(&self, urgency: i64, now: Timestamp, until: Timestamp, limit: i64) -> Result<Vec<ClaimedEvent>> {
        // Usually there are none, and a read does not wait for the writer.
        if !self.database.read(move |sql| sql.exists(DUE_EVENTS, &args![now, 1_i64, urgency])).await? {
            return Ok(Vec::new());
        }
        let claimed = self.database.write(move |tx| tx.rows(&claim(), &args![now, limit, urgency, until], claimed));
        let mut claimed = claimed.await?;
        claimed.sort_by_key(|event| (event.happened_at, event.received_at));
        Ok(claimed)
    }

    /// Records that an event was handled. Its content is removed.
    pub async fn finish_event(&self, digest: Digest) -> Result<()> {
        let text = "UPDATE platform_event SET change = '', due_at = NULL, to_lock = 0 WHERE digest = $1";
        self.database.write(move |tx| tx.execute(text, &args![digest]).map(drop)).await
    }

    /// Postpones an event that could not be handled.
    pub async fn postpone_event(&self, digest: Digest, until: Timestamp) -> Result<()> {
        let text = "UPDATE platform_event SET due_at = $2 WHERE digest = $1 AND due_at IS NOT NULL";
        self.database.write(move |tx| tx.execute(text, &args![digest, until]).map(drop)).await
    }
}

/// The update postpones them, so a second node finds them postponed even if both nodes saw them due.
pub(super) fn claim() -> String {
    format!(
        "UPDATE platform_event SET due_at = $4, tries = tries + 1 WHERE digest IN ({DUE_EVENTS}) AND due_at <= $1
         RETURNING digest, change, received_at, tries, COALESCE(happened_at, received_at)"
    )
}

fn claimed(row: &Row<'_>) -> Result<ClaimedEvent> {
    let (digest, change) = (row.digest(0)?, row.text(1)?);
    let (received_at, happened_at) = (row.timestamp(2)?, row.timestamp(4)?);
    Ok(ClaimedEvent { digest, change, received_at, tries: row.int(3)?, happened_at })
}

/// Reads the pending events page by page, so that none is left out however many there are.
fn pending_events(sql: &Sql<'_>) -> Result<Vec<PendingEvent>> {
    let limit = i64::try_from(PENDING_PAGE_SIZE).unwrap_or(i64::MAX);
    let (mut found, mut after) = (Vec::new(), (Timestamp::from_millis(i64::MIN), Digest::from_bytes([0; 32])));
    loop {
        let page = sql.rows(PENDING_OF, &args![IMMEDIATE, after.0, after.1, limit], pending)?;
        let is_last = page.len() < PENDING_PAGE_SIZE;
        for (event, place) in page {
            found.push(event);
            after = place;
        }
        if is_last {
            return Ok(found);
        }
    }
}

fn pending(row: &Row<'_>) -> Result<(PendingEvent, (Timestamp, Digest))> {
    let (change, received_at, happened_at) = (row.text(0)?, row.timestamp(1)?, row.timestamp(2)?);
    Ok((PendingEvent { change, received_at, happened_at }, (row.timestamp(3)?, row.digest(4)?)))
}

fn receive(tx: &mut Tx<'_>, events: &[ReceivedEvent], now: Timestamp) -> Result<Reception> {
    // Of two concurrent deliveries of an event, the second waits here. In one order, so that they do not wait for each other.
    let mut sorted: Vec<_> = events.iter().enumerate().collect();
    sorted.sort_by_key(|(_, event)| *event.digest.bytes());
    let mut new = HashSet::new();
    for some in sorted.chunks(INSERTED_ROWS) {
        new.extend(insert(tx, some, now)?);
    }
    let (mut is_new, mut leaving) = (Vec::with_capacity(events.len()), Vec::<&Leaving>::new());
    for (at, event) in sorted {
        // One delivery may contain the same event twice.
        let is_first = new.remove(event.digest.bytes());
        is_new.push((at, is_first));
        leaving.extend(event.leaving.as_ref().filter(|_| is_first));
    }
    let left = locked_out(leave(tx, leaving)?);
    is_new.sort_unstable_by_key(|(at, _)| *at);
    Ok(Reception { is_new: is_new.into_iter().map(|(_, is_new)| is_new).collect(), left })
}

/// Inserts events; returns the digests of those that are new.
fn insert(tx: &Tx<'_>, events: &[(usize, &ReceivedEvent)], now: Timestamp) -> Result<Vec<[u8; 32]>> {
    let row = |row: usize| {
        let value = |number: usize| format!("${}", 7 * row + 3 + number);
        let [digest, change, urgent, corp, key, to_lock, happened_at] = [0, 1, 2, 3, 4, 5, 6].map(value);
        format!("({digest}, {change}, $1, $2, {urgent}, {corp}, {key}, {to_lock}, {happened_at})")
    };
    let text = format!(
        "INSERT INTO platform_event (digest, change, received_at, due_at, urgent, corp_id, employee_key, to_lock,
         happened_at) VALUES {} ON CONFLICT (digest) DO NOTHING RETURNING digest",
        (0..events.len()).map(row).collect::<Vec<_>>().join(", ")
    );
    let mut values = vec![SqlValue::from(now), SqlValue::from(due_at_once(now))];
    for (_, event) in events {
        let ReceivedEvent { digest, change, leaver, leaving, happened_at, .. } = event;
        let (corp, key) = leaver.as_ref().map(|leaver| (leaver.corp(), leaver.id())).unzip();
        let to_lock = leaver.is_some() && leaving.is_none();
        values.extend(args![*digest, &**change, event.urgency(), corp, key, to_lock, *happened_at]);
    }
    Ok(tx.rows(&text, &values, |row| row.digest(0))?.iter().map(|digest| *digest.bytes()).collect())
}

/// The people of these outcomes who were locked out.
fn locked_out(outcomes: Vec<(&Leaving, LeftOutcome)>) -> Vec<(EmployeeKey, LeftReason)> {
    let ended = outcomes.into_iter().filter(|(_, outcome)| matches!(outcome, LeftOutcome::Ended(_)));
    ended.map(|(leaving, _)| (leaving.employee.clone(), leaving.why)).collect()
}
