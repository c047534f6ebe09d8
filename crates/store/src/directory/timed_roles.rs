//! Roles that end by themselves.

use std::time::Duration;

use deskpass_core::{EmployeeKey, Role, Roles, Timestamp};

use super::person::find;
use crate::cache::CacheChange;
use crate::database::{Row, Tx};
use crate::locks::lock_employee;
use crate::oidc::endings::end_told_role;
use crate::temporary_admin::Gift;
use crate::{ChangeAuthor, ChangeError, LogEntry, Notice, Result, Store};

/// A person is not told of the end of a role that they have for at most this long: it would be the second message in a short time.
const UNTOLD_LIFETIME: Duration = Duration::from_mins(20);

/// Outcome of granting a role until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantUntilOutcome {
    /// The person holds the role until then.
    Granted,
    /// The person holds the role permanently, and keeps it so.
    HeldForGood,
    /// There is no such person.
    Unknown,
}

/// A role that ends by itself, now or soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRole {
    /// The person.
    pub key: EmployeeKey,
    /// The role.
    pub role: Role,
    /// When it ends.
    pub until: Timestamp,
    /// Whether the person was told, or need not be told, that it ends.
    pub is_told: bool,
}

impl Store {
    /// Grants a person a role until a time, and logs it. It replaces an earlier grant of this kind, also by a shorter one. A role that
    /// was granted permanently stays so; one that a rule gives is then held for both reasons.
    pub async fn grant_until(
        &self,
        by: ChangeAuthor,
        key: EmployeeKey,
        role: Role,
        until: Timestamp,
        reason: String,
        entry: LogEntry,
    ) -> Result<GrantUntilOutcome, ChangeError> {
        let gift = Gift::Roles(key.clone(), Roles::NONE.with(role));
        self.write_giving(by, gift, move |tx| grant(tx, &key, role, (until, &*reason), &entry)).await
    }

    /// Up to `limit` roles that have ended by `now`, or end by `soon` and whose person was not told, the earliest first.
    pub async fn roles_due(&self, now: Timestamp, soon: Timestamp, limit: i64) -> Result<Vec<DueRole>> {
        let text = "SELECT corp_id, employee_key, role_id, until, told_at FROM user_role
            WHERE until IS NOT NULL AND until <= $2 AND (until <= $1 OR told_at IS NULL) ORDER BY until LIMIT $3";
        self.database.read(move |sql| sql.rows(text, &args![now, soon, limit], due)).await
    }

    /// Ends a role whose time is over, and the grants of clients that were told it, and logs it. A role that a rule gives as well
    /// stays. `false`, with no change, when it does not end at that time any more, or has ended.
    pub async fn end_timed_role(&self, due: DueRole, now: Timestamp, entry: LogEntry) -> Result<bool> {
        self.database.write(move |tx| end(tx, &due, now, &entry)).await
    }

    /// Queues the notice that a role ends soon; `false`, with no change, when the person was told, or the role does not end at that
    /// time any more.
    pub async fn tell_role_ends(&self, due: DueRole, at: Timestamp, notice: Notice) -> Result<bool> {
        let text = "UPDATE user_role SET told_at = $5 WHERE corp_id = $1 AND employee_key = $2 AND role_id = $3
            AND until = $4 AND told_at IS NULL";
        self.database
            .write(move |tx| {
                let DueRole { key, role, until, .. } = &due;
                if tx.execute(text, &args![key.corp(), key.id(), *role, *until, at])? == 0 {
                    return Ok(false);
                }
                notice.write(tx)?;
                Ok(true)
            })
            .await
    }
}

fn due(row: &Row<'_>) -> Result<DueRole> {
    let is_told = !row.is_null(4)?;
    Ok(DueRole { key: row.employee(0)?, role: row.role(2)?, until: row.timestamp(3)?, is_told })
}

fn grant(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    role: Role,
    (until, reason): (Timestamp, &str),
    entry: &LogEntry,
) -> Result<GrantUntilOutcome> {
    lock_employee(tx, key)?;
    if find(tx, key)?.is_none() {
        return Ok(GrantUntilOutcome::Unknown);
    }
    let told_at = (until <= entry.at + UNTOLD_LIFETIME).then_some(entry.at);
    let text = "INSERT INTO user_role (corp_id, employee_key, role_id, by_hand, until, reason, told_at)
        VALUES ($1, $2, $3, 0, $4, $5, $6) ON CONFLICT (corp_id, employee_key, role_id)
        DO UPDATE SET until = excluded.until, reason = excluded.reason, told_at = excluded.told_at
        WHERE user_role.by_hand = 0";
    if tx.execute(text, &args![key.corp(), key.id(), role, until, reason, told_at])? == 0 {
        return Ok(GrantUntilOutcome::HeldForGood);
    }
    tx.record_change(CacheChange::Person(key.clone()));
    entry.write(tx)?;
    Ok(GrantUntilOutcome::Granted)
}

fn end(tx: &mut Tx<'_>, due: &DueRole, now: Timestamp, entry: &LogEntry) -> Result<bool> {
    let DueRole { key, role, until, .. } = due;
    lock_employee(tx, key)?;
    let which = "corp_id = $1 AND employee_key = $2 AND role_id = $3 AND until = $4 AND until <= $5";
    let values = args![key.corp(), key.id(), *role, *until, now];
    let keep =
        format!("UPDATE user_role SET until = NULL, reason = NULL, told_at = NULL WHERE {which} AND by_rule = 1");
    if tx.execute(&keep, &values)? > 0 {
        tx.record_change(CacheChange::Person(key.clone()));
        entry.clone().with_detail("stays: from a rule".to_owned()).write(tx)?;
        return Ok(true);
    }
    if tx.execute(&format!("DELETE FROM user_role WHERE {which} AND by_rule = 0"), &values)? == 0 {
        return Ok(false);
    }
    tx.record_change(CacheChange::Person(key.clone()));
    end_told_role(tx, key, *role, now)?;
    entry.write(tx)?;
    Ok(true)
}
