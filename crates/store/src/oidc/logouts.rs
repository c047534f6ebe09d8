//! Ends of sessions that clients are to be told: written with the end, delivered later.

use std::collections::BTreeMap;
use std::sync::Arc;

use deskpass_core::Timestamp;
use tokio::sync::Notify;

use crate::database::Row;
use crate::{Result, Store};

/// The end of a session that a client is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutNotice {
    /// The identifier by which the client knows the session.
    pub sid: String,
    /// The client.
    pub client_id: String,
    /// The identifier by which clients know the employee.
    pub subject: String,
    /// When the session ended.
    pub at: Timestamp,
    /// The number of failed attempts to deliver it.
    pub tries: i64,
    /// The result of the last attempt, or empty.
    pub status: String,
}

/// The ends of sessions that a client was not told yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutBacklog {
    /// The client.
    pub client_id: String,
    /// Their number.
    pub count: usize,
    /// The oldest of them.
    pub oldest: Timestamp,
    /// The result of the last attempt at the newest of them that was tried, or empty.
    pub last_status: String,
}

/// Walks from client to client in the index, and reads the earliest row of each: one client may have very many.
pub(super) const DUE_CLIENTS: &str = "WITH RECURSIVE waiting (id) AS (SELECT MIN(client_id) FROM oidc_logout
    UNION ALL SELECT (SELECT MIN(l.client_id) FROM oidc_logout l WHERE l.client_id > waiting.id) FROM waiting
    WHERE waiting.id IS NOT NULL)
    SELECT id FROM waiting WHERE (SELECT MIN(l.due_at) FROM oidc_logout l WHERE l.client_id = waiting.id) <= $1
    ORDER BY id LIMIT $2";

/// The next due rows of a client.
pub(super) const DUE_OF_CLIENT: &str =
    "SELECT sid FROM oidc_logout WHERE client_id = $1 AND due_at <= $2 ORDER BY due_at, sid LIMIT $3";

/// Those that wait for the longest time.
pub(super) const OLDEST: &str = "SELECT client_id, at, status FROM oidc_logout ORDER BY at, sid LIMIT $1";

const POSTPONE: &str = "UPDATE oidc_logout SET due_at = $3, tries = tries + 1, status = $4 WHERE sid = $1 AND at = $2";

/// The most rows that are counted.
const MAX_COUNTED: i64 = 10_000;

impl Store {
    /// Notified whenever this node has committed that clients are to be told of the end of sessions.
    #[must_use]
    pub fn logouts_due(&self) -> Arc<Notify> {
        Arc::clone(&self.cache.logouts_due)
    }

    /// The clients that are due to be told of the end of a session, registered or not, by identifier; at most `limit`.
    pub async fn due_logout_clients(&self, now: Timestamp, limit: i64) -> Result<Vec<String>> {
        self.database.read(move |sql| sql.rows(DUE_CLIENTS, &args![now, limit], |row| row.text(0))).await
    }

    /// Claims up to `limit` ends of sessions that a client is due to be told, for this node until `until`; then they are due again.
    pub async fn claim_logouts_of(
        &self,
        client_id: String,
        now: Timestamp,
        until: Timestamp,
        limit: i64,
    ) -> Result<Vec<LogoutNotice>> {
        self.database.write(move |tx| tx.rows(&claim(), &args![&*client_id, now, limit, until], notice)).await
    }

    /// Counts an attempt to deliver the end of a session that failed, and postpones it, unless another end has replaced it.
    pub async fn postpone_logout(&self, sid: String, at: Timestamp, until: Timestamp, status: String) -> Result<()> {
        self.database.write(move |tx| tx.execute(POSTPONE, &args![&*sid, at, until, &*status]).map(drop)).await
    }

    /// Removes the end of a session that was delivered, or is given up, unless another end has replaced it.
    pub async fn delete_logout(&self, sid: String, at: Timestamp) -> Result<()> {
        let text = "DELETE FROM oidc_logout WHERE sid = $1 AND at = $2";
        self.database.write(move |tx| tx.execute(text, &args![&*sid, at]).map(drop)).await
    }

    /// The ends of sessions that are not delivered yet, by client; counting stops at ten thousand.
    pub async fn pending_logouts(&self) -> Result<Vec<LogoutBacklog>> {
        let read = |row: &Row<'_>| Ok((row.text(0)?, row.timestamp(1)?, row.text(2)?));
        let pending = self.database.read(move |sql| sql.rows(OLDEST, &args![MAX_COUNTED], read)).await?;
        let mut clients = BTreeMap::<String, LogoutBacklog>::new();
        for (client_id, at, status) in pending {
            let none =
                || LogoutBacklog { client_id: client_id.clone(), count: 0, oldest: at, last_status: String::new() };
            let backlog = clients.entry(client_id.clone()).or_insert_with(none);
            backlog.count += 1;
            if !status.is_empty() {
                backlog.last_status = status;
            }
        }
        Ok(clients.into_values().collect())
    }
}

/// The update postpones them, so a second node finds them postponed even if both nodes saw them due.
pub(super) fn claim() -> String {
    format!(
        "UPDATE oidc_logout SET due_at = $4 WHERE sid IN ({DUE_OF_CLIENT}) AND due_at <= $2
         RETURNING sid, client_id, subject, at, tries, status"
    )
}

fn notice(row: &Row<'_>) -> Result<LogoutNotice> {
    Ok(LogoutNotice {
        sid: row.text(0)?,
        client_id: row.text(1)?,
        subject: row.text(2)?,
        at: row.timestamp(3)?,
        tries: row.int(4)?,
        status: row.text(5)?,
    })
}
