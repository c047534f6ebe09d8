//! People whom the platform gave another identifier.

use deskpass_core::{Digest, EmployeeKey, Holder, IdentifiedPerson, LeftReason, Person, Sameness, Timestamp};

use super::events::EVENT_RETENTION;
use super::identifiers::{Identifier, NewRecord, OldRecord, note_change, note_waiting};
use super::leaving::{Leaving, leave_one, lift};
use super::same_person::sameness;
use crate::agents::{end_credentials, has_credentials, move_record, require_code};
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::EndReason;
use crate::directory::{find, lock_out_leaver, move_holder, upsert};
use crate::locks::{lock_administration, lock_agent, lock_employee};
use crate::oidc::endings::end_all_of;
use crate::sessions::{SessionScope, end_sessions_of};
use crate::single_use::consume;
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
const FORGET_HOLDER: &str = "UPDATE employee SET subject = NULL, email = NULL, email_source = NULL,
    holder = NULL, claimant = NULL, unconfirmed_at = NULL
    WHERE corp_id = $1 AND employee_key = $2";

/// Empties the old record, which stays for the log.
const LEAVE_RECORD: &str =
    "UPDATE employee SET left_at = CASE WHEN left_at < $3 THEN left_at ELSE $3 END, left_why = $4, subject = NULL,
    email = NULL, email_source = NULL WHERE corp_id = $1 AND employee_key = $2";

/// Locks an employee until their new identifier is known.
const HOLD: &str = "UPDATE employee SET left_at = $3, left_why = $4
    WHERE corp_id = $1 AND employee_key = $2 AND left_at IS NULL";

/// Gives an emptied record to the next holder of its identifier, admitted or not.
const REOPEN: &str = "UPDATE employee SET left_at = $3, left_why = $4
    WHERE corp_id = $1 AND employee_key = $2 AND left_why = $5";

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

/// Makes a record as old as the identifier is the person's.
const ADDED_BEFORE: &str =
    "UPDATE employee SET created_at = $3 WHERE corp_id = $1 AND employee_key = $2 AND created_at > $3";

/// How far the handling of a new identifier has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameStage {
    /// Earlier changes of the same identifiers, or the platform's answer, are awaited: only locks the holder of the new identifier.
    Blocked,
    /// If the new identifier has a holder, who may get another one by an event that is late, the holder is locked and awaited.
    Waiting,
    /// The platform could not be asked for long, about this change or an earlier one: as blocked, and administrators are told once.
    Unanswered,
    /// The event of the holder did not come in time.
    Over,
    /// Earlier changes of the same identifiers could not be handled in time, so it is not known whose the records are.
    Undecidable,
}

/// Outcome of recording that a person has another identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameOutcome {
    /// The person's record has the new identifier.
    Moved,
    /// Nothing changed: there is no record of the person, or the event was handled before.
    Nothing,
    /// To be tried again.
    Waiting,
    /// It could not be decided whose records these are: the sessions ended, the roles were taken back, and administrators are told.
    Undecided,
}

/// A person who has another identifier now.
#[derive(Clone, Debug)]
pub struct Renaming {
    /// The former identifier.
    pub from: EmployeeKey,
    /// The new one, with what the platform says about it.
    pub to: IdentifiedPerson,
    /// When it happened at the platform.
    pub happened_at: Timestamp,
    /// When the person got yet another identifier, according to an event that is not handled yet.
    pub onward_at: Option<Timestamp>,
    /// How far its handling has come.
    pub stage: RenameStage,
    /// How long nodes of version 0.2.0 keep a holder of the new identifier locked. Others do until the
    /// event is handled.
    pub hold_until: Timestamp,
    /// When the platform was asked about the new one.
    pub asked_at: Timestamp,
    /// What the platform said about who holds the new one.
    pub said: Option<Holder>,
    /// Whether the platform said that the person is active.
    pub is_active: bool,
    /// How to lock the person out, if the platform said that the person left.
    pub leaving: Option<Leaving>,
    /// How long the digests of the ended sessions are denied.
    pub deny_until: Timestamp,
    /// The notices for administrators, if the person needs a setup code from now on.
    pub code_notices: Vec<Notice>,
    /// The notices for administrators, if something could not be decided, or not yet.
    pub doubt_notices: Vec<Notice>,
    /// The audit event.
    pub entry: LogEntry,
}

impl Store {
    /// Records that a person has another identifier now: the new record gets the roles, the subject, the email address, the links and the
    /// agent record of the old one, but no password, device, recovery code or known browser, which are deleted: if there was a password
    /// or a device, another one needs a setup code. If the holder of the new identifier has left, that was another person, of whom nothing
    /// stays. If the holder has not, that person's own change is awaited, and the holder is locked meanwhile: two people never share a
    /// record. The old record counts as left from then on, and its sessions end. The change is logged. If it was recorded before, nothing
    /// changes.
    pub async fn rename_person(&self, renaming: Renaming) -> Result<RenameOutcome> {
        self.database.write(move |tx| rename(tx, &renaming)).await
    }
}

