//! How a session begins: all of it, or nothing.

use deskpass_core::{ClientInfo, Digest, EmployeeKey, Session, Timestamp};

use super::network::{self, SignInNetwork};
use crate::agents::partial_session;
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::{EndReason, deny};
use crate::locks::{lock_agent_and_employee, lock_default_role};
use crate::{LogEntry, Store, StoreError, links};

/// A session about to begin.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// What the token hashes to.
    pub digest: Digest,
    /// The session.
    pub session: Session,
    /// Whether the employee's agent record lends the role that is lent, which it then must do still.
    pub default_role_from_record: bool,
    /// What it stands on, without which it does not begin.
    pub precondition: Precondition,
    /// How many sessions the person may have at once; the oldest end.
    pub at_most: Option<usize>,
    /// How long the digests of those are denied.
    pub deny_until: Timestamp,
    /// The network it begins from.
    pub network: SignInNetwork,
    /// The row for the log.
    pub entry: LogEntry,
}

/// What a session stands on besides its employee.
#[derive(Clone, Debug)]
pub enum Precondition {
    /// Nothing.
    None,
    /// A proof, which it uses up.
    Proof(Digest),
    /// A link, by which this identity acts as the employee.
    Link(EmployeeKey),
    /// A half of a sign-in, which it completes.
    PartialSession(Digest),
}

/// What became of a session that was to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginOutcome {
    /// It has begun.
    Begun,
    /// It has begun, and a notice waits to be delivered to its employee.
    BegunWithNotice,
    /// Its employee is gone or shut out.
    EmployeeDisabled,
    /// What it was to stand on does not hold.
    PreconditionFailed,
    /// The agent record lends another role by now, or none.
    DefaultRoleRevoked,
}

impl Store {
    /// Begins a session and logs it, if it may begin.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn begin_session(&self, new_session: NewSession) -> Result<BeginOutcome, StoreError> {
        self.database.write(move |tx| begin(tx, &new_session)).await
    }
}

fn begin(tx: &mut Tx<'_>, new_session: &NewSession) -> Result<BeginOutcome, StoreError> {
    let NewSession { digest, session, default_role_from_record, precondition, at_most, deny_until, network, entry } =
        new_session;
    let (employee, now) = (&session.employee, session.created_at);
    if let Precondition::Proof(_) | Precondition::Link(_) = precondition {
        // Only for the order of locks: an administrator holds these rows of theirs before a link that they approve to themselves.
        lock_agent_and_employee(tx, employee)?;
    }
    let precondition_holds = match precondition {
        Precondition::None => true,
        Precondition::Proof(proof) => {
            // Of two that come with it at once, one waits here and then finds it used.
            links::lock_proof(tx, *proof)?;
            match links::identity_permitted(tx, *proof, employee, now)? {
                Some(identity) if identity != *employee => links::lock_link(tx, &identity, employee)?,
                permitted => permitted.is_some(),
            }
        }
        Precondition::Link(identity) => links::lock_link(tx, identity, employee)?,
        Precondition::PartialSession(digest) => partial_session::lock_if_valid(tx, *digest, employee, now)?,
    };
    if !precondition_holds {
        return Ok(BeginOutcome::PreconditionFailed);
    }
    // Such a role stands until the session ends, so it must not be taken away meanwhile either.
    if *default_role_from_record && lock_default_role(tx, employee)? != session.default_role {
        return Ok(BeginOutcome::DefaultRoleRevoked);
    }
    // Before the session is written, so that somebody who is being shut out meanwhile is not missed: whoever comes second
    // waits for this row.
    if !record_sign_in(tx, session, entry)? {
        return Ok(BeginOutcome::EmployeeDisabled);
    }
    if !insert(tx, *digest, session, &entry.visitor)? {
        return retry_outcome(tx, *digest, employee);
    }
    match precondition {
        Precondition::Proof(proof) => links::consume_proof(tx, *proof, employee, now)?,
        Precondition::PartialSession(digest) => partial_session::complete(tx, *digest)?,
        Precondition::None | Precondition::Link(_) => {}
    }
    if let Some(at_most) = at_most {
        end_oldest(tx, employee, *digest, *at_most, *deny_until)?;
    }
    tx.record_change(CacheChange::SessionStarted(*digest, session.clone()));
    let told = network::record_network(tx, employee, network, now)?;
    entry.write(tx)?;
    Ok(if told { BeginOutcome::BegunWithNotice } else { BeginOutcome::Begun })
}

/// Notes the sign-in with the employee, unless they are gone or shut out.
fn record_sign_in(tx: &Tx<'_>, session: &Session, entry: &LogEntry) -> Result<bool, StoreError> {
    let text = "UPDATE employee SET last_login_at = $3, last_login_ip = $4
        WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL";
    let (corp, id) = (session.employee.corp(), session.employee.id());
    Ok(tx.execute(text, &args![corp, id, session.created_at, entry.visitor.address.logged])? == 1)
}

/// Writes the session; `false` when its token has begun one already, or was ended.
fn insert(tx: &Tx<'_>, digest: Digest, session: &Session, visitor: &ClientInfo) -> Result<bool, StoreError> {
    let text = "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at,
        expires_at, proven, lent_role_id, ip_address, user_agent, seen_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $7
        WHERE NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1) ON CONFLICT (digest) DO NOTHING";
    let values = args![
        digest,
        session.employee.corp(),
        session.employee.id(),
        session.current_role,
        session.method.name(),
        session.source.name(),
        session.created_at,
        session.expires_at,
        session.vouched.number(),
        session.default_role,
        visitor.address.decided,
        visitor.user_agent.as_str()
    ];
    Ok(tx.execute(text, &values)? == 1)
}

/// A sign-in may be tried again when nobody knows whether it was committed. Then its session stands as it is.
fn retry_outcome(tx: &Tx<'_>, digest: Digest, employee: &EmployeeKey) -> Result<BeginOutcome, StoreError> {
    let text = "SELECT 1 FROM session WHERE digest = $1 AND corp_id = $2 AND employee_key = $3";
    let stands = tx.first(text, &args![digest, employee.corp(), employee.id()], |row| row.int(0))?.is_some();
    Ok(if stands { BeginOutcome::Begun } else { BeginOutcome::PreconditionFailed })
}

/// Ends the oldest sessions of an employee, so that `at_most` remain with the one just `born`.
fn end_oldest(
    tx: &mut Tx<'_>,
    key: &EmployeeKey,
    new: Digest,
    at_most: usize,
    deny_until: Timestamp,
) -> Result<(), StoreError> {
    let text =
        "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE corp_id = $1 AND employee_key = $2
        AND digest <> $3 ORDER BY created_at DESC, digest LIMIT 1000 OFFSET $4) RETURNING digest";
    let others = i64::try_from(at_most.saturating_sub(1)).unwrap_or(i64::MAX);
    let ended = tx.rows(text, &args![key.corp(), key.id(), new, others], |row| row.digest(0))?;
    ended.into_iter().try_for_each(|digest| deny(tx, digest, EndReason::Kicked, deny_until))
}
