//! The author of a change, and whether the author may still make it when it commits.
//!
//! A request is authorised when its head arrives; its body may follow much later. So every change names its session, and
//! the transaction first requires that the session exists, its employee is enabled and has not left, and its role is
//! active and held. These rows stay locked until the commit. A concurrent revocation either commits first, and the change
//! is refused, or waits.
//!
//! The allow lists are read without a lock. Administrators are serialised with changes to the lists, so for them the
//! lists do not change meanwhile; a change made in another role may commit just after a list that excludes its client.
//!
//! Locks are taken in one order: the administration lock, the agent record, the employee, then the employee's rows: an
//! identity link, sessions, role assignments, then an OpenID Connect client, then grants; and the actor's before the target's. Administrators are serialised, so two
//! who change each other do not deadlock. Transactions about many employees lock these in the order of their keys; the
//! chains of the log come last, in their order. Other transactions can deadlock: two users who are not administrators and
//! end each other's sessions, and ending all sessions of an employee while their last uses are written, which happens in
//! the order of digests. PostgreSQL then rolls one of the two back after a second, and it is retried.

use std::net::IpAddr;

use deskpass_core::{Digest, EmployeeKey, Role, Timestamp};

use crate::access_rules::read_allow_lists;
use crate::agents::partial_session;
use crate::cache::CacheChange;
use crate::database::Tx;
use crate::deny_list::{EndReason, denied};
use crate::locks::{LockedSession, lock_administration, lock_agent, lock_enabled_employee, lock_role, lock_session};
use crate::{Result, Store, StoreError};

/// The author of a change.
#[derive(Clone, Debug)]
pub enum ChangeAuthor {
    /// No session: the operator on the command line, or a change with its own precondition, such as a setup code.
    NoSession,
    /// A session.
    Session(Actor),
    /// A partial session: a correct password, still without a one-time password.
    PartialSession {
        /// Digest of the token.
        digest: Digest,
        /// The employee.
        employee: EmployeeKey,
        /// When the change is made.
        now: Timestamp,
    },
}

/// The session that makes a change.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Digest of the session's token.
    pub session: Digest,
    /// The employee.
    pub employee: EmployeeKey,
    /// The role that the change requires: it must be active, and held. `None` accepts any role.
    pub role: Option<Role>,
    /// The client's address, if the active role must be allowed there.
    pub from: Option<IpAddr>,
    /// When the change is made: the session must not have expired by then.
    pub now: Timestamp,
}

/// Why the author may no longer make the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The session was ended, or its employee was disabled or left.
    Ended(EndReason),
    /// The session expired.
    Expired,
    /// There is no such session.
    Unknown,
    /// Another role is active.
    RoleSwitched,
    /// The active role is no longer held.
    RoleTakenAway(Role),
    /// The active role is no longer allowed from that address.
    AddressNotAllowed(Role),
    /// The active role ends by itself, and the change would outlast it.
    RoleIsTemporary,
}

/// Why a change failed. The transaction was rolled back, unless [`StoreError::is_outcome_unknown`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum ChangeError {
    /// The author may no longer make the change.
    #[error("revoked: {0:?}")]
    Revoked(Revocation),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Checks an author before something is counted or read on their behalf. The change itself checks the author again.
    pub async fn check_author(&self, by: ChangeAuthor) -> Result<(), ChangeError> {
        self.write_as(by, |_| Ok(())).await
    }

    /// Runs `work` in a transaction that checks the author first.
    pub(crate) async fn write_as<T: Send + 'static>(
        &self,
        by: ChangeAuthor,
        work: impl Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, ChangeError> {
        let session = if let ChangeAuthor::Session(actor) = &by { Some(actor.session) } else { None };
        let done = self.database.write(move |tx| match check_author(tx, &by)? {
            Ok(()) => work(tx).map(Ok),
            Err(revoked) => Ok(Err(revoked)),
        });
        done.await?.map_err(|revoked| {
            // Another node may have revoked the session, so the cached entry is stale.
            if let Some(digest) = session {
                self.cache.apply(CacheChange::Session(digest));
            }
            ChangeError::Revoked(revoked)
        })
    }
}

/// Whether the author may still make a change; locks the rows that say so until the transaction ends.
fn check_author(tx: &Tx<'_>, by: &ChangeAuthor) -> Result<Result<(), Revocation>> {
    match by {
        ChangeAuthor::NoSession => Ok(Ok(())),
        ChangeAuthor::Session(actor) => Ok(check_session(tx, actor)?.map(drop)),
        ChangeAuthor::PartialSession { digest, employee, now } => {
            let valid = partial_session::lock_if_valid(tx, *digest, employee, *now)?;
            match (lock_enabled_employee(tx, employee)?, valid) {
                (false, _) => Ok(Err(Revocation::Ended(why_not_enabled(tx, employee)?))),
                (true, true) => Ok(Ok(())),
                (true, false) => Ok(Err(revocation(tx, *digest)?)),
            }
        }
    }
}

/// Whether a session may still make a change; locks the rows that say so until the transaction ends.
pub(crate) fn check_session(tx: &Tx<'_>, actor: &Actor) -> Result<Result<LockedSession, Revocation>> {
    let Actor { session, employee, role, from, now } = actor;
    if *role == Some(Role::Admin) {
        // Administrators may change another administrator, or the allow lists that apply to themselves.
        lock_administration(tx)?;
    }
    lock_agent(tx, employee)?;
    if !lock_enabled_employee(tx, employee)? {
        return Ok(Err(Revocation::Ended(why_not_enabled(tx, employee)?)));
    }
    let Some(found) = lock_session(tx, *session, employee)? else { return Ok(Err(revocation(tx, *session)?)) };
    if found.expires_at <= *now {
        return Ok(Err(Revocation::Expired));
    }
    match role {
        Some(role) if *role != found.active => return Ok(Err(Revocation::RoleSwitched)),
        Some(role) if found.default_role != Some(*role) && !lock_role(tx, employee, *role, *now)? => {
            return Ok(Err(Revocation::RoleTakenAway(*role)));
        }
        _ => {}
    }
    let allowed = from.map_or(Ok(true), |from| read_allow_lists(tx).map(|lists| lists.allow(found.active, from)))?;
    Ok(if allowed { Ok(found) } else { Err(Revocation::AddressNotAllowed(found.active)) })
}

/// Why a session or partial session does not exist any more.
fn revocation(tx: &Tx<'_>, digest: Digest) -> Result<Revocation> {
    Ok(denied(tx, digest)?.map_or(Revocation::Unknown, Revocation::Ended))
}

/// Why an employee may not use sessions: left, or else disabled or missing.
fn why_not_enabled(tx: &Tx<'_>, employee: &EmployeeKey) -> Result<EndReason> {
    let text = "SELECT 1 FROM employee WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL
        AND left_at IS NOT NULL";
    let has_left = tx.exists(text, &args![employee.corp(), employee.id()])?;
    Ok(if has_left { EndReason::Left } else { EndReason::Disabled })
}