fn rename(tx: &mut Tx<'_>, renaming: &Renaming) -> Result<RenameOutcome> {
    let Renaming { from, to, happened_at, onward_at, stage, .. } = renaming;
    if *from == to.key {
        return Ok(RenameOutcome::Nothing);
    }
    lock_both(tx, renaming)?;
    let (old, new) = (Identifier::read(tx, from)?, Identifier::read(tx, &to.key)?);
    if old.was_handled_before(*happened_at) {
        return Ok(RenameOutcome::Nothing);
    }
    let (mut whose, holder) = (old.before(*happened_at), new.after(*happened_at, *onward_at));
    let is_early = matches!(stage, RenameStage::Blocked | RenameStage::Waiting | RenameStage::Unanswered);
    let is_held = is_early && holder == NewRecord::Former;
    if is_held && hold(tx, renaming)? {
        // The next attempt tells administrators, in a row of its own.
        return Ok(RenameOutcome::Waiting);
    }
    if *stage == RenameStage::Unanswered && (is_held || whose != OldRecord::Others) {
        tell_unanswered(tx, renaming)?;
    }
    if is_held {
        return Ok(RenameOutcome::Waiting);
    }
    match stage {
        RenameStage::Blocked | RenameStage::Unanswered => return Ok(RenameOutcome::Waiting),
        RenameStage::Undecidable if whose == OldRecord::Theirs => whose = OldRecord::Unclear,
        _ => {}
    }
    if holder == NewRecord::PassedOn {
        // Where the person is now, a later event said or will say; none of it is about this record.
        return if whose == OldRecord::Others { Ok(RenameOutcome::Nothing) } else { give_up(tx, renaming, &[from]) };
    }
    match (whose, holder) {
        (OldRecord::Unclear, NewRecord::Former) => give_up(tx, renaming, &[from, &to.key]),
        (OldRecord::Unclear, _) => give_up(tx, renaming, &[from]),
        (OldRecord::Others, NewRecord::Former) => give_up(tx, renaming, &[&to.key]),
        (OldRecord::Others, _) => pass_on(tx, renaming, holder),
        (OldRecord::Theirs, NewRecord::Theirs | NewRecord::Unclear) => join_record(tx, renaming, holder, &old),
        (OldRecord::Theirs, _) => move_person(tx, renaming, holder, old.waits),
    }
}

/// Gives the person what the old record has, if the record under the new identifier is the person's. It
/// may be that of another one, who got the identifier since, and must get nothing of the person's, least
/// of all in a session that is live.
fn join_record(tx: &mut Tx<'_>, renaming: &Renaming, holder: NewRecord, old: &Identifier) -> Result<RenameOutcome> {
    let Renaming { from, to, happened_at, deny_until, entry, .. } = renaming;
    match (sameness(tx, renaming)?, holder) {
        (Sameness::Same, _) => {}
        (Sameness::Another, _) => return give_up(tx, renaming, &[from]),
        (Sameness::Unknown, NewRecord::Unclear) => return give_up(tx, renaming, &[from, &to.key]),
        // The identifier was free for another person.
        (Sameness::Unknown, _) if old.left_after(*happened_at) => return give_up(tx, renaming, &[from]),
        (Sameness::Unknown, _) => {
            end_sessions_of(tx, &to.key, SessionScope::All, (EndReason::Left, *deny_until), entry.at)?;
            // Clients must ask anew as well.
            end_all_of(tx, &to.key, entry.at)?;
        }
    }
    // An event that comes even later may say that the person had another identifier before that record
    // was added: then it is the person's that moves on.
    tx.execute(ADDED_BEFORE, &args![to.key.corp(), to.key.id(), *happened_at])?;
    move_person(tx, renaming, holder, old.waits)
}

fn lock_both(tx: &mut Tx<'_>, renaming: &Renaming) -> Result<()> {
    // No two employees have the same address, and the role of an administrator moves. It also has one change handled after the other.
    lock_administration(tx)?;
    let mut both = [&renaming.from, &renaming.to.key];
    both.sort_by(|one, other| (one.corp(), one.id()).cmp(&(other.corp(), other.id())));
    both.into_iter().try_for_each(|key| lock_agent(tx, key))?;
    both.into_iter().try_for_each(|key| lock_employee(tx, key))
}

