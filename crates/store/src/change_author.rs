//! Who makes a change, and whether they still may when it commits.
//!
//! A request is authorised when its head arrives; its body may follow much later. So every change names the session it is made in, and
//! the transaction that makes the change begins by requiring that session: it stands, its employee is enabled, its role is active and
//! held. The rows that say so stay locked until the commit. Whatever takes one of them away either commits first, and the change is
//! refused, or waits.
//!
//! From where a role may be active is read, and not locked. Administrators take turns with whoever changes it, so for them it stays as
//! it is; a change that is made in another role may commit just after a list that excludes its sender.
//!
//! Locks are taken in one order: the turn of administrators, the agent record, the employee, then what is theirs: a link to them, their
//! sessions, their role assignments; and the actor's before the target's. Two administrators who change each other take turns, so
//! they do not deadlock. Others can: two who are no administrators and end each other's sessions, and somebody all of whose sessions end
//! while it is written down when they were last used, which is in the order of digests. PostgreSQL then undoes one of the two after
//! a second, and it is begun again.

use std::net::IpAddr;

use deskpass_core::{Digest, EmployeeKey, Role, Timestamp};

use crate::access_rules::read_allow_lists;
use crate::agents::partial_session;
use crate::cache::CacheChange;
use crate::database::{Row, Tx};
use crate::deny_list::{EndReason, denied};
use crate::locks::{lock_administration, lock_agent, lock_and_read, lock_enabled_employee, lock_role};
use crate::{Store, StoreError};

/// Who makes a change.
#[derive(Clone, Debug)]
pub enum ChangeAuthor {
    /// No session: the operator on the command line, or a change with a precondition of its own, such as a setup code.
    NoSession,
    /// A session.
    Session(Actor),
    /// A sign-in with a right password and no one-time password yet.
    PartialSession {
        /// What its token hashes to.
        digest: Digest,
        /// Whose it is.
        employee: EmployeeKey,
        /// When the change is made.
        now: Timestamp,
    },
}

/// The session that a change is made in.
#[derive(Clone, Debug)]
pub struct Actor {
    /// What its token hashes to.
    pub session: Digest,
    /// Whose it is.
    pub employee: EmployeeKey,
    /// The role that the change takes: it must be active, and held. Any will do where there is none.
    pub role: Option<Role>,
    /// Where the request comes from, where the active role must be allowed there.
    pub from: Option<IpAddr>,
    /// When the change is made: the session must not have expired by then.
    pub now: Timestamp,
}

/// Why the actor may not make the change any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The session was ended, or its employee disabled.
    Ended(EndReason),
    /// The session expired.
    Expired,
    /// There is no such session.
    Unknown,
    /// Another role is active.
    RoleSwitched,
    /// The active role is not held any more.
    RoleTakenAway(Role),
    /// The active role is not allowed from that address any more.
    AddressNotAllowed(Role),
}

/// Why a change was not made. Nothing of it remains.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ChangeError {
    /// The actor may not make it any more.
    #[error("revoked: {0:?}")]
    Revoked(Revocation),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The store, as an actor changes it.
pub(crate) struct AuthorizedStore<'a> {
    store: &'a Store,
    by: ChangeAuthor,
}

impl Store {
    /// Requires an actor before something is counted or looked at for them. The change itself requires them again.
    ///
    /// # Errors
    /// When the actor may not make changes any more, or the store fails.
    pub async fn check_author(&self, by: ChangeAuthor) -> Result<(), ChangeError> {
        self.authorized(by).write(|_| Ok(())).await
    }

    /// The store, as this actor changes it.
    pub(crate) fn authorized(&self, by: ChangeAuthor) -> AuthorizedStore<'_> {
        AuthorizedStore { store: self, by }
    }
}

