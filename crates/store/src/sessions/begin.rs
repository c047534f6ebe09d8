//! Beginning a session, in one transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deskpass_core::{Digest, Session, Timestamp};

use super::held_roles::held_roles;
use super::network::{LAST_SEEN, record_network};
use super::new_session::{NewSession, Precondition};
use crate::agents::partial_session;
use crate::cache::CacheChange;
use crate::database::{Sql, SqlValue, Tx};
use crate::deny_list::{EndReason, deny_all, is_denied};
use crate::directory::is_unconfirmed;
use crate::locks::{lock_agent, lock_bound_link, lock_default_role, lock_employee, lock_link, lock_proof};
use crate::oidc::endings::end_with_sessions_of;
use crate::{Result, Store, links};

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

/// The attempts of one request to begin its session.
#[derive(Debug, Default)]
struct Attempts {
    /// Whether the last one began it. If it is unknown whether that was committed, the next one may find the session.
    has_begun: AtomicBool,
}

impl Attempts {
    /// The outcome for the request, from that of an attempt.
    fn outcome(&self, outcome: BeginOutcome, is_repeated: bool) -> BeginOutcome {
        if outcome == BeginOutcome::AlreadyBegun && is_repeated && self.has_begun.load(Ordering::Relaxed) {
            return BeginOutcome::Begun;
        }
        let begins = matches!(outcome, BeginOutcome::Begun | BeginOutcome::BegunWithNotice);
        self.has_begun.store(begins, Ordering::Relaxed);
        outcome
    }
}

impl Store {
    /// Begins a session and logs it, if the preconditions hold. Repetition with the same digest keeps the session as it is, and
    /// logs nothing: so a sign-in may be retried when it is unknown whether it was committed.
    pub async fn begin_session(&self, new_session: NewSession) -> Result<BeginOutcome> {
        let pending = Arc::new((new_session, Attempts::default()));
        let work = move |tx: &mut Tx<'_>, is_repeated| {
            let (new_session, attempts) = &*pending;
            Ok(attempts.outcome(begin(tx, new_session)?, is_repeated))
        };
        self.database.write_repeatably(work).await
    }
}

fn begin(tx: &mut Tx<'_>, new: &NewSession) -> Result<BeginOutcome> {
    if let Some(refused) = refusal(tx, new)? {
        return Ok(refused);
    }
    // Before the session is written: disabling the employee, or changing their roles, concurrently waits for the row, so it does not miss
    // the session, and the roles that are read below stay as they are. A sign-in that is refused below counts as the employee's last one; it
    // is usually tried again at once, with the current roles.
    if !record_sign_in(tx, new)? {
        return why_not_recorded(tx, new);
    }
    // A default role is added only to known roles: if others were assigned meanwhile, it may not apply any more.
    if new.session.default_role.is_some() && held_roles(tx, new)? != new.held_roles {
        return without_default_role(tx, new);
    }
    let (is_written, network_seen) = insert(tx, new)?;
    if !is_written {
        return retry_outcome(tx, new);
    }
    use_precondition(tx, new)?;
    end_oldest(tx, new)?;
    tx.record_change(CacheChange::SessionStarted(new.digest, new.session.clone()));
    let is_notified = record_network(tx, new, network_seen)?;
    new.entry.write(tx)?;
    Ok(if is_notified { BeginOutcome::BegunWithNotice } else { BeginOutcome::Begun })
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

/// Records the sign-in with the employee, about whom the platform is asked from now on; `false` for one who is missing or disabled, or
/// left, or is another person by now.
fn record_sign_in(tx: &Tx<'_>, new: &NewSession) -> Result<bool> {
    let values = sign_in_values(new);
    if let Sql::Sqlite(_) = **tx
        && tx.execute(RECORD_SIGN_IN_OF_WATCHED, &values)? == 1
    {
        return Ok(true);
    }
    Ok(tx.execute(RECORD_SIGN_IN, &values)? == 1)
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

/// Writes a session, unless the token has begun one already, or was ended; returns whether it did, and when the employee last signed in from
/// this network, if at all.
fn insert(tx: &Tx<'_>, new: &NewSession) -> Result<(bool, Option<Timestamp>)> {
    let text = match **tx {
        // No other transaction can end the token meanwhile.
        Sql::Sqlite(_) if is_denied(tx, new.digest)? => return Ok((false, None)),
        Sql::Sqlite(_) => INSERT,
        Sql::Postgres(_) => INSERT_UNLESS_DENIED,
    };
    let employee = &new.session.employee;
    let network = args![employee.corp(), employee.id(), &*new.network.name];
    let insert = [(text, row_values(new).to_vec())];
    let (inserted, seen) = tx.execute_and_read(&insert, LAST_SEEN, &network, |row| row.timestamp(0))?;
    Ok((inserted == [1], seen.first().copied()))
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

/// Ends the oldest sessions of the employee, so that `at_most` remain, including the new one.
fn end_oldest(tx: &mut Tx<'_>, new: &NewSession) -> Result<()> {
    let Some(at_most) = new.at_most else { return Ok(()) };
    let text =
        "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE corp_id = $1 AND employee_key = $2
        AND digest <> $3 ORDER BY created_at DESC, digest LIMIT 1000 OFFSET $4) RETURNING digest";
    let employee = &new.session.employee;
    let others = i64::try_from(at_most.saturating_sub(1)).unwrap_or(i64::MAX);
    let ended = tx.rows(text, &args![employee.corp(), employee.id(), new.digest, others], |row| row.digest(0))?;
    if ended.is_empty() {
        return Ok(());
    }
    let texts: Vec<_> = ended.iter().map(Digest::to_text).collect();
    deny_all(tx, &texts, EndReason::Kicked, new.deny_until)?;
    for digest in ended {
        tx.record_change(CacheChange::Session(digest));
    }
    end_with_sessions_of(tx, employee, new.session.created_at)
}

#[cfg(test)]
mod tests {
    use super::BeginOutcome::{AlreadyBegun, Begun};
    use super::*;

    #[test]
    fn a_session_that_an_attempt_finds_counts_as_begun_if_the_attempt_before_may_have_begun_it() {
        // The outcome of each attempt, whether the one before may have been committed, and the outcome for the request.
        let sequences: [&[(BeginOutcome, bool, BeginOutcome)]; 4] = [
            &[(Begun, false, Begun), (AlreadyBegun, true, Begun), (AlreadyBegun, true, Begun)],
            &[(AlreadyBegun, false, AlreadyBegun), (AlreadyBegun, true, AlreadyBegun)],
            // The first was rolled back together with the session that it found.
            &[(AlreadyBegun, false, AlreadyBegun), (Begun, false, Begun), (AlreadyBegun, true, Begun)],
            &[(Begun, false, Begun), (AlreadyBegun, false, AlreadyBegun)],
        ];
        for sequence in sequences {
            let attempts = Attempts::default();
            for (outcome, is_repeated, expected) in sequence {
                assert_eq!(attempts.outcome(*outcome, *is_repeated), *expected, "{sequence:?}");
            }
        }
    }
}
