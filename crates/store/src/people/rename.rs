//! People whom the platform gave another identifier.

use deskpass_core::{EmployeeKey, IdentifiedPerson, LeftReason, Person, Timestamp};

use super::leaving::{Leaving, leave_one, lift};
use crate::agents::{end_credentials, has_credentials, move_record, require_code};
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::directory::{find, lock_out_leaver, upsert};
use crate::locks::{lock_administration, lock_agent, lock_employee};
use crate::sessions::{SessionScope, end_sessions_of};
use crate::{LogEntry, Notice, Result, Store};

/// Adds a record with the data of another one.
const INSERT_RECORD: &str = "INSERT INTO employee
    (corp_id, employee_key, employee_id, name, department, avatar, created_at, department_id, left_at, left_why,
    seen) SELECT $3, $4, $5, name, department, avatar, $6, department_id, $7, $8, seen FROM employee
    WHERE corp_id = $1 AND employee_key = $2 ON CONFLICT (corp_id, employee_key) DO NOTHING";

/// Takes over what the new record does not have. An employee whom an administrator disabled stays disabled.
const TAKE_OVER: &str = "UPDATE employee SET
    disabled_at = COALESCE(disabled_at, (SELECT f.disabled_at FROM employee f WHERE f.corp_id = $3 AND f.employee_key = $4)),
    subject = COALESCE(subject, $5), email = COALESCE(email, $6),
    email_source = CASE WHEN email IS NULL THEN $7 ELSE email_source END
    WHERE corp_id = $1 AND employee_key = $2";

/// Removes what clients know a person by who left and had the identifier before.
const FORGET_HOLDER: &str = "UPDATE employee SET subject = NULL, email = NULL, email_source = NULL
    WHERE corp_id = $1 AND employee_key = $2";

/// Empties the old record, which stays for the log.
const LEAVE_RECORD: &str =
    "UPDATE employee SET left_at = COALESCE(left_at, $3), left_why = $4, subject = NULL, email = NULL,
    email_source = NULL WHERE corp_id = $1 AND employee_key = $2";

/// Gives the new record the roles of the old one, with their origins. A role that both have keeps every reason for it; one that either
/// has for good does not end.
const COPY_ROLES: &str = "INSERT INTO user_role (corp_id, employee_key, role_id, by_hand, by_rule, until, reason, told_at)
    SELECT $3, $4, role_id, by_hand, by_rule, until, reason, told_at FROM user_role WHERE corp_id = $1 AND employee_key = $2
    ON CONFLICT (corp_id, employee_key, role_id) DO UPDATE SET
    by_hand = CASE WHEN excluded.by_hand = 1 THEN 1 ELSE user_role.by_hand END,
    by_rule = CASE WHEN excluded.by_rule = 1 THEN 1 ELSE user_role.by_rule END,
    until = CASE WHEN excluded.by_hand = 1 OR user_role.by_hand = 1 THEN NULL
    WHEN user_role.until IS NULL THEN excluded.until ELSE user_role.until END,
    reason = CASE WHEN excluded.by_hand = 1 OR user_role.by_hand = 1 THEN NULL
    WHEN user_role.until IS NULL THEN excluded.reason ELSE user_role.reason END,
    told_at = CASE WHEN excluded.by_hand = 1 OR user_role.by_hand = 1 THEN NULL
    WHEN user_role.until IS NULL THEN excluded.told_at ELSE user_role.told_at END";

/// Users of connected corporations act as the new record from now on.
const MOVE_LINKS: &str =
    "UPDATE link SET target_corp_id = $3, target_key = $4 WHERE target_corp_id = $1 AND target_key = $2";

/// A person who has another identifier now.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// The former identifier.
    pub from: EmployeeKey,
    /// The new one, with what the platform says about it.
    pub to: IdentifiedPerson,
    /// When the platform was asked about the new one.
    pub asked_at: Timestamp,
    /// Whether the platform said that the person is active.
    pub is_active: bool,
    /// How to lock the person out, if the platform said that the person left.
    pub leaving: Option<Leaving>,
    /// How long the digests of the ended sessions are denied.
    pub deny_until: Timestamp,
    /// The notices for administrators, if the person needs a setup code from now on.
    pub code_notices: Vec<Notice>,
    /// The audit event.
    pub entry: LogEntry,
}

impl Store {
    /// Records that a person has another identifier now: the new record gets the roles, the subject, the email address, the links and the
    /// agent record of the old one, but no password, device, recovery code or known browser, which are deleted: if there was a password
    /// or a device, another one needs a setup code. If the holder of the new identifier has left, that was another person, of whom nothing
    /// stays. The old record counts as left from then on, and its sessions end. The change is logged. `false`, with no change, when there
    /// is no such person. If it was recorded before, nothing changes.
    pub async fn rename_person(&self, renaming: Renaming) -> Result<bool> {
        self.database.write(move |tx| rename(tx, &renaming)).await
    }
}

