//! The end of grants: with their session, or alone. Everything that deletes rows of sessions calls a function of this module in the
//! same transaction, so that no client keeps what it got, and every client is told.
//!
//! A grant begins and is refreshed only under a lock of its session's row. So a transaction that has deleted the row sees every grant
//! that began before, and none begins afterwards.

use std::collections::BTreeMap;

use deskpass_core::{Digest, EmployeeKey, Role, Timestamp};

use super::record::{BATCH_VALUES, EndedGrant, placeholders, texts};
use crate::Result;
use crate::cache::CacheChange;
use crate::database::{Row, Sql, SqlValue, Tx};
use crate::due_time::due_at_once;

/// The condition for grants whose session does not exist any more.
const SESSION_IS_GONE: &str = "NOT EXISTS (SELECT 1 FROM session s WHERE s.digest = oidc_grant.session)";

/// Ends the grants of one session, whose row was deleted.
pub(crate) fn end_with_session(tx: &mut Tx<'_>, session: Digest, at: Timestamp) -> Result<()> {
    let which = format!("session = $1 AND {SESSION_IS_GONE}");
    delete(tx, &which, &args![session], at).map(drop)
}

/// Ends the grants of those sessions of an employee whose rows were deleted.
pub(crate) fn end_with_sessions_of(tx: &mut Tx<'_>, employee: &EmployeeKey, at: Timestamp) -> Result<()> {
    delete(tx, &of_employee(), &args![employee.corp(), employee.id()], at).map(drop)
}

/// The condition for grants of an employee whose session is gone.
pub(super) fn of_employee() -> String {
    format!("corp_id = $1 AND employee_key = $2 AND {SESSION_IS_GONE}")
}

/// Ends the grants of those sessions whose rows were deleted, among the digests after `after` and up to `last`.
pub(crate) fn end_with_sessions_between(tx: &mut Tx<'_>, after: &str, last: &str, at: Timestamp) -> Result<()> {
    let which = format!("session > $1 AND session <= $2 AND {SESSION_IS_GONE}");
    delete(tx, &which, &args![after, last], at).map(drop)
}

/// Ends the grants of all sessions whose rows were deleted. It reads all grants.
pub(crate) fn end_with_deleted_sessions(tx: &mut Tx<'_>, at: Timestamp) -> Result<()> {
    delete(tx, SESSION_IS_GONE, &[], at).map(drop)
}

/// The condition for some of the grants that have expired and whose session was swept.
pub(crate) const OF_SWEPT_SESSIONS: &str = "id IN (SELECT g.id FROM oidc_grant g WHERE g.expires_at <= $1
    AND NOT EXISTS (SELECT 1 FROM session s WHERE s.digest = g.session) LIMIT $2)";

/// Ends up to `batch` grants that expired before `expired` and whose session was swept; returns their number.
pub(crate) fn end_with_swept_sessions(tx: &mut Tx<'_>, expired: Timestamp, batch: i64, at: Timestamp) -> Result<usize> {
    delete(tx, OF_SWEPT_SESSIONS, &args![expired, batch], at)
}

/// Ends the grants that depend on a role which an employee does not hold any more.
pub(crate) fn end_told_role(tx: &mut Tx<'_>, employee: &EmployeeKey, role: Role, at: Timestamp) -> Result<()> {
    let which = "corp_id = $1 AND employee_key = $2 AND (' ' || roles || ' ') LIKE $3";
    let role = format!("% {} %", role.name());
    end_alone(tx, which, &args![employee.corp(), employee.id(), &*role], at, true).map(drop)
}

/// Ends all grants of an employee, also those whose session is gone already.
pub(crate) fn end_all_of(tx: &mut Tx<'_>, employee: &EmployeeKey, at: Timestamp) -> Result<()> {
    let which = "corp_id = $1 AND employee_key = $2";
    end_alone(tx, which, &args![employee.corp(), employee.id()], at, true).map(drop)
}

/// The next grants of a client that have not ended.
pub(super) const LIVE_OF_CLIENT: &str =
    "SELECT g.id FROM oidc_grant g WHERE g.client_id = $1 AND g.ended_at IS NULL ORDER BY g.id LIMIT $2";

/// Ends up to `limit` grants of a client; returns their number. After the last of them, the caller records a change of the rules,
/// which drops all cached tokens.
pub(super) fn end_live_of_client(tx: &mut Tx<'_>, client_id: &str, limit: i64, at: Timestamp) -> Result<usize> {
    let ended = mark_ended(tx, &format!("id IN ({LIVE_OF_CLIENT})"), &args![client_id, limit], at)?;
    write_logouts(tx, &ended, at)?;
    Ok(ended.len())
}

/// Deletes grants and their tokens without telling anyone: their client has newer ones with the same `sid`.
pub(super) fn delete_silently(tx: &mut Tx<'_>, grants: &[&str]) -> Result<()> {
    drop_tokens(tx, grants)?;
    for some in grants.chunks(BATCH_VALUES) {
        let (places, ids) = (placeholders(some.len()), texts(some.iter().copied()));
        tx.execute(&format!("DELETE FROM oidc_token WHERE grant_id IN ({places})"), &ids)?;
        tx.execute(&format!("DELETE FROM oidc_grant WHERE id IN ({places})"), &ids)?;
    }
    Ok(())
}

/// Ends up to `batch` grants that have expired; returns their number. Their tokens have expired as well.
pub(super) fn end_expired(tx: &mut Tx<'_>, now: Timestamp, batch: i64) -> Result<usize> {
    let which = "id IN (SELECT g.id FROM oidc_grant g WHERE g.expires_at <= $1 AND g.ended_at IS NULL
        ORDER BY g.expires_at LIMIT $2)";
    let ended = mark_ended(tx, which, &args![now, batch], now)?;
    write_logouts(tx, &ended, now)?;
    Ok(ended.len())
}

