//! Partial sessions: sign-ins with a correct password, still without a one-time password.
//!
//! A transaction that begins, completes or ends a partial session locks the agent's or the employee's record until it
//! commits, so that no partial session begins or completes while what it depends on is being removed.

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use super::Notice;
use super::failed_attempts::{self, AttemptKind, AttemptsToClear};
use crate::database::{Row, Tx};
use crate::deny_list::{EndReason, denied, deny, deny_all};
use crate::locks::{lock_agent_where, lock_enabled_employee};
use crate::{Result, Store};

/// A partial session.
#[derive(Clone, Debug)]
pub struct PartialSessionRecord {
    /// Digest of the token.
    pub digest: Digest,
    /// The employee.
    pub employee: EmployeeKey,
    /// When the partial session expires, unless it is completed.
    pub expires_at: Timestamp,
}

/// Result of looking up the digest of a partial session.
#[derive(Clone, Debug)]
pub enum PartialSessionLookup {
    /// A partial session; the caller checks whether it has expired.
    Found(PartialSessionRecord),
    /// The partial session was ended, or its agent or employee is disabled, or the employee left.
    Denied(EndReason),
    /// The digest is unknown.
    NotFound,
}

impl Store {
    /// Stores a partial session and the notice, and clears the failed attempts of the kind that succeeded; `false`,
    /// with no change, when the agent or employee is disabled or missing, or `hash` is no longer that of the password.
    pub async fn begin_partial_session(
        &self,
        half: PartialSessionRecord,
        hash: String,
        trial: AttemptKind,
        notice: Notice,
    ) -> Result<bool> {
        self.database
            .write(move |tx| {
                let (corp, id) = (half.employee.corp(), half.employee.id());
                let agent = "corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND device_only = 0
                    AND password_hash = $3";
                if !lock_agent_where(tx, agent, &args![corp, id, &*hash])?
                    || !lock_enabled_employee(tx, &half.employee)?
                {
                    return Ok(false);
                }
                let text = "INSERT INTO half_session (digest, corp_id, employee_key, expires_at)
                    VALUES ($1, $2, $3, $4)";
                tx.execute(text, &args![half.digest, corp, id, half.expires_at])?;
                failed_attempts::clear(tx, &half.employee, AttemptsToClear::Kind(trial))?;
                notice.write(tx)?;
                Ok(true)
            })
            .await
    }

    /// Looks up the digest of a partial session. If the store fails, the token must not count as valid.
    pub async fn partial_session(&self, digest: &Digest) -> Result<PartialSessionLookup> {
        let digest = *digest;
        let text = "SELECT h.corp_id, h.employee_key, h.expires_at,
            CASE WHEN a.disabled_at IS NOT NULL OR a.device_only <> 0 OR e.disabled_at IS NOT NULL THEN 1
            WHEN e.left_at IS NOT NULL THEN 2 ELSE 0 END FROM half_session h
            JOIN agent a ON a.corp_id = h.corp_id AND a.employee_key = h.employee_key
            JOIN employee e ON e.corp_id = h.corp_id AND e.employee_key = h.employee_key WHERE h.digest = $1";
        let read = move |row: &Row<'_>| {
            let employee = row.employee(0)?;
            Ok((PartialSessionRecord { digest, employee, expires_at: row.timestamp(2)? }, row.int(3)?))
        };
        self.database
            .read(move |sql| {
                Ok(match (denied(sql, digest)?, sql.first(text, &args![digest], read)?) {
                    (Some(ended), _) => PartialSessionLookup::Denied(ended),
                    (None, Some((half, 0))) => PartialSessionLookup::Found(half),
                    (None, Some((_, 2))) => PartialSessionLookup::Denied(EndReason::Left),
                    (None, Some(_)) => PartialSessionLookup::Denied(EndReason::Disabled),
                    (None, None) => PartialSessionLookup::NotFound,
                })
            })
            .await
    }

    /// Ends a partial session and denies its digest; `false`, with no change, when it had ended or been completed already.
    /// If the store fails, the partial session must not be treated as ended.
    pub async fn end_partial_session(&self, digest: Digest, deny_until: Timestamp) -> Result<bool> {
        self.database
            .write(move |tx| {
                let owner = "(corp_id, employee_key) IN
                    (SELECT corp_id, employee_key FROM half_session WHERE digest = $1)";
                lock_agent_where(tx, owner, &args![digest])?;
                if tx.execute(DELETE_PARTIAL_SESSION, &args![digest])? == 0 {
                    return Ok(false);
                }
                deny(tx, digest, EndReason::SignedOut, deny_until)?;
                Ok(true)
            })
            .await
    }
}

const DELETE_PARTIAL_SESSION: &str = "DELETE FROM half_session WHERE digest = $1";

/// Whether a session of `employee` may replace a partial session; locks it until the transaction ends. Of two concurrent
/// completions, the second waits here and then finds the partial session gone.
pub(crate) fn lock_if_valid(tx: &Tx<'_>, digest: Digest, employee: &EmployeeKey, now: Timestamp) -> Result<bool> {
    let text =
        "SELECT 1 FROM half_session WHERE digest = $1 AND corp_id = $2 AND employee_key = $3 AND expires_at > $4";
    let values = args![digest, employee.corp(), employee.id(), now];
    let agent = "corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND device_only = 0";
    let counts = lock_agent_where(tx, agent, &args![employee.corp(), employee.id()])?;
    Ok(counts && tx.exists(text, &values)?)
}

/// Removes a partial session that a session has replaced.
pub(crate) fn complete(tx: &Tx<'_>, digest: Digest) -> Result<()> {
    tx.execute(DELETE_PARTIAL_SESSION, &args![digest]).map(drop)
}

pub(crate) fn end_all(tx: &Tx<'_>, key: &EmployeeKey, why: EndReason, deny_until: Timestamp) -> Result<()> {
    let text = "DELETE FROM half_session WHERE corp_id = $1 AND employee_key = $2 RETURNING digest";
    let ended = tx.rows(text, &args![key.corp(), key.id()], |row| row.text(0))?;
    deny_all(tx, &ended, why, deny_until)
}