impl AuthorizedStore<'_> {
    /// Runs `work` in a transaction that requires the actor first.
    pub(crate) async fn write<T: Send + 'static>(
        self,
        work: impl Fn(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ChangeError> {
        let Self { store, by } = self;
        let session = by.session();
        let done = store.database.write(move |tx| match check_author(tx, &by)? {
            Ok(()) => work(tx).map(Ok),
            Err(revoked) => Ok(Err(revoked)),
        });
        done.await?.map_err(|revoked| {
            // Another node may have revoked it: what this one remembers is over.
            if let Some(digest) = session {
                store.cache.apply(CacheChange::Session(digest));
            }
            ChangeError::Revoked(revoked)
        })
    }
}

impl ChangeAuthor {
    fn session(&self) -> Option<Digest> {
        if let Self::Session(actor) = self { Some(actor.session) } else { None }
    }
}

/// Whether the actor may still make a change, which stays so until the transaction ends.
fn check_author(tx: &Tx<'_>, by: &ChangeAuthor) -> Result<Result<(), Revocation>, StoreError> {
    match by {
        ChangeAuthor::NoSession => Ok(Ok(())),
        ChangeAuthor::Session(actor) => check_session(tx, actor),
        ChangeAuthor::PartialSession { digest, employee, now } => {
            let valid = partial_session::lock_if_valid(tx, *digest, employee, *now)?;
            match (lock_enabled_employee(tx, employee)?, valid) {
                (false, _) => Ok(Err(Revocation::Ended(EndReason::Disabled))),
                (true, true) => Ok(Ok(())),
                (true, false) => Ok(Err(revocation(tx, *digest)?)),
            }
        }
    }
}

fn check_session(tx: &Tx<'_>, actor: &Actor) -> Result<Result<(), Revocation>, StoreError> {
    let Actor { session, employee, role, from, now } = actor;
    if *role == Some(Role::Admin) {
        // What administrators change may be another administrator, or the lists that say from where they may.
        lock_administration(tx)?;
    }
    lock_agent(tx, employee)?;
    if !lock_enabled_employee(tx, employee)? {
        return Ok(Err(Revocation::Ended(EndReason::Disabled)));
    }
    let Some(found) = lock_session(tx, *session, employee)? else { return Ok(Err(revocation(tx, *session)?)) };
    if found.expires_at <= *now {
        return Ok(Err(Revocation::Expired));
    }
    match role {
        Some(role) if *role != found.active => return Ok(Err(Revocation::RoleSwitched)),
        Some(role) if found.default_role != Some(*role) && !lock_role(tx, employee, *role)? => {
            return Ok(Err(Revocation::RoleTakenAway(*role)));
        }
        _ => {}
    }
    let allowed = from.map_or(Ok(true), |from| read_allow_lists(tx).map(|lists| lists.allow(found.active, from)))?;
    Ok(if allowed { Ok(()) } else { Err(Revocation::AddressNotAllowed(found.active)) })
}

/// What a session says of itself.
struct LockedSession {
    active: Role,
    default_role: Option<Role>,
    expires_at: Timestamp,
}

/// The session, unless it has ended, and keeps it as it is until the transaction ends.
fn lock_session(tx: &Tx<'_>, digest: Digest, employee: &EmployeeKey) -> Result<Option<LockedSession>, StoreError> {
    let text = "UPDATE session SET role_id = role_id WHERE digest = $1 AND corp_id = $2 AND employee_key = $3
        AND NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1) RETURNING role_id, lent_role_id, expires_at";
    let read = |row: &Row<'_>| {
        let default_role = if row.is_null(1)? { None } else { Some(row.role(1)?) };
        Ok(LockedSession { active: row.role(0)?, default_role, expires_at: row.timestamp(2)? })
    };
    lock_and_read(tx, text, &args![digest, employee.corp(), employee.id()], read)
}

/// What became of a session or a half that is not there any more.
fn revocation(tx: &Tx<'_>, digest: Digest) -> Result<Revocation, StoreError> {
    Ok(denied(tx, digest)?.map_or(Revocation::Unknown, Revocation::Ended))
}