fn rename(tx: &mut Tx<'_>, renaming: &Renaming) -> Result<bool> {
    let Renaming { from, to, deny_until, entry, .. } = renaming;
    // No two employees have the same address, and the role of an administrator moves.
    lock_administration(tx)?;
    let mut both = [from, &to.key];
    both.sort_by(|one, other| (one.corp(), one.id()).cmp(&(other.corp(), other.id())));
    both.into_iter().try_for_each(|key| lock_agent(tx, key))?;
    both.into_iter().try_for_each(|key| lock_employee(tx, key))?;
    let Some(old) = find(tx, from)?.map(|found| found.person) else { return Ok(false) };
    if *from == to.key || old.left == Some(LeftReason::Renamed) {
        return Ok(true);
    }
    let had_credentials = has_credentials(tx, from)?;
    if find(tx, &to.key)?.is_some_and(|found| found.person.left.is_some()) {
        clear_former_holder(tx, &to.key)?;
    }
    take_over(tx, renaming, &old)?;
    let (from_corp, from_id, to_corp, to_id) = (from.corp(), from.id(), to.key.corp(), to.key.id());
    // Sessions before roles, as elsewhere.
    let ended = end_sessions_of(tx, from, SessionScope::All, (EndReason::Left, *deny_until), entry.at)?;
    move_record(tx, from, &to.key, entry.at)?;
    end_credentials(tx, from)?;
    tx.execute(MOVE_LINKS, &args![from_corp, from_id, to_corp, to_id])?;
    tx.execute(COPY_ROLES, &args![from_corp, from_id, to_corp, to_id])?;
    tx.execute("DELETE FROM user_role WHERE corp_id = $1 AND employee_key = $2", &args![from_corp, from_id])?;
    tx.record_change(CacheChange::Person(from.clone()));
    upsert(tx, to, entry.at)?;
    if had_credentials {
        require_code(tx, &to.key, entry.at)?;
        renaming.code_notices.iter().try_for_each(|notice| notice.write(tx))?;
    }
    let mut entries = vec![entry.clone().with_detail(format!("{from_id} -> {to_id}; {ended} session(s) ended"))];
    if let Some(leaving) = &renaming.leaving {
        entries.extend(leave_one(tx, leaving)?.1);
    }
    LogEntry::write_all(tx, &entries.iter().collect::<Vec<_>>())?;
    Ok(true)
}

/// Deletes what the person had who left and had the identifier before: the new holder is another person, and must get neither the
/// roles nor the subject of the former one, and no one may act as the new holder because of a link to the former one.
fn clear_former_holder(tx: &Tx<'_>, key: &EmployeeKey) -> Result<()> {
    let values = args![key.corp(), key.id()];
    end_credentials(tx, key)?;
    tx.execute(FORGET_HOLDER, &values)?;
    tx.execute("DELETE FROM link WHERE target_corp_id = $1 AND target_key = $2", &values)?;
    tx.execute("DELETE FROM user_role WHERE corp_id = $1 AND employee_key = $2", &values).map(drop)
}

/// Empties the old record, and gives the new one what it does not have.
fn take_over(tx: &mut Tx<'_>, renaming: &Renaming, old: &Person) -> Result<()> {
    let Renaming { from, to, asked_at, is_active, entry, .. } = renaming;
    let (from_corp, from_id, to_corp, to_id) = (from.corp(), from.id(), to.key.corp(), to.key.id());
    tx.execute(LEAVE_RECORD, &args![from_corp, from_id, entry.at, LeftReason::Renamed.name()])?;
    // Who had left under the former identifier is not back because of another one.
    let (left_at, left_why) = old.left.filter(|_| !is_active).map(|why| (entry.at, why.name())).unzip();
    let values = args![from_corp, from_id, to_corp, to_id, &*to.employee_id, entry.at, left_at, left_why];
    if tx.execute(INSERT_RECORD, &values)? > 0 {
        // The person may have left under the new identifier before this was handled.
        lock_out_leaver(tx, &to.key, is_active.then_some(*asked_at))?;
    }
    if *is_active {
        lift(tx, &to.key, *asked_at)?;
    }
    let (address, source) = old.email.as_ref().map(|email| (&*email.address, email.source.name())).unzip();
    let values = args![to_corp, to_id, from_corp, from_id, old.subject.as_deref(), address, source];
    tx.execute(TAKE_OVER, &values).map(drop)
}
