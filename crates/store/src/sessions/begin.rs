//! Beginning sessions, in one transaction.

use std::collections::HashSet;
use std::sync::LazyLock;

use deskpass_core::{Digest, Session, Timestamp};

use super::held_roles;
use super::network::record_networks;
use super::new_session::{NewSession, Precondition};
use crate::agents::partial_session;
use crate::cache::CacheChange;
use crate::database::{RowList, Sql, SqlValue, Tx, names};
use crate::deny_list::{EndReason, deny_each, is_denied_each};
use crate::directory::is_unconfirmed;
use crate::locks::{lock_agent, lock_bound_link, lock_default_role, lock_employee, lock_link, lock_proof};
use crate::oidc::endings::end_with_sessions_of;
use crate::{LogEntry, Result, StoreError, links};

/// Outcome of beginning a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginOutcome {
    /// The session has begun.
    Begun,
    /// The session has begun, and a notice to its employee is queued.
    BegunWithNotice,
    /// An earlier request began this session, with the same token.
    AlreadyBegun,
    /// The employee is missing or disabled, or left.
    EmployeeDisabled,
    /// The identifier passed to another person after the platform was asked.
    HolderChanged,
    /// The precondition does not hold.
    PreconditionFailed,
    /// The default role of the session may not apply any more: the agent record has another one by now, or none, or the employee's
    /// roles have changed.
    DefaultRoleRevoked,
}

/// A session that is to begin, and its outcome as soon as it is decided.
type Candidate<'a> = (&'a NewSession, Option<BeginOutcome>);

/// Begins sessions, in this order; returns the outcome of each. Statements of one kind go to PostgreSQL at once: so there are as many round
/// trips for many sessions as for one, except for those with a precondition, from a new network, or that end others.
pub(super) fn begin_all(tx: &mut Tx<'_>, sessions: &[&NewSession]) -> Result<Vec<BeginOutcome>> {
    let mut all = Vec::with_capacity(sessions.len());
    for new in sessions {
        all.push((*new, refusal(tx, new)?));
    }
    // Before the sessions are written: disabling an employee, or changing their roles, concurrently waits for the row, so it misses no
    // session, and the roles that are read below stay as they are. A sign-in that is refused below counts as the employee's last one; it is
    // usually tried again at once, with the current roles.
    let recorded = record_sign_ins(tx, &undecided(&all))?;
    let refused = undecided(&all).into_iter().zip(recorded);
    let refused = refused.map(|(new, recorded)| (!recorded).then(|| why_not_recorded(tx, new)).transpose());
    let refused = refused.collect::<Result<Vec<_>>>()?;
    decide(&mut all, refused);
    let with_default_role = decide_default_roles(tx, &undecided(&all))?;
    decide(&mut all, with_default_role);
    let inserted = insert(tx, &undecided(&all))?;
    decide(&mut all, inserted);
    let begun = undecided(&all);
    for new in &begun {
        use_precondition(tx, new)?;
    }
    end_oldest(tx, &begun)?;
    for new in &begun {
        tx.record_change(CacheChange::SessionStarted(new.digest, new.session.clone()));
    }
    let notified = record_networks(tx, &begun)?;
    LogEntry::write_all(tx, &begun.iter().map(|new| &new.entry).collect::<Vec<_>>())?;
    let outcome = |notified| if notified { BeginOutcome::BegunWithNotice } else { BeginOutcome::Begun };
    decide(&mut all, notified.into_iter().map(|notified| Some(outcome(notified))));
    // Each session has one: otherwise those after it would get the outcomes of others.
    let outcomes: Option<Vec<_>> = all.into_iter().map(|(_, outcome)| outcome).collect();
    outcomes.ok_or_else(|| StoreError::unavailable(&"a session was neither begun nor refused"))
}

fn undecided<'a>(all: &[Candidate<'a>]) -> Vec<&'a NewSession> {
    all.iter().filter(|(_, outcome)| outcome.is_none()).map(|(new, _)| *new).collect()
}