/// Tells administrators once that the platform cannot be asked about a change.
fn tell_unanswered(tx: &mut Tx<'_>, renaming: &Renaming) -> Result<()> {
    let Renaming { from, to, happened_at, doubt_notices, entry, .. } = renaming;
    let happened_at = happened_at.millis().to_be_bytes();
    let ids = [from.corp(), from.id(), to.key.id()].map(str::as_bytes);
    let what = Digest::of(&[b"unanswered rename", ids[0], ids[1], ids[2], &happened_at]);
    let attempt = Digest::of(&[what.bytes(), entry.id.as_bytes()]);
    if !consume(tx, what, attempt, entry.at + EVENT_RETENTION)? {
        return Ok(());
    }
    doubt_notices.iter().try_for_each(|notice| notice.write(tx))?;
    entry.clone().with_detail(format!("{}; the platform could not be asked yet", change(renaming))).write(tx)
}

/// Locks the holder of the new identifier, whose sessions would be taken for the person's, until it is known where the holder is; `false`
/// if that was done before.
fn hold(tx: &mut Tx<'_>, renaming: &Renaming) -> Result<bool> {
    let Renaming { to, hold_until, deny_until, entry, .. } = renaming;
    let key = &to.key;
    note_waiting(tx, key)?;
    if tx.execute(HOLD, &args![key.corp(), key.id(), *hold_until, LeftReason::Renamed.name()])? == 0 {
        return Ok(false);
    }
    tx.record_change(CacheChange::Person(key.clone()));
    let ended = end_sessions_of(tx, key, SessionScope::All, (EndReason::Left, *deny_until), entry.at)?;
    let detail =
        format!("{}; locked until the former holder's identifier is known; {ended} session(s) ended", change(renaming));
    LogEntry { about: key.clone(), ..entry.clone() }.with_detail(detail).write(tx)?;
    Ok(true)
}

/// The identifier passed to a person without a record: nothing of a former holder stays.
fn pass_on(tx: &mut Tx<'_>, renaming: &Renaming, holder: NewRecord) -> Result<RenameOutcome> {
    let Renaming { from, to, happened_at, entry, .. } = renaming;
    if matches!(holder, NewRecord::Left | NewRecord::Empty) {
        clear_former_holder(tx, &to.key)?;
        reopen(tx, &to.key, None, None)?;
    }
    note_change(tx, from, *happened_at, entry.at)?;
    note_change(tx, &to.key, *happened_at, entry.at)?;
    Ok(RenameOutcome::Nothing)
}

/// Ends all that the holders of these records had, since it cannot be decided whose it is now. What events say about them from before
/// now does not count any more.
fn give_up(tx: &mut Tx<'_>, renaming: &Renaming, records: &[&EmployeeKey]) -> Result<RenameOutcome> {
    let Renaming { from, to, happened_at, doubt_notices, entry, .. } = renaming;
    note_change(tx, from, *happened_at, entry.at)?;
    note_change(tx, &to.key, *happened_at, entry.at)?;
    let mut ended = 0;
    for key in records {
        ended += vacate(tx, key, renaming)?;
        reopen(tx, key, None, None)?;
        note_change(tx, key, entry.at, entry.at)?;
    }
    doubt_notices.iter().try_for_each(|notice| notice.write(tx))?;
    let ids = records.iter().map(|key| key.id()).collect::<Vec<_>>().join(", ");
    let detail = format!("{}; not known whose record this is: {ids}; {ended} session(s) ended", change(renaming));
    entry.clone().with_detail(detail).write(tx)?;
    Ok(RenameOutcome::Undecided)
}

/// Ends the sessions under an identifier, and deletes what its holder had; returns how many ended.
fn vacate(tx: &mut Tx<'_>, key: &EmployeeKey, renaming: &Renaming) -> Result<usize> {
    let Renaming { deny_until, entry, .. } = renaming;
    // Sessions before roles, as elsewhere.
    let ended = end_sessions_of(tx, key, SessionScope::All, (EndReason::Left, *deny_until), entry.at)?;
    clear_former_holder(tx, key)?;
    tx.record_change(CacheChange::Person(key.clone()));
    Ok(ended)
}

/// What happened, for the log.
fn change(renaming: &Renaming) -> String {
    format!("{} -> {}", renaming.from.id(), renaming.to.key.id())
}

