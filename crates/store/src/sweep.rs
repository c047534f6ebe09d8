//! The sweep: one node removes expired rows for all nodes, in small batches.

use std::time::Duration;

use deskpass_core::{Digest, Timestamp};

use crate::cache::CacheChange;
use crate::database::{SqlValue, Tx, sweep_journal};
use crate::oidc::endings::{OF_SWEPT_SESSIONS, end_with_swept_sessions};
use crate::oidc::{SWEEP_REMOVED_CLIENTS, sweep_removed_clients};
use crate::people::EVENT_RETENTION;
use crate::sessions::NETWORK_RETENTION;
use crate::{Result, Store, agents};

/// Retention of a notice that could not be delivered, and of the end of a session that a client could not be told.
const NOTICE_RETENTION: Duration = Duration::from_hours(48);
const STATISTICS_RETENTION: Duration = Duration::from_hours(400 * 24);

const SWEEP_SESSIONS: &str =
    "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE expires_at <= $1 LIMIT $2)
    RETURNING digest";

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

fn sweep_sessions(tx: &mut Tx<'_>, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize> {
    // Unreadable rows are removed as well.
    let expired = tx.rows(SWEEP_SESSIONS, &args![ended, batch], |row| Ok(Digest::from_text(&row.text(0)?)))?;
    let removed = expired.len();
    for digest in expired.into_iter().flatten() {
        tx.record_change(CacheChange::SessionSwept(digest));
    }
    Ok(removed + end_with_swept_sessions(tx, ended, batch, now)? + sweep_removed_clients(tx, batch)?)
}

/// A table with rows that expire: its name, its key, the condition by which a row has expired, and the time of the condition.
type ExpiringTable = (&'static str, &'static str, &'static str, Timestamp);

/// All other tables with rows that expire.
fn expiring_tables(now: Timestamp, ended: Timestamp) -> [ExpiringTable; 12] {
    [
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
    ]
}

fn sweep_table((table, key, has_expired, _): ExpiringTable) -> String {
    let expired = format!("SELECT {key} FROM {table} WHERE {has_expired} LIMIT $2");
    format!("DELETE FROM {table} WHERE ({key}) IN ({expired})")
}

fn sweep(tx: &Tx<'_>, now: Timestamp, ended: Timestamp, batch: i64) -> Result<usize> {
    let mut removed = 0;
    for table in expiring_tables(now, ended) {
        removed += tx.execute(&sweep_table(table), &args![table.3, batch])?;
    }
    Ok(removed + agents::sweep_failed_attempts(tx, now, batch)?)
}

/// The statements of the sweep, each with its name and values, for the test that requires them to use an index.
pub(crate) fn statements() -> Vec<(String, String, Vec<SqlValue<'static>>)> {
    let (at, batch) = (Timestamp::from_millis(1_000), 10_i64);
    let [few_attempts, many_attempts] = agents::sweep_attempts_statements();
    let mut statements = vec![
        ("sweep session".to_owned(), SWEEP_SESSIONS.to_owned(), args![at, batch].to_vec()),
        ("sweep oidc_client".to_owned(), SWEEP_REMOVED_CLIENTS.to_owned(), args![batch].to_vec()),
        (
            "sweep oidc_grant".to_owned(),
            format!("DELETE FROM oidc_grant WHERE {OF_SWEPT_SESSIONS}"),
            args![at, batch].to_vec(),
        ),
        ("sweep guess, few".to_owned(), few_attempts, args![at, batch].to_vec()),
        ("sweep guess, many".to_owned(), many_attempts, args![at, batch].to_vec()),
    ];
    let tables = expiring_tables(at, at)
        .map(|table| (format!("sweep {}", table.0), sweep_table(table), args![at, batch].to_vec()));
    statements.extend(tables);
    statements
}