/// Sets the outcomes of those that are undecided.
fn decide(all: &mut [Candidate<'_>], outcomes: impl IntoIterator<Item = Option<BeginOutcome>>) {
    let undecided = all.iter_mut().filter(|(_, outcome)| outcome.is_none());
    undecided.zip(outcomes).for_each(|((_, outcome), decided)| *outcome = decided);
}

/// The outcome of a session whose precondition does not hold; locks what the precondition depends on until the transaction ends.
fn refusal(tx: &Tx<'_>, new: &NewSession) -> Result<Option<BeginOutcome>> {
    let (employee, now) = (&new.session.employee, new.session.created_at);
    if let Precondition::Proof(_) | Precondition::Link(_) = new.precondition {
        // Only for the lock order: an administrator who approves a link to themselves locks these rows before the link.
        lock_agent(tx, employee)?;
        lock_employee(tx, employee)?;
    }
    let precondition_holds = match &new.precondition {
        Precondition::None => true,
        Precondition::Proof(proof) => {
            // Of two concurrent sign-ins with one proof, the second waits here and then finds it consumed.
            lock_proof(tx, *proof)?;
            match links::identity_permitted(tx, *proof, employee, now)? {
                Some(identity) if identity != *employee => lock_link(tx, &identity, employee)?,
                permitted => permitted.is_some(),
            }
        }
        Precondition::Link(identity) => lock_bound_link(tx, identity, employee)?,
        Precondition::PartialSession(digest) => partial_session::lock_if_valid(tx, *digest, employee, now)?,
    };
    if !precondition_holds {
        // An attempt before this one may have used the proof or the partial session up.
        return retry_outcome(tx, new).map(Some);
    }
    // A default role is valid until the session ends, so it must not be revoked meanwhile either.
    if new.default_role_from_record
        && (lock_default_role(tx, employee)? != new.session.default_role || is_unconfirmed(tx, employee)?)
    {
        return without_default_role(tx, new).map(Some);
    }
    Ok(None)
}

/// The outcomes of sessions whose default role may not apply any more, because the roles of their employees have changed.
fn decide_default_roles(tx: &Tx<'_>, sessions: &[&NewSession]) -> Result<Vec<Option<BeginOutcome>>> {
    let changed = held_roles::have_changed(tx, sessions)?;
    let each = sessions.iter().zip(changed);
    each.map(|(new, changed)| changed.then(|| without_default_role(tx, new)).transpose()).collect()
}

/// The outcome of a session that may not begin with its default role: it may have begun before that changed.
fn without_default_role(tx: &Tx<'_>, new: &NewSession) -> Result<BeginOutcome> {
    Ok(if has_begun(tx, new)? { BeginOutcome::AlreadyBegun } else { BeginOutcome::DefaultRoleRevoked })
}

/// The platform must have been asked since the identifier has its present holder.
const RECORD_SIGN_IN: &str = "UPDATE employee SET last_login_at = $3, last_login_ip = $4, watched = 1
    WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND left_at IS NULL
    AND COALESCE(holder_since_at, 0) <= $5";

/// The same for an employee about whom the platform is asked already. SQLite deletes and inserts the entry of an index whenever a column of
/// the index's condition is set, also to the same value: so this does not set it.
const RECORD_SIGN_IN_OF_WATCHED: &str = "UPDATE employee SET last_login_at = $3, last_login_ip = $4
    WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND left_at IS NULL AND watched = 1
    AND COALESCE(holder_since_at, 0) <= $5";

/// Records the sign-ins with the employees, about whom the platform is asked from now on; `false` for one who is missing or disabled, or
/// left, or is another person by now.
fn record_sign_ins(tx: &Tx<'_>, sessions: &[&NewSession]) -> Result<Vec<bool>> {
    let Sql::Sqlite(_) = **tx else { return record_each(tx, RECORD_SIGN_IN, sessions) };
    let mut recorded = record_each(tx, RECORD_SIGN_IN_OF_WATCHED, sessions)?;
    for (new, recorded) in sessions.iter().zip(&mut recorded).filter(|(_, recorded)| !**recorded) {
        *recorded = tx.execute(RECORD_SIGN_IN, &sign_in_values(new))? == 1;
    }
    Ok(recorded)
}

fn record_each(tx: &Tx<'_>, text: &str, sessions: &[&NewSession]) -> Result<Vec<bool>> {
    let statements: Vec<_> = sessions.iter().map(|new| (text, sign_in_values(new).to_vec())).collect();
    Ok(tx.execute_all(&statements)?.into_iter().map(|changed| changed == 1).collect())
}

fn sign_in_values(NewSession { session, entry, asked_at, .. }: &NewSession) -> [SqlValue<'_>; 5] {
    let (employee, asked_at) = (&session.employee, asked_at.unwrap_or(Timestamp::from_millis(i64::MAX)));
    args![employee.corp(), employee.id(), session.created_at, entry.visitor.address.logged, asked_at]
}

/// Why a sign-in was not recorded with the employee.
fn why_not_recorded(tx: &Tx<'_>, NewSession { session, .. }: &NewSession) -> Result<BeginOutcome> {
    let text = "SELECT 1 FROM employee WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL
        AND left_at IS NULL";
    let is_enabled = tx.exists(text, &args![session.employee.corp(), session.employee.id()])?;
    Ok(if is_enabled { BeginOutcome::HolderChanged } else { BeginOutcome::EmployeeDisabled })
}

/// Writes a session. SQLite runs it without a journal of its own, because it writes one row.
const INSERT: &str = "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source,
    created_at, expires_at, proven, lent_role_id, ip_address, user_agent, seen_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $7) ON CONFLICT (digest) DO NOTHING";

