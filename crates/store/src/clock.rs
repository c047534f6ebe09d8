//! The recorded time, which is a lower bound for the clock at the start, and its repair.

use std::time::Duration;

use deskpass_core::{Digest, Timestamp, TotpStep};

use crate::cache::CacheChange;
use crate::database::{self, DirectReadError, Location, Mode, Sql, Tx, read_directly, require_known_version};
use crate::deny_list::{EndReason, deny};
use crate::login_log::first_id_at;
use crate::oidc::endings::end_with_deleted_sessions;
use crate::{LogEntry, Result, Store};

/// The time is recorded every minute, so a log row that is newer than the record by more than this has a wrong time.
const MAX_LEAD_OVER_RECORD: Duration = Duration::from_mins(10);

/// What a repair of the clock found and changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockRepair {
    /// Number of ended sessions: those with a start in the future.
    pub sessions: usize,
    /// Number of other records that were reset: those with an expiry, a delay or a lease in the future.
    pub others: usize,
    /// Number of log rows with a time in the future. They are not changed.
    pub log_rows: usize,
}

/// The time by the clock of the shared database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseTime {
    /// The time.
    pub at: Timestamp,
    /// Whether the database is on another machine, as far as the connection tells. On this machine it has the same clock.
    pub on_other_machine: bool,
}

impl Store {
    /// The time by the clock of the shared database; `None` if the database is not shared.
    pub async fn database_time(&self) -> Result<Option<DatabaseTime>> {
        // A Unix socket has no address.
        let text = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
            CASE WHEN inet_server_addr() IS NULL OR inet_server_addr() <<= inet '127.0.0.0/8'
            OR host(inet_server_addr()) IN ('::1', host(inet_client_addr())) THEN 0 ELSE 1 END";
        self.database
            .read(move |sql| match sql {
                Sql::Sqlite(_) => Ok(None),
                Sql::Postgres(_) => sql.first(text, &[], |row| {
                    Ok(DatabaseTime { at: row.timestamp(0)?, on_other_machine: row.int(1)? == 1 })
                }),
            })
            .await
    }

    /// Records the time, in case the clock is behind at the next start.
    pub async fn record_time(&self, now: Timestamp) -> Result<()> {
        self.database.write(move |tx| tx.execute(database::RECORD_TIME, &args![now]).map(drop)).await
    }

    /// The latest recorded time, a lower bound for the clock at the start. `None` if nothing was ever recorded.
    pub async fn latest_recorded_time(&self) -> Result<Option<Timestamp>> {
        self.database.read(latest_recorded_time).await
    }

    /// Records `now`, replacing any recorded time, and resets records with a time in the future: sessions end, since they
    /// would live too long; delays, leases and notices count from now. The log keeps its rows, and gets `entry`.
    pub async fn repair_clock(&self, now: Timestamp, deny_until: Timestamp, entry: LogEntry) -> Result<ClockRepair> {
        self.database
            .write(move |tx| {
                // A later version may have times that this program does not know, and would leave in the future.
                require_known_version(tx)?;
                tx.execute("UPDATE probe SET at = $1", &args![now])?;
                let sessions = end_sessions(tx, now, deny_until)?;
                let others = reset_future_times(tx, now)?;
                let text = "SELECT COUNT(*) FROM login_log WHERE id > $1";
                let log_rows =
                    tx.first(text, &args![&*first_id_at(now + MAX_LEAD_OVER_RECORD)], |row| row.int(0))?.unwrap_or(0);
                let repaired = ClockRepair { sessions, others, log_rows: usize::try_from(log_rows).unwrap_or(0) };
                let detail =
                    format!("{sessions} session(s) ended, {log_rows} row(s) of the audit log have a later time");
                entry.clone().with_detail(detail).write(tx)?;
                Ok(repaired)
            })
            .await
    }
}

/// The latest recorded time, read next to a running service.
pub async fn read_latest_recorded_time(location: &Location, mode: Mode) -> Result<Option<Timestamp>, DirectReadError> {
    read_directly(location, mode, latest_recorded_time).await
}

fn latest_recorded_time(sql: &Sql<'_>) -> Result<Option<Timestamp>> {
    let recorded =
        sql.first("SELECT MAX(at) FROM probe", &[], |row| row.timestamp(0))?.unwrap_or(Timestamp::from_millis(0));
    // Log rows that a wrong clock wrote stay in the log, but do not count. Before a time is recorded, all rows count.
    let before =
        if recorded.millis() == 0 { Timestamp::from_millis(i64::MAX) } else { recorded + MAX_LEAD_OVER_RECORD };
    let text = "SELECT at FROM login_log WHERE id < $1 ORDER BY id DESC LIMIT 1";
    let logged = sql.first(text, &args![&*first_id_at(before)], |row| row.timestamp(0))?;
    let newest = logged.map_or(recorded, |logged| logged.max(recorded));
    Ok((newest.millis() > 0).then_some(newest))
}

