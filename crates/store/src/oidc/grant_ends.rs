//! The end of single grants: by their client, by the second use of a code, or by their expiry. Each row of the log is about the
//! employee of the grant.

use deskpass_core::{Digest, Timestamp};

use super::endings::{end_alone, end_expired};
use super::record::EndedGrant;
use crate::database::{SqlValue, Tx};
use crate::{LogEntry, Result, Store};

/// Finds the session of a `sid`, which is the same in all of its grants.
pub(super) const SESSION_OF_SID: &str = "SELECT session FROM oidc_grant WHERE sid = $1 LIMIT 1";

impl Store {
    /// Ends the grant that was made from a code of this client, and logs it: the code was used a second time. `None`, with no change,
    /// when there is none or it has ended. Writes only if there is one: anyone can send codes that do not exist.
    pub async fn end_grant_of_code(
        &self,
        code: Digest,
        client_id: String,
        at: Timestamp,
        entry: LogEntry,
    ) -> Result<Option<EndedGrant>> {
        let text = "SELECT 1 FROM oidc_grant WHERE code = $1 AND ended_at IS NULL LIMIT 1";
        if !self.database.read(move |sql| sql.exists(text, &args![code])).await? {
            return Ok(None);
        }
        self.database.write(move |tx| end_of_code(tx, code, &client_id, at, &entry)).await
    }

    /// Ends a grant before its session, and logs it; `false`, with no change, when there is none or it has ended. The client is told if
    /// `tell`.
    pub async fn end_grant(&self, id: String, at: Timestamp, tell: bool, entry: Option<LogEntry>) -> Result<bool> {
        self.database
            .write(move |tx| Ok(!end(tx, "id = $1", &args![&*id], (at, tell), entry.as_ref())?.is_empty()))
            .await
    }

    /// Ends what a client got for one session, by the identifier by which the client knows it, and logs it unless there is nothing;
    /// returns the number of ended grants. The client is told if `tell`.
    pub async fn end_grants_of_sid(
        &self,
        sid: String,
        at: Timestamp,
        tell: bool,
        entry: Option<LogEntry>,
    ) -> Result<usize> {
        self.database.write(move |tx| Ok(end(tx, "sid = $1", &args![&*sid], (at, tell), entry.as_ref())?.len())).await
    }

    /// The session that a client knows by this identifier, also if what the client got has ended; the caller looks the session up,
    /// since it may have expired.
    pub async fn session_of_sid(&self, sid: String) -> Result<Option<Digest>> {
        self.database.read(move |sql| sql.first(SESSION_OF_SID, &args![&*sid], |row| row.digest(0))).await
    }

    /// Ends up to `batch` grants that have expired, and has their clients told; returns their number. Writes only if there are some.
    pub async fn expire_grants(&self, now: Timestamp, batch: i64) -> Result<usize> {
        let text = "SELECT 1 FROM oidc_grant WHERE expires_at <= $1 AND ended_at IS NULL LIMIT 1";
        if !self.database.read(move |sql| sql.exists(text, &args![now])).await? {
            return Ok(0);
        }
        self.database.write(move |tx| end_expired(tx, now, batch)).await
    }
}

/// Ends the grant that was made from a code, as [`Store::end_grant_of_code`] does.
pub(super) fn end_of_code(
    tx: &mut Tx<'_>,
    code: Digest,
    client_id: &str,
    at: Timestamp,
    entry: &LogEntry,
) -> Result<Option<EndedGrant>> {
    let ended = end(tx, "code = $1 AND client_id = $2", &args![code, client_id], (at, true), Some(entry))?;
    Ok(ended.into_iter().next())
}

/// Ends the grants that match a condition and have not ended, all of one employee, and logs it unless there is none.
fn end(
    tx: &mut Tx<'_>,
    which: &str,
    values: &[SqlValue<'_>],
    (at, tell): (Timestamp, bool),
    entry: Option<&LogEntry>,
) -> Result<Vec<EndedGrant>> {
    let ended = end_alone(tx, which, values, at, tell)?;
    if let (Some(grant), Some(entry)) = (ended.first(), entry) {
        LogEntry { about: grant.employee.clone(), ..entry.clone() }.write(tx)?;
    }
    Ok(ended)
}