/// The same, unless the token was ended: in one round trip. SQLite cannot know that it writes one row, and would copy each page before it is
/// changed.
const INSERT_UNLESS_DENIED: &str = "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method,
    login_source, created_at, expires_at, proven, lent_role_id, ip_address, user_agent, seen_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $7
    WHERE NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1) ON CONFLICT (digest) DO NOTHING";

/// The same for several sessions; returns the digests of those that were written. The tokens are looked for on the deny list one by one: a
/// join could read all of it.
pub(super) static INSERT_LIST: LazyLock<RowList<12>> = LazyLock::new(|| {
    RowList::new(LIST_SIZE, COLUMNS, |new| {
        let columns = names(&COLUMNS);
        format!(
            "INSERT INTO session ({columns}, seen_at) SELECT {columns}, created_at FROM {new} WHERE digest IS NOT NULL
             AND (SELECT 1 FROM denied_token AS denied WHERE denied.digest = new.digest) IS NULL
             ON CONFLICT (digest) DO NOTHING RETURNING digest"
        )
    })
});

/// How many sessions a statement writes: a group has some 20 to 60.
const LIST_SIZE: usize = 16;

/// The columns of [`row_values`].
const COLUMNS: [(&str, &str); 12] = [
    ("digest", "text"),
    ("corp_id", "text"),
    ("employee_key", "text"),
    ("role_id", "bigint"),
    ("login_method", "text"),
    ("login_source", "text"),
    ("created_at", "bigint"),
    ("expires_at", "bigint"),
    ("proven", "bigint"),
    ("lent_role_id", "bigint"),
    ("ip_address", "text"),
    ("user_agent", "text"),
];

/// Writes sessions; returns the outcome of those whose token has begun a session already, or was ended.
fn insert(tx: &Tx<'_>, sessions: &[&NewSession]) -> Result<Vec<Option<BeginOutcome>>> {
    let inserted = match **tx {
        Sql::Sqlite(_) => insert_unless_denied(tx, sessions)?,
        Sql::Postgres(_) if sessions.len() > 1 => insert_lists(tx, sessions)?,
        Sql::Postgres(_) => insert_each(tx, INSERT_UNLESS_DENIED, sessions)?,
    };
    let each = sessions.iter().zip(inserted);
    each.map(|(new, inserted)| if inserted { Ok(None) } else { retry_outcome(tx, new).map(Some) }).collect()
}

/// Looks for the tokens on the deny list first: on SQLite, no other transaction can end one meanwhile.
fn insert_unless_denied(tx: &Tx<'_>, sessions: &[&NewSession]) -> Result<Vec<bool>> {
    let digests: Vec<_> = sessions.iter().map(|new| new.digest).collect();
    let denied = is_denied_each(tx, &digests)?;
    let permitted = sessions.iter().zip(&denied).filter(|(_, denied)| !**denied).map(|(new, _)| *new);
    let mut inserted = insert_each(tx, INSERT, &permitted.collect::<Vec<_>>())?.into_iter();
    Ok(denied.into_iter().map(|denied| !denied && inserted.next().unwrap_or_default()).collect())
}

