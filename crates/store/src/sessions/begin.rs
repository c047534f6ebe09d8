//! Beginning a session, in one transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deskpass_core::{ClientInfo, Digest, EmployeeKey, Session, Timestamp};

use super::network::{self, SignInNetwork};
use crate::agents::partial_session;
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::{EndReason, deny};
use crate::locks::{lock_agent, lock_bound_link, lock_default_role, lock_employee, lock_link, lock_proof};
use crate::oidc::endings::end_with_sessions_of;
use crate::{LogEntry, Result, Store, links};

/// A session to begin.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Digest of the token.
    pub digest: Digest,
    /// The session.
    pub session: Session,
    /// Whether the default role comes from the employee's agent record, which must then still have it.
    pub default_role_from_record: bool,
    /// The condition for beginning the session.
    pub precondition: Precondition,
    /// The maximum number of sessions of the employee; the oldest end.
    pub at_most: Option<usize>,
    /// How long the digests of the ended sessions are denied.
    pub deny_until: Timestamp,
    /// The network of the sign-in.
    pub network: SignInNetwork,
    /// The audit event.
    pub entry: LogEntry,
}

/// The condition for beginning a session, besides the enabled employee.
#[derive(Clone, Debug)]
pub enum Precondition {
    /// No condition.
    None,
    /// A proof, which the session consumes.
    Proof(Digest),
    /// A link in use, by which this identity acts as the employee.
    Link(EmployeeKey),
    /// A partial session, which the session completes.
    PartialSession(Digest),
}

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
    /// The precondition does not hold.
    PreconditionFailed,
    /// The agent record has another default role by now, or none.
    DefaultRoleRevoked,
}

impl Store {
    /// Begins a session and logs it, if the preconditions hold. Repetition with the same digest keeps the session as it is, and
    /// logs nothing: so a sign-in may be retried when it is unknown whether it was committed.
    pub async fn begin_session(&self, new_session: NewSession) -> Result<BeginOutcome> {
        // Whether the first attempt of this request found that an earlier request had begun it. The second one finds the same then.
        let had_begun = Arc::new(AtomicBool::new(false));
        self.database
            .write_repeatably(move |tx, is_repeated| {
                let outcome = begin(tx, &new_session)?;
                if outcome != BeginOutcome::AlreadyBegun {
                    return Ok(outcome);
                }
                if is_repeated && !had_begun.load(Ordering::Relaxed) {
                    // The first attempt of this request began it.
                    return Ok(BeginOutcome::Begun);
                }
                had_begun.store(true, Ordering::Relaxed);
                Ok(BeginOutcome::AlreadyBegun)
            })
            .await
    }
}

fn begin(tx: &mut Tx<'_>, new_session: &NewSession) -> Result<BeginOutcome> {
    let NewSession { digest, session, default_role_from_record, precondition, at_most, deny_until, network, entry } =
        new_session;
    let (employee, now) = (&session.employee, session.created_at);
    if let Precondition::Proof(_) | Precondition::Link(_) = precondition {
        // Only for the lock order: an administrator who approves a link to themselves locks these rows before the link.
        lock_agent(tx, employee)?;
        lock_employee(tx, employee)?;
    }
    let precondition_holds = match precondition {
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
        return retry_outcome(tx, *digest, employee);
    }
    // A default role is valid until the session ends, so it must not be revoked meanwhile either.
    if *default_role_from_record && lock_default_role(tx, employee)? != session.default_role {
        return Ok(BeginOutcome::DefaultRoleRevoked);
    }
    // Before the session is written: disabling the employee concurrently waits for this row, so it misses no session.
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
        end_oldest(tx, (employee, *digest), *at_most, *deny_until, now)?;
    }
    tx.record_change(CacheChange::SessionStarted(*digest, session.clone()));
    let is_new_network = network::record_network(tx, employee, network, now)?;
    entry.write(tx)?;
    Ok(if is_new_network { BeginOutcome::BegunWithNotice } else { BeginOutcome::Begun })
}

/// Records the sign-in with the employee, about whom the platform is asked from now on; `false` if they are missing or disabled, or left.
fn record_sign_in(tx: &Tx<'_>, session: &Session, entry: &LogEntry) -> Result<bool> {
    let text = "UPDATE employee SET last_login_at = $3, last_login_ip = $4, watched = 1
        WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND left_at IS NULL";
    let (corp, id) = (session.employee.corp(), session.employee.id());
    Ok(tx.execute(text, &args![corp, id, session.created_at, entry.visitor.address.logged])? == 1)
}

/// Writes the session; `false` when its token has begun a session already, or was ended.
fn insert(tx: &Tx<'_>, digest: Digest, session: &Session, visitor: &ClientInfo) -> Result<bool> {
    let text = "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at,
        expires_at, proven, lent_role_id, ip_address, user_agent, seen_at)
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $7
        WHERE NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1) ON CONFLICT (digest) DO NOTHING";
    let Session { current_role, created_at, expires_at, default_role, .. } = *session;
    let (corp, id, vouched) = (session.employee.corp(), session.employee.id(), session.vouched.number());
    let (method, source, user_agent) = (session.method.name(), session.source.name(), visitor.user_agent.as_str());
    let values = args![
        digest,
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
        user_agent
    ];
    Ok(tx.execute(text, &values)? == 1)
}

/// The outcome for a sign-in that may have been committed before.
fn retry_outcome(tx: &Tx<'_>, digest: Digest, employee: &EmployeeKey) -> Result<BeginOutcome> {
    let text = "SELECT 1 FROM session WHERE digest = $1 AND corp_id = $2 AND employee_key = $3";
    let found = tx.exists(text, &args![digest, employee.corp(), employee.id()])?;
    Ok(if found { BeginOutcome::AlreadyBegun } else { BeginOutcome::PreconditionFailed })
}

/// Ends the oldest sessions of an employee, so that `at_most` remain, including the new one.
fn end_oldest(
    tx: &mut Tx<'_>,
    (key, new): (&EmployeeKey, Digest),
    at_most: usize,
    deny_until: Timestamp,
    now: Timestamp,
) -> Result<()> {
    let text =
        "DELETE FROM session WHERE digest IN (SELECT digest FROM session WHERE corp_id = $1 AND employee_key = $2
        AND digest <> $3 ORDER BY created_at DESC, digest LIMIT 1000 OFFSET $4) RETURNING digest";
    let others = i64::try_from(at_most.saturating_sub(1)).unwrap_or(i64::MAX);
    let ended = tx.rows(text, &args![key.corp(), key.id(), new, others], |row| row.digest(0))?;
    if ended.is_empty() {
        return Ok(());
    }
    ended.into_iter().try_for_each(|digest| deny(tx, digest, EndReason::Kicked, deny_until))?;
    end_with_sessions_of(tx, key, now)
}
