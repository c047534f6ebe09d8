//! People whom the platform gave another identifier.

use deskpass_core::{EmployeeKey, IdentifiedPerson, LeftReason, Timestamp};

use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::directory::{find, upsert};
use crate::locks::lock_administration;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{LogEntry, Result, Store};

/// Adds a record with the data of another one.
const INSERT_RECORD: &str = "INSERT INTO employee
    (corp_id, employee_key, employee_id, name, department, avatar, created_at, department_id)
    SELECT $3, $4, $5, name, department, avatar, $6, department_id FROM employee WHERE corp_id = $1 AND employee_key = $2
    ON CONFLICT (corp_id, employee_key) DO NOTHING";

/// Takes over what the new record does not have. The platform says that the person is active, so the record is no longer marked as left;
/// but an employee whom an administrator disabled stays disabled.
const TAKE_OVER: &str = "UPDATE employee SET left_at = NULL, left_why = NULL,
    disabled_at = COALESCE(disabled_at, (SELECT f.disabled_at FROM employee f WHERE f.corp_id = $3 AND f.employee_key = $4)),
    subject = COALESCE(subject, $5), email = COALESCE(email, $6),
    email_source = CASE WHEN email IS NULL THEN $7 ELSE email_source END
    WHERE corp_id = $1 AND employee_key = $2";

/// Empties the old record, which stays for the log.
const LEAVE_RECORD: &str =
    "UPDATE employee SET left_at = COALESCE(left_at, $3), left_why = $4, subject = NULL, email = NULL,
    email_source = NULL WHERE corp_id = $1 AND employee_key = $2";

/// Gives the new record the roles of the old one, with their origins. A role that both have keeps every reason for it.
const COPY_ROLES: &str = "INSERT INTO user_role (corp_id, employee_key, role_id, by_hand, by_rule, until, reason, told_at)
    SELECT $3, $4, role_id, by_hand, by_rule, until, reason, told_at FROM user_role WHERE corp_id = $1 AND employee_key = $2
    ON CONFLICT (corp_id, employee_key, role_id) DO UPDATE SET
    by_hand = CASE WHEN excluded.by_hand = 1 THEN 1 ELSE user_role.by_hand END,
    by_rule = CASE WHEN excluded.by_rule = 1 THEN 1 ELSE user_role.by_rule END,
    until = CASE WHEN excluded.by_hand = 1 OR user_role.by_hand = 1 THEN NULL
    ELSE COALESCE(user_role.until, excluded.until) END,
    reason = COALESCE(user_role.reason, excluded.reason)";

impl Store {
    /// Records that a person has another identifier now: `to` gets the roles, the subject and the email address of `from`, who is left
    /// from then on and whose sessions end; and logs it. `false`, with no change, when there is no such person. If it was recorded
    /// before, nothing changes.
    pub async fn rename_person(
        &self,
        from: EmployeeKey,
        to: IdentifiedPerson,
        deny_until: Timestamp,
        entry: LogEntry,
    ) -> Result<bool> {
        self.database.write(move |tx| rename(tx, &from, &to, deny_until, &entry)).await
    }
}

fn rename(
    tx: &mut Tx<'_>,
    from: &EmployeeKey,
    to: &IdentifiedPerson,
    deny_until: Timestamp,
    entry: &LogEntry,
) -> Result<bool> {
    // No two employees have the same address, and the role of an administrator moves.
    lock_administration(tx)?;
    let Some(old) = find(tx, from)?.map(|found| found.person) else { return Ok(false) };
    if *from == to.key || old.left == Some(LeftReason::Renamed) {
        return Ok(true);
    }
    let (from_corp, from_id, to_corp, to_id) = (from.corp(), from.id(), to.key.corp(), to.key.id());
    tx.execute(LEAVE_RECORD, &args![from_corp, from_id, entry.at, LeftReason::Renamed.name()])?;
    tx.execute(INSERT_RECORD, &args![from_corp, from_id, to_corp, to_id, &*to.employee_id, entry.at])?;
    let (address, source) = old.email.as_ref().map(|email| (&*email.address, email.source.name())).unzip();
    let values = args![to_corp, to_id, from_corp, from_id, old.subject.as_deref(), address, source];
    tx.execute(TAKE_OVER, &values)?;
    // Sessions before roles, as elsewhere.
    let ended = end_sessions_of(tx, from, SessionScope::All, (EndReason::Left, deny_until), entry.at)?;
    tx.execute(COPY_ROLES, &args![from_corp, from_id, to_corp, to_id])?;
    tx.execute("DELETE FROM user_role WHERE corp_id = $1 AND employee_key = $2", &args![from_corp, from_id])?;
    tx.record_change(CacheChange::Person(from.clone()));
    upsert(tx, to, entry.at)?;
    entry.clone().with_detail(format!("{from_id} -> {to_id}; {ended} session(s) ended")).write(tx)?;
    Ok(true)
}