fn end_sessions(tx: &mut Tx<'_>, now: Timestamp, deny_until: Timestamp) -> Result<usize> {
    let text = "DELETE FROM session WHERE created_at > $1 RETURNING digest";
    let latest = now + MAX_LEAD_OVER_RECORD;
    let ended = tx.rows(text, &args![latest], |row| Ok(Digest::from_text(&row.text(0)?)))?;
    let count = ended.len();
    for digest in ended.into_iter().flatten() {
        deny(tx, digest, EndReason::Kicked, deny_until)?;
    }
    end_with_deleted_sessions(tx, now)?;
    Ok(count)
}

/// Resets all other records to which a wrong clock gave an expiry, a delay or a lease in the future. Each statement takes
/// the current time and the latest time that a correct clock could have written.
fn reset_future_times(tx: &mut Tx<'_>, now: Timestamp) -> Result<usize> {
    let (soon, hours) = (now + MAX_LEAD_OVER_RECORD, |hours| now + Duration::from_hours(hours));
    let step = |at| Timestamp::from_millis(TotpStep::at(at).number());
    let statements = [
        ("UPDATE chore SET until = $1 WHERE until > $2", now, hours(1)),
        ("UPDATE user_role SET until = $1 WHERE until > $2", now, hours(31 * 24)),
        ("UPDATE session SET seen_at = $1 WHERE seen_at > $2", now, soon),
        ("UPDATE employee SET last_login_at = $1 WHERE last_login_at > $2", now, soon),
        ("UPDATE employee SET checked_at = $1 WHERE checked_at > $2", now, soon),
        ("UPDATE employee SET joined_at = $1 WHERE joined_at > $2", now, soon),
        ("UPDATE employee SET tried_at = $1 WHERE tried_at > $2", now, soon),
        ("UPDATE employee SET holder_since_at = $1 WHERE holder_since_at > $2", now, soon),
        ("UPDATE employee SET left_at = $1 WHERE left_at > $2", now, soon),
        ("UPDATE employee_network SET seen_at = $1 WHERE seen_at > $2", now, soon),
        // Those of the statistics are kept for a day.
        ("UPDATE used_once SET until = $1 WHERE until > $2", hours(1), hours(25)),
        ("UPDATE half_session SET expires_at = $1 WHERE expires_at > $2", now, hours(1)),
        ("UPDATE bind_proof SET expires_at = $1 WHERE expires_at > $2", now, hours(1)),
        ("UPDATE known_browser SET expires_at = $1 WHERE expires_at > $2", now, hours(91 * 24)),
        ("UPDATE guess SET last_at = $1 WHERE last_at > $2", now, now),
        ("UPDATE notice SET at = $1 WHERE at > $2", now, soon),
        ("UPDATE notice SET due_at = $1 WHERE due_at > $2", now, hours(2)),
        ("UPDATE platform_event SET received_at = $1 WHERE received_at > $2", now, soon),
        ("UPDATE platform_event SET happened_at = $1 WHERE happened_at > $2", now, soon),
        ("UPDATE identifier_change SET changed_at = $1 WHERE changed_at > $2", now, soon),
        ("UPDATE platform_event SET due_at = $1 WHERE due_at > $2", now, hours(2)),
        ("UPDATE oidc_logout SET at = $1 WHERE at > $2", now, soon),
        ("UPDATE oidc_logout SET due_at = $1 WHERE due_at > $2", now, hours(2)),
        ("UPDATE oidc_token SET used_at = $1 WHERE used_at > $2", now, soon),
        ("UPDATE oidc_token SET expires_at = $1 WHERE kind = 'access' AND expires_at > $2", now, hours(1)),
        ("UPDATE oidc_client SET old_secret_until = $1 WHERE old_secret_until > $2", now, hours(8 * 24)),
        (
            "UPDATE oidc_key SET active_from = active_from - created_at + $1, created_at = $1 WHERE created_at > $2",
            now,
            soon,
        ),
        ("UPDATE agent SET setup_code_until = $1 WHERE setup_code_until > $2", now, hours(25)),
        ("UPDATE agent SET otp_setup_code_until = $1 WHERE otp_setup_code_until > $2", now, hours(25)),
        ("UPDATE agent SET otp_pending_until = $1 WHERE otp_pending_until > $2", now, hours(1)),
        // One step later, so that no code is accepted that may have been used.
        ("UPDATE agent SET otp_step = $1 + 1 WHERE otp_step > $2 + 1", step(now), step(now)),
        (
            "UPDATE service_key SET expires_at = expires_at - created_at + $1, created_at = $1 WHERE created_at > $2",
            now,
            soon,
        ),
    ];
    let mut changed = 0;
    for (text, now, latest) in statements {
        changed += tx.execute(text, &args![now, latest])?;
    }
    // What chores remember contains times that only they can read: they begin anew.
    changed += tx.execute("UPDATE chore SET state = NULL WHERE state IS NOT NULL", &[])?;
    tx.record_change(CacheChange::Rules);
    Ok(changed)
}