fn insert_lists(tx: &Tx<'_>, sessions: &[&NewSession]) -> Result<Vec<bool>> {
    let rows = sessions.iter().map(|new| row_values(new)).collect();
    let inserted = tx.rows_for_each(&INSERT_LIST.text, &INSERT_LIST.values(rows), |row| row.digest(0))?;
    let mut inserted: HashSet<Digest> = inserted.into_iter().flatten().collect();
    // Of two with one digest, PostgreSQL writes the first.
    Ok(sessions.iter().map(|new| inserted.remove(&new.digest)).collect())
}

fn insert_each(tx: &Tx<'_>, text: &str, sessions: &[&NewSession]) -> Result<Vec<bool>> {
    let statements: Vec<_> = sessions.iter().map(|new| (text, row_values(new).to_vec())).collect();
    Ok(tx.execute_all(&statements)?.into_iter().map(|inserted| inserted == 1).collect())
}

/// The values of the row of a session.
fn row_values(NewSession { digest, session, entry, .. }: &NewSession) -> [SqlValue<'_>; 12] {
    let Session { current_role, created_at, expires_at, default_role, .. } = *session;
    let (corp, id, vouched) = (session.employee.corp(), session.employee.id(), session.vouched.number());
    let (method, source, visitor) = (session.method.name(), session.source.name(), &entry.visitor);
    args![
        *digest,
        corp,
        id,
        current_role,
        method,
        source,
        created_at,
        expires_at,
        vouched,
        default_role,
        visitor.address.decided,
        visitor.user_agent.as_str()
    ]
}

/// The outcome for a sign-in that may have been committed before.
fn retry_outcome(tx: &Tx<'_>, new: &NewSession) -> Result<BeginOutcome> {
    Ok(if has_begun(tx, new)? { BeginOutcome::AlreadyBegun } else { BeginOutcome::PreconditionFailed })
}

/// Whether an earlier attempt began the session.
fn has_begun(tx: &Tx<'_>, new: &NewSession) -> Result<bool> {
    let text = "SELECT 1 FROM session WHERE digest = $1 AND corp_id = $2 AND employee_key = $3";
    let employee = &new.session.employee;
    tx.exists(text, &args![new.digest, employee.corp(), employee.id()])
}

/// Uses up what permits a session once.
fn use_precondition(tx: &Tx<'_>, new: &NewSession) -> Result<()> {
    match &new.precondition {
        Precondition::Proof(proof) => links::consume_proof(tx, *proof, &new.session.employee, new.session.created_at),
        Precondition::PartialSession(digest) => partial_session::complete(tx, *digest),
        Precondition::None | Precondition::Link(_) => Ok(()),
    }
}

/// Ends the oldest sessions of employees, so that `at_most` of each remain, including the new one.
fn end_oldest(tx: &mut Tx<'_>, begun: &[&NewSession]) -> Result<()> {
    let text =
        "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE corp_id = $1 AND employee_key = $2
        AND digest <> $3 ORDER BY created_at DESC, digest LIMIT 1000 OFFSET $4) RETURNING digest";
    let limited: Vec<_> = begun.iter().filter(|new| new.at_most.is_some()).collect();
    let values = limited.iter().map(|NewSession { digest, session, at_most, .. }| {
        let others = i64::try_from(at_most.unwrap_or_default().saturating_sub(1)).unwrap_or(i64::MAX);
        args![session.employee.corp(), session.employee.id(), *digest, others]
    });
    let ended = tx.rows_for_each(text, &values.collect::<Vec<_>>(), |row| row.digest(0))?;
    let ended: Vec<_> = limited.iter().zip(ended).filter(|(_, ended)| !ended.is_empty()).collect();
    let denied = ended.iter().flat_map(|(new, ended)| ended.iter().map(move |digest| (*digest, new.deny_until)));
    deny_each(tx, &denied.collect::<Vec<_>>(), EndReason::Kicked)?;
    ended.iter().try_for_each(|(new, _)| end_with_sessions_of(tx, &new.session.employee, new.session.created_at))
}