/// Ends the grants that match a condition and have not ended, and drops their access tokens from the caches; the clients are told if
/// `tell`. The rows stay: the user was asked about the client in this session.
pub(super) fn end_alone(
    tx: &mut Tx<'_>,
    which: &str,
    values: &[SqlValue<'_>],
    at: Timestamp,
    tell: bool,
) -> Result<Vec<EndedGrant>> {
    let ended = mark_ended(tx, which, values, at)?;
    if tell {
        write_logouts(tx, &ended, at)?;
    }
    let ended: Vec<_> = ended.into_iter().map(|ended| ended.grant).collect();
    let ids: Vec<_> = ended.iter().map(|grant| &*grant.id).collect();
    drop_tokens(tx, &ids)?;
    Ok(ended)
}

/// Drops the access tokens of grants from the caches of all nodes.
pub(super) fn drop_tokens(tx: &mut Tx<'_>, grants: &[&str]) -> Result<()> {
    for some in grants.chunks(BATCH_VALUES) {
        let places = placeholders(some.len());
        let text = format!("SELECT digest FROM oidc_token WHERE kind = 'access' AND grant_id IN ({places})");
        let digests = tx.rows(&text, &texts(some.iter().copied()), |row| row.digest(0))?;
        for digest in digests {
            tx.record_change(CacheChange::Session(digest));
        }
    }
    Ok(())
}

/// A grant that ended, and what its client is told.
struct Ending {
    grant: EndedGrant,
    subject: String,
}

/// The columns that [`ending`] reads.
const ENDING_COLUMNS: &str = "id, client_id, corp_id, employee_key, sid, subject";

fn ending(row: &Row<'_>) -> Result<Ending> {
    let grant = EndedGrant { id: row.text(0)?, client_id: row.text(1)?, employee: row.employee(2)?, sid: row.text(4)? };
    Ok(Ending { grant, subject: row.text(5)? })
}

/// Marks the grants that match a condition and have not ended as ended.
fn mark_ended(tx: &Tx<'_>, which: &str, values: &[SqlValue<'_>], at: Timestamp) -> Result<Vec<Ending>> {
    let which = format!("{which} AND ended_at IS NULL");
    if !lock(tx, &which, values)? {
        return Ok(Vec::new());
    }
    let mut values = values.to_vec();
    values.push(at.into());
    let place = values.len();
    let text = format!("UPDATE oidc_grant SET ended_at = ${place} WHERE {which} RETURNING {ENDING_COLUMNS}");
    tx.rows(&text, &values, ending)
}

/// Deletes the grants that match a condition, and has the clients told of those that had not ended; returns their number.
fn delete(tx: &mut Tx<'_>, which: &str, values: &[SqlValue<'_>], at: Timestamp) -> Result<usize> {
    // Usually there are none.
    if !lock(tx, which, values)? {
        return Ok(0);
    }
    let text = format!("DELETE FROM oidc_grant WHERE {which} RETURNING {ENDING_COLUMNS}, ended_at");
    let deleted = tx.rows(&text, values, |row| Ok((ending(row)?, row.is_null(6)?)))?;
    let number = deleted.len();
    let live: Vec<_> = deleted.into_iter().filter_map(|(ending, is_live)| is_live.then_some(ending)).collect();
    write_logouts(tx, &live, at)?;
    Ok(number)
}

/// Whether there are such grants. Locks them in the order of their identifiers, so that two transactions that end several of the same
/// grants do not block each other.
fn lock(tx: &Tx<'_>, which: &str, values: &[SqlValue<'_>]) -> Result<bool> {
    // SQLite has one writer.
    let rest = if let Sql::Postgres(_) = **tx { "ORDER BY id FOR UPDATE" } else { "LIMIT 1" };
    tx.exists(&format!("SELECT 1 FROM oidc_grant WHERE {which} {rest}"), values)
}

/// A later end of the same session and client replaces one that is not delivered yet. Its time is always another one, so that the
/// delivery of the earlier end does not delete it.
const ON_CONFLICT: &str = "ON CONFLICT (sid) DO UPDATE SET tries = 0, due_at = excluded.due_at,
    at = CASE WHEN excluded.at > oidc_logout.at THEN excluded.at ELSE oidc_logout.at + 1 END";

/// Records that the clients are to be told that these grants ended: once for each session and client.
fn write_logouts(tx: &mut Tx<'_>, ended: &[Ending], at: Timestamp) -> Result<()> {
    // In one order on all nodes.
    let ended: BTreeMap<&str, &Ending> = ended.iter().map(|ending| (&*ending.grant.sid, ending)).collect();
    let ended: Vec<_> = ended.into_iter().collect();
    for some in ended.chunks(BATCH_VALUES) {
        let row = |row: usize| format!("(${}, ${}, ${}, $1, 0, $2)", 3 * row + 3, 3 * row + 4, 3 * row + 5);
        let rows = (0..some.len()).map(row).collect::<Vec<_>>().join(", ");
        let text =
            format!("INSERT INTO oidc_logout (sid, client_id, subject, at, tries, due_at) VALUES {rows} {ON_CONFLICT}");
        let mut values = vec![SqlValue::from(at), SqlValue::from(due_at_once(at))];
        for (sid, ending) in some {
            values.extend(texts([*sid, &*ending.grant.client_id, &*ending.subject]));
        }
        tx.execute(&text, &values)?;
    }
    if !ended.is_empty() {
        tx.record_change(CacheChange::LogoutsDue);
    }
    Ok(())
}
