//! The sweep: one node removes expired rows for all nodes, in small batches.

use std::time::Duration;

use deskpass_core::{Digest, Timestamp};

use crate::cache::CacheChange;
use crate::database::{SqlValue, Tx, sweep_journal};
use crate::oidc::endings::end_with_swept_sessions;
use crate::oidc::sweep_removed_clients;
use crate::people::EVENT_RETENTION;
use crate::sessions::NETWORK_RETENTION;
use crate::{Result, Store, agents};

/// Retention of a notice that could not be delivered, and of the end of a session that a client could not be told.
const NOTICE_RETENTION: Duration = Duration::from_hours(48);
const STATISTICS_RETENTION: Duration = Duration::from_hours(400 * 24);

impl Store {
    /// Removes up to `batch` sessions and partial sessions that ended before `ended`, and as many expired rows of each
    /// other kind; returns the number of removed rows. Small batches do not delay sign-ins, which share the writer.
    pub async fn sweep(&self, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize> {
        // In its own transaction, so that a failure of either does not affect the other.
        let seen = self.database.shared().and_then(|shared| shared.reader.sweep_horizon());
        let swept_journal = self.database.write(move |tx| sweep_journal(tx, seen.as_deref())).await;
        let swept_journal =
            swept_journal.inspect_err(|error| tracing::warn!(%error, "could not sweep the journal")).unwrap_or(0);
        let removed =
            self.database.write(move |tx| Ok(sweep_sessions(tx, now, ended, batch)? + sweep(tx, now, ended, batch)?));
        Ok(swept_journal + removed.await?)
    }

    /// Sweeps the journal as if every node had read what was visible in this snapshot.
    #[doc(hidden)]
    pub async fn sweep_journal_seen_by(&self, snapshot: String) -> Result<usize> {
        self.database.write(move |tx| sweep_journal(tx, Some(&snapshot))).await
    }
}

const DELETE_SESSIONS: &str =
    "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE expires_at <= $1 LIMIT $2) RETURNING digest";

fn sweep_sessions(tx: &mut Tx<'_>, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize> {
    // Unreadable rows are removed as well.
    let expired = tx.rows(DELETE_SESSIONS, &args![ended, batch], |row| Ok(Digest::from_text(&row.text(0)?)))?;
    let removed = expired.len();
    for digest in expired.into_iter().flatten() {
        tx.record_change(CacheChange::SessionSwept(digest));
    }
    Ok(removed + end_with_swept_sessions(tx, ended, batch, now)? + sweep_removed_clients(tx, batch)?)
}

/// The statements that remove expired rows of all other tables: each with the name of the table, and the time in it.
fn other_deletions(now: Timestamp, ended: Timestamp) -> [(&'static str, String, Timestamp); 12] {
    let tables = [
        ("denied_token", "digest", "until <= $1", now),
        ("bind_proof", "digest", "expires_at <= $1", now),
        ("used_once", "digest", "until <= $1", now),
        ("half_session", "digest", "expires_at <= $1", ended),
        ("known_browser", "digest, corp_id, employee_key", "expires_at <= $1", now),
        ("notice", "id", "at <= $1", now - NOTICE_RETENTION),
        ("oidc_token", "digest", "expires_at <= $1", now),
        ("oidc_browser", "digest", "expires_at <= $1", now),
        ("oidc_logout", "sid", "at <= $1", now - NOTICE_RETENTION),
        ("platform_event", "digest", "received_at <= $1", now - EVENT_RETENTION),
        ("sign_in_count", "hour", "hour < $1", now - STATISTICS_RETENTION),
        ("employee_network", "corp_id, employee_key, network", "seen_at <= $1", now - NETWORK_RETENTION),
    ];
    tables.map(|(table, key, has_expired, at)| {
        let expired = format!("SELECT {key} FROM {table} WHERE {has_expired} LIMIT $2");
        (table, format!("DELETE FROM {table} WHERE ({key}) IN ({expired})"), at)
    })
}

fn sweep(tx: &Tx<'_>, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize> {
    let mut removed = 0;
    for (_, text, at) in other_deletions(now, ended) {
        removed += tx.execute(&text, &args![at, batch])?;
    }
    Ok(removed + agents::sweep_failed_attempts(tx, now, batch)?)
}

/// The statements of the sweep, each with its name and values, for the test that requires them to use an index.
pub(crate) fn statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let (now, batch) = (Timestamp::from_millis(1_000), 500_i64);
    let sessions = ("session", DELETE_SESSIONS.to_owned(), args![now, batch].to_vec());
    let others = other_deletions(now, now).map(|(table, text, at)| (table, text, args![at, batch].to_vec()));
    std::iter::once(sessions).chain(others).collect()
}