/// Gives the person's record the new identifier. With `waits` it is locked only because another person is to get the old one.
fn move_person(tx: &mut Tx<'_>, renaming: &Renaming, holder: NewRecord, waits: bool) -> Result<RenameOutcome> {
    let Renaming { from, to, happened_at, deny_until, entry, .. } = renaming;
    let Some(old) = find(tx, from)?.map(|found| found.person) else { return Ok(RenameOutcome::Nothing) };
    let had_credentials = has_credentials(tx, from)?;
    let gone = if holder == NewRecord::Former { Some(vacate(tx, &to.key, renaming)?) } else { None };
    if matches!(holder, NewRecord::Left | NewRecord::Empty) {
        clear_former_holder(tx, &to.key)?;
    }
    take_over(tx, renaming, &old, old.left.filter(|_| !waits))?;
    let (from_corp, from_id, to_corp, to_id) = (from.corp(), from.id(), to.key.corp(), to.key.id());
    // Sessions before roles, as elsewhere.
    let ended = end_sessions_of(tx, from, SessionScope::All, (EndReason::Left, *deny_until), entry.at)?;
    move_record(tx, from, &to.key, entry.at)?;
    end_credentials(tx, from)?;
    move_holder(tx, from, &to.key)?;
    tx.execute(MOVE_LINKS, &args![from_corp, from_id, to_corp, to_id])?;
    tx.execute(COPY_ROLES, &args![from_corp, from_id, to_corp, to_id])?;
    tx.execute("DELETE FROM user_role WHERE corp_id = $1 AND employee_key = $2", &args![from_corp, from_id])?;
    tx.record_change(CacheChange::Person(from.clone()));
    upsert(tx, to, entry.at)?;
    if had_credentials {
        require_code(tx, &to.key, entry.at)?;
        renaming.code_notices.iter().try_for_each(|notice| notice.write(tx))?;
    }
    note_change(tx, from, *happened_at, entry.at)?;
    // What a late event says about the former holder must not be taken for news of the person.
    note_change(tx, &to.key, if gone.is_some() { entry.at } else { *happened_at }, entry.at)?;
    log_move(tx, renaming, ended, gone)?;
    Ok(RenameOutcome::Moved)
}

/// Writes the rows of the log, and tells administrators of a former holder who is `gone` with so many sessions.
fn log_move(tx: &mut Tx<'_>, renaming: &Renaming, ended: usize, gone: Option<usize>) -> Result<()> {
    let mut detail = format!("{}; {ended} session(s) ended", change(renaming));
    if let Some(sessions) = gone {
        renaming.doubt_notices.iter().try_for_each(|notice| notice.write(tx))?;
        let id = renaming.to.key.id();
        detail =
            format!("{detail}; the identifier of the former holder of {id} is not known; {sessions} session(s) ended");
    }
    let mut entries = vec![renaming.entry.clone().with_detail(detail)];
    if let Some(leaving) = &renaming.leaving {
        entries.extend(leave_one(tx, leaving)?.1);
    }
    LogEntry::write_all(tx, &entries.iter().collect::<Vec<_>>())
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
fn take_over(tx: &mut Tx<'_>, renaming: &Renaming, old: &Person, left: Option<LeftReason>) -> Result<()> {
    let Renaming { from, to, happened_at, asked_at, is_active, entry, .. } = renaming;
    let (from_corp, from_id, to_corp, to_id) = (from.corp(), from.id(), to.key.corp(), to.key.id());
    tx.execute(LEAVE_RECORD, &args![from_corp, from_id, entry.at, LeftReason::Renamed.name()])?;
    // Who had left under the former identifier is not back because of another one.
    let left = left.filter(|_| !is_active).map(|why| (entry.at, why));
    let (left_at, left_why) = left.map(|(at, why)| (at, why.name())).unzip();
    // As old as the identifier is the person's: the next change may have happened before this one is handled.
    let since = entry.at.min(*happened_at);
    let values = args![from_corp, from_id, to_corp, to_id, &*to.employee_id, since, left_at, left_why];
    if tx.execute(INSERT_RECORD, &values)? > 0 {
        // The person may have left under the new identifier before this was handled.
        lock_out_leaver(tx, &to.key, is_active.then_some(*asked_at))?;
    } else {
        reopen(tx, &to.key, left, is_active.then_some(*asked_at))?;
    }
    if *is_active {
        lift(tx, &to.key, *asked_at)?;
    }
    let (address, source) = old.email.as_ref().map(|email| (&*email.address, email.source.name())).unzip();
    let values = args![to_corp, to_id, from_corp, from_id, old.subject.as_deref(), address, source];
    tx.execute(TAKE_OVER, &values).map(drop)
}

/// Gives a record that was emptied, or whose employee waits, to the next holder of its identifier, who may have left. `asked_at` is when
/// the platform said that the next holder is active.
fn reopen(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    left: Option<(Timestamp, LeftReason)>,
    asked_at: Option<Timestamp>,
) -> Result<()> {
    let (left_at, why) = left.map(|(at, why)| (at, why.name())).unzip();
    let values = args![key.corp(), key.id(), left_at, why, LeftReason::Renamed.name()];
    if tx.execute(REOPEN, &values)? > 0 {
        // The next holder may have left before this was handled.
        lock_out_leaver(tx, key, asked_at)?;
    }
    tx.record_change(CacheChange::Person(key.clone()));
    Ok(())
}
