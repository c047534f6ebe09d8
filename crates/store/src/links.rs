//! Identities of connected corporations: proofs of who they are, and links to the employees they may act as.

use deskpass_core::{Digest, EmployeeKey, Timestamp};

use crate::database::{Row, Sql, Tx};
use crate::temporary_admin::Gift;
use crate::{ChangeAuthor, ChangeError, LogEntry, Result, Store, StoreError};

/// The number of refused bindings after which a proof is invalid.
const MAX_PROOF_ATTEMPTS: i64 = 5;

const COUNT_ATTEMPT: &str = "UPDATE bind_proof SET attempts = attempts + 1
    WHERE digest = $1 AND used_at IS NULL AND expires_at > $2 AND attempts < $3 RETURNING corp_id, user_id";

const COLUMNS: &str = "SELECT corp_id, user_id, target_corp_id, target_key, approved_at, bound_at FROM link";

/// Permission for an identity of a connected corporation to act as an employee.
#[derive(Clone, Debug)]
pub struct IdentityLink {
    /// The identity, as the platform names it.
    pub identity: EmployeeKey,
    /// The employee.
    pub target: EmployeeKey,
    /// When an administrator approved the link.
    pub approved_at: Timestamp,
    /// When the link was first used.
    pub bound_at: Option<Timestamp>,
}

impl Store {
    /// Stores a proof that the platform identified a user, for the client that holds the value with this digest.
    pub async fn store_proof(&self, digest: Digest, identity: EmployeeKey, until: Timestamp) -> Result<()> {
        self.database
            .write(move |tx| {
                let text = "INSERT INTO bind_proof (digest, corp_id, user_id, expires_at, attempts)
                    VALUES ($1, $2, $3, $4, 0)";
                tx.execute(text, &args![digest, identity.corp(), identity.id(), until]).map(drop)
            })
            .await
    }

    /// Whether a proof permits acting as `target`. Trying it on several employees invalidates it.
    pub async fn proof_permits(&self, digest: Digest, target: EmployeeKey, now: Timestamp) -> Result<bool> {
        let known = "SELECT 1 FROM bind_proof WHERE digest = $1 AND expires_at > $2";
        // Any client can invent a proof. An unknown proof is refused without a write.
        if !self.database.read(move |sql| sql.exists(known, &args![digest, now])).await? {
            return Ok(false);
        }
        self.database
            .write(move |tx| {
                // Counted before the check, in one statement that locks the row: of many concurrent attempts, on all
                // nodes together, no more are checked than may be refused.
                let values = args![digest, now, MAX_PROOF_ATTEMPTS];
                let Some(identity) = tx.first(COUNT_ATTEMPT, &values, |row| row.employee(0))? else { return Ok(false) };
                let permitted = identity == target || is_linked(tx, &identity, &target)?;
                if permitted {
                    tx.execute("UPDATE bind_proof SET attempts = attempts - 1 WHERE digest = $1", &args![digest])?;
                }
                Ok(permitted)
            })
            .await
    }

    /// The link of an identity, if there is one.
    pub async fn link(&self, identity: EmployeeKey) -> Result<Option<IdentityLink>> {
        let text = format!("{COLUMNS} WHERE corp_id = $1 AND user_id = $2");
        self.database.read(move |sql| sql.first(&text, &args![identity.corp(), identity.id()], link)).await
    }

    /// Links an identity to `target`, replacing its previous link; `false` when there is no such employee.
    pub async fn approve_link(
        &self,
        by: ChangeAuthor,
        identity: EmployeeKey,
        target: EmployeeKey,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.write_giving(by, Gift::Account(target.clone()), move |tx| {
            let text = "INSERT INTO link (corp_id, user_id, target_corp_id, target_key, approved_at)
                SELECT $1, $2, corp_id, employee_key, $5 FROM employee WHERE corp_id = $3 AND employee_key = $4
                ON CONFLICT (corp_id, user_id) DO UPDATE SET target_corp_id = excluded.target_corp_id,
                target_key = excluded.target_key, approved_at = excluded.approved_at, bound_at = NULL";
            let values = args![identity.corp(), identity.id(), target.corp(), target.id(), entry.at];
            if tx.execute(text, &values)? == 0 {
                return Ok(false);
            }
            entry.write(tx)?;
            Ok(true)
        })
        .await
    }

    /// Removes a link; `false` when there was none.
    pub async fn remove_link(
        &self,
        by: ChangeAuthor,
        identity: EmployeeKey,
        entry: LogEntry,
    ) -> Result<bool, ChangeError> {
        self.write_as(by, move |tx| {
            let text = "DELETE FROM link WHERE corp_id = $1 AND user_id = $2";
            if tx.execute(text, &args![identity.corp(), identity.id()])? == 0 {
                return Ok(false);
            }
            entry.write(tx)?;
            Ok(true)
        })
        .await
    }

    /// The links, ordered by identity.
    pub async fn links(&self) -> Result<Vec<IdentityLink>> {
        let text = format!("{COLUMNS} ORDER BY corp_id, user_id");
        self.database.read(move |sql| sql.rows(&text, &[], link)).await
    }
}

/// Consumes a proof and marks its link as used.
pub(crate) fn consume_proof(tx: &Tx<'_>, digest: Digest, target: &EmployeeKey, now: Timestamp) -> Result<()> {
    let text = "UPDATE bind_proof SET used_at = $2 WHERE digest = $1 AND used_at IS NULL RETURNING corp_id, user_id";
    let identity = tx.first(text, &args![digest, now], |row| row.employee(0))?;
    let identity = identity.ok_or_else(|| StoreError::damaged("a bind proof was used by two requests at once"))?;
    let text = "UPDATE link SET bound_at = $5 WHERE corp_id = $1 AND user_id = $2 AND target_corp_id = $3
        AND target_key = $4 AND bound_at IS NULL";
    tx.execute(text, &args![identity.corp(), identity.id(), target.corp(), target.id(), now]).map(drop)
}

/// Whether an identity may act as `target`.
pub(crate) fn is_linked(sql: &Sql<'_>, identity: &EmployeeKey, target: &EmployeeKey) -> Result<bool> {
    let text = "SELECT 1 FROM link WHERE corp_id = $1 AND user_id = $2 AND target_corp_id = $3 AND target_key = $4";
    let values = args![identity.corp(), identity.id(), target.corp(), target.id()];
    sql.exists(text, &values)
}

/// The identity of a proof, if it may act as `target`: it is the target, or there is a link for this pair.
pub(crate) fn identity_permitted(
    sql: &Sql<'_>,
    digest: Digest,
    target: &EmployeeKey,
    now: Timestamp,
) -> Result<Option<EmployeeKey>> {
    let text = "SELECT corp_id, user_id FROM bind_proof
        WHERE digest = $1 AND used_at IS NULL AND expires_at > $2 AND attempts < $3";
    let Some(identity) = sql.first(text, &args![digest, now, MAX_PROOF_ATTEMPTS], |row| row.employee(0))? else {
        return Ok(None);
    };
    let permitted = identity == *target || is_linked(sql, &identity, target)?;
    Ok(permitted.then_some(identity))
}

fn link(row: &Row<'_>) -> Result<IdentityLink> {
    Ok(IdentityLink {
        identity: row.employee(0)?,
        target: row.employee(2)?,
        approved_at: row.timestamp(4)?,
        bound_at: row.maybe_timestamp(5)?,
    })
}
