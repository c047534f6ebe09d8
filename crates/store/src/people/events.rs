//! Events that the platform sent by itself: each is accepted once, and handled later by one node. An employee who left is locked out in the
//! transaction that accepts the event.

use std::time::Duration;

use deskpass_core::{Digest, Timestamp};

use super::leaving::{Leaving, leave};
use crate::database::{Row, Tx};
use crate::{Result, Store};

/// How long an event is recognised when it is delivered again.
pub(crate) const EVENT_RETENTION: Duration = Duration::from_hours(72);

/// The most events that are counted.
const MAX_COUNTED: i64 = 10_000;

/// The next due events.
pub(super) const DUE_EVENTS: &str =
    "SELECT digest FROM platform_event WHERE due_at <= $1 ORDER BY due_at, digest LIMIT $2";

/// An event that the platform sent.
#[derive(Clone, Debug)]
pub struct ReceivedEvent {
    /// Digest of its de-duplication key.
    pub digest: Digest,
    /// The event, as JSON. The store does not read it.
    pub change: String,
    /// The employee who left according to the event.
    pub leaving: Option<Leaving>,
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
}

impl Store {
    /// Accepts events, and locks out the employees who left according to those that are new; returns for each whether it is new. If
    /// the store fails, the platform must send all of them again.
    pub async fn receive_events(&self, events: Vec<ReceivedEvent>, now: Timestamp) -> Result<Vec<bool>> {
        self.database.write(move |tx| receive(tx, &events, now)).await
    }

    /// Claims up to `limit` due events for this node until `until`, the oldest first; then they are due again.
    pub async fn claim_events(&self, now: Timestamp, until: Timestamp, limit: i64) -> Result<Vec<ClaimedEvent>> {
        // Usually there are none, and a read does not wait for the writer.
        if !self.database.read(move |sql| sql.exists(DUE_EVENTS, &args![now, 1_i64])).await? {
            return Ok(Vec::new());
        }
        // The update postpones them, so a second node finds them postponed even if both nodes saw them due.
        let text = format!(
            "UPDATE platform_event SET due_at = $3, tries = tries + 1 WHERE digest IN ({DUE_EVENTS}) AND due_at <= $1
             RETURNING digest, change, received_at, tries"
        );
        let read = |row: &Row<'_>| {
            let (digest, change) = (row.digest(0)?, row.text(1)?);
            Ok(ClaimedEvent { digest, change, received_at: row.timestamp(2)?, tries: row.int(3)? })
        };
        let claimed = self.database.write(move |tx| tx.rows(&text, &args![now, limit, until], read));
        let mut claimed = claimed.await?;
        claimed.sort_by_key(|event| event.received_at);
        Ok(claimed)
    }

    /// Records that an event was handled. Its content is removed.
    pub async fn finish_event(&self, digest: Digest) -> Result<()> {
        let text = "UPDATE platform_event SET change = '', due_at = NULL WHERE digest = $1";
        self.database.write(move |tx| tx.execute(text, &args![digest]).map(drop)).await
    }

    /// Postpones an event that could not be handled.
    pub async fn postpone_event(&self, digest: Digest, until: Timestamp) -> Result<()> {
        let text = "UPDATE platform_event SET due_at = $2 WHERE digest = $1 AND due_at IS NOT NULL";
        self.database.write(move |tx| tx.execute(text, &args![digest, until]).map(drop)).await
    }

    /// The number of events that are not handled yet; counting stops at ten thousand.
    pub async fn pending_events(&self) -> Result<usize> {
        let text =
            "SELECT COUNT(*) FROM (SELECT digest FROM platform_event WHERE due_at IS NOT NULL LIMIT $1) AS pending";
        let count = self.database.read(move |sql| sql.first(text, &args![MAX_COUNTED], |row| row.int(0))).await?;
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
    }
}

fn receive(tx: &mut Tx<'_>, events: &[ReceivedEvent], now: Timestamp) -> Result<Vec<bool>> {
    // Of two concurrent deliveries of an event, the second waits here. In one order, so that they do not wait for each other.
    let mut sorted: Vec<_> = events.iter().enumerate().collect();
    sorted.sort_by_key(|(_, event)| *event.digest.bytes());
    let text = "INSERT INTO platform_event (digest, change, received_at, due_at) VALUES ($1, $2, $3, $3)
        ON CONFLICT (digest) DO NOTHING";
    let (mut outcomes, mut leaving) = (Vec::with_capacity(events.len()), Vec::<&Leaving>::new());
    for (at, event) in sorted {
        let is_new = tx.execute(text, &args![event.digest, &*event.change, now])? == 1;
        outcomes.push((at, is_new));
        leaving.extend(event.leaving.as_ref().filter(|_| is_new));
    }
    leave(tx, leaving)?;
    outcomes.sort_unstable_by_key(|(at, _)| *at);
    Ok(outcomes.into_iter().map(|(_, is_new)| is_new).collect())
}
