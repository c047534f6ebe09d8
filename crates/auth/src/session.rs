//! Sessions after they began: checked, switched, ended.

mod own;
mod sign_ins;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Access, AskerPreview, ClientInfo, Digest, Half, Role, Roles, Secret, Session, Timestamp};
use deskpass_store::{Actor, AuditEvent, CachedPerson, ChangeAuthor, ChangeError, SessionLookup, SessionWithPerson};

use crate::audit::Attempt;
use crate::holder::is_withheld;
use crate::limit::LimitedWrite;
use crate::people::token_problem;
use crate::sign_in::parse_held_role;
use crate::{Auth, Error, Refusal, TokenError};

/// The holder of a valid token. The active role may have been taken away, so a token holder may only switch roles or sign out;
/// everything else needs an [`ActiveUser`].
#[derive(Clone, Debug)]
pub struct TokenHolder {
    digest: Digest,
    record: SessionWithPerson,
    /// The roles that are effective in the session.
    pub roles: Roles,
    /// How long the session still lasts.
    pub remaining: Duration,
    /// Whether the active role is not allowed at the client's address.
    pub(crate) address_denied: bool,
    /// The client's address, if it is known.
    from: Option<IpAddr>,
}

/// A signed-in user whose active role is valid.
#[derive(Clone, Debug)]
pub struct ActiveUser(pub TokenHolder);

impl TokenHolder {
    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.record.session
    }

    /// The employee.
    #[must_use]
    pub fn person(&self) -> &CachedPerson {
        &self.record.person
    }

    /// The employee, shared with the cache.
    pub(crate) fn shared_person(&self) -> &Arc<CachedPerson> {
        &self.record.person
    }

    /// The digest of the token. It identifies the session and grants nothing.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The author of a change to the employee's own account, in any role and from any address.
    pub(crate) fn as_author(&self, now: Timestamp) -> ChangeAuthor {
        ChangeAuthor::Session(self.actor(None, None, now))
    }

    /// The same, from an address where the active role is allowed.
    pub(crate) fn as_author_at_address(&self, now: Timestamp) -> ChangeAuthor {
        ChangeAuthor::Session(self.actor(None, self.from, now))
    }

    /// The same, in this role.
    pub(crate) fn as_author_in_role(&self, role: Role, now: Timestamp) -> ChangeAuthor {
        ChangeAuthor::Session(self.actor(Some(role), self.from, now))
    }

    fn actor(&self, role: Option<Role>, from: Option<IpAddr>, now: Timestamp) -> Actor {
        Actor { session: self.digest, employee: self.session().employee.clone(), role, from, now }
    }

    /// The active user, unless the role was taken away or is not allowed at the client's address.
    pub fn into_active_user(self) -> Result<ActiveUser, Refusal> {
        let role = self.session().current_role;
        match self.roles.holds(role) {
            false => Err(Refusal::RoleTakenAway(role)),
            true if self.address_denied => Err(Refusal::AddressNotAllowed(role)),
            true => Ok(ActiveUser(self)),
        }
    }
}

impl ActiveUser {
    /// What the phone of another employee shows about this one.
    #[must_use]
    pub fn preview(&self) -> AskerPreview {
        let person = self.0.person();
        let name = if person.name().is_empty() { person.employee_id() } else { person.name() };
        AskerPreview {
            employee_id: person.employee_id().to_owned(),
            name: name.to_owned(),
            department: person.department().to_owned(),
            avatar: person.avatar().to_owned(),
        }
    }

    /// The author of a change in the active role.
    pub(crate) fn as_author(&self, now: Timestamp) -> ChangeAuthor {
        self.0.as_author_in_role(self.0.session().current_role, now)
    }
}

impl Auth {
    /// Identifies the holder of a token, and checks the client's address if it is known. A refusal names the problem with the
    /// token. In doubt, the token is not valid.
    pub async fn authenticate(&self, token: &str, from: Option<IpAddr>) -> Result<TokenHolder, Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let secret = Secret::<Access>::parse(token).map_err(|_| problem(classify_bad_token(token)))?;
        self.authenticate_digest(secret.digest(), from).await
    }

    /// The same, for a token's digest.
    pub(crate) async fn authenticate_digest(&self, digest: Digest, from: Option<IpAddr>) -> Result<TokenHolder, Error> {
        let (holder, now) = self.identify(digest).await?;
        self.store.touch_session(&holder.record, &holder.digest, now);
        let address_denied = match from {
            Some(address) => !self.store.access_rules().await?.lists.allow(holder.session().current_role, address),
            None => false,
        };
        Ok(TokenHolder { address_denied, from, ..holder })
    }

    /// Checks the caller again: the body of a request may arrive long after its head.
    pub async fn reauthenticate(&self, caller: &ActiveUser) -> Result<ActiveUser, Error> {
        self.reauthenticate_digest(caller.0.digest, caller.0.from).await
    }

    /// The same, for a token's digest.
    pub(crate) async fn reauthenticate_digest(
        &self,
        digest: Digest,
        from: Option<IpAddr>,
    ) -> Result<ActiveUser, Error> {
        Ok(self.authenticate_digest(digest, from).await?.into_active_user()?)
    }

    /// Identifies the holder of the token with this digest, without an address. Does not count as a use of the session.
    pub async fn authenticate_untouched(&self, digest: Digest) -> Result<TokenHolder, Error> {
        Ok(self.identify(digest).await?.0)
    }

    /// The same, and the time at which it was done.
    async fn identify(&self, digest: Digest) -> Result<(TokenHolder, Timestamp), Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let record = match self.store.session(&digest).await? {
            SessionLookup::Session(record) => record,
            SessionLookup::Denied(ended) => return Err(problem(ended.into())),
            SessionLookup::NotFound => return Err(problem(TokenError::Unknown)),
        };
        let SessionWithPerson { session, person, .. } = &record;
        let (now, expiry_now) = self.clock.now_and_for(session.created_at);
        let remaining = session.remaining(expiry_now).ok_or_else(|| problem(TokenError::Expired))?;
        if let Some(left_or_disabled) = token_problem(person.disabled, person.left) {
            return Err(problem(left_or_disabled));
        }
        if self.is_refused(person.unconfirmed) {
            return Err(problem(TokenError::Kicked));
        }
        let held = person.roles_at(expiry_now);
        let default_role = self.counting_default_role(session.default_role, person.unconfirmed);
        let roles = self.policy.effective_roles(session.method, session.vouched, default_role, held);
        Ok((TokenHolder { digest, record, roles, remaining, address_denied: false, from: None }, now))
    }

    /// Ends the session. After this returns, the token is never valid again. Refused if the session has ended already.
    pub async fn logout(&self, holder: &TokenHolder, visitor: &ClientInfo) -> Result<(), Error> {
        let now = self.clock.now();
        let entry = self.entry(AuditEvent::Logout, holder.session(), now, visitor)?;
        if self.store.end_session(holder.digest, self.deny_until(now), entry).await? {
            tracing::debug!(employee = %holder.session().employee, "signed out");
            return Ok(());
        }
        Err(self.end_reason(holder).await?.into())
    }

    /// Switches the active role to the one called `name`, if it is held. The token and the expiry stay the same.
    pub async fn switch_role(&self, holder: &TokenHolder, name: &str, visitor: &ClientInfo) -> Result<Session, Error> {
        self.limit_write(LimitedWrite::SwitchRole, holder.digest().bytes()).await?;
        let attempt = Attempt::in_session(holder.session(), AuditEvent::SwitchRoleRefused, visitor);
        self.audit_outcome(attempt, self.switch_role_unaudited(holder, name, visitor).await).await
    }

    async fn switch_role_unaudited(
        &self,
        holder: &TokenHolder,
        name: &str,
        visitor: &ClientInfo,
    ) -> Result<Session, Error> {
        let role = parse_held_role(name, holder.roles).map_err(|refusal| unless_withheld(holder, name, refusal))?;
        if !self.store.access_rules().await?.lists.allow(role, visitor.address.decided) {
            return Err(Refusal::AddressNotAllowed(role).into());
        }
        let session = Session { current_role: role, ..holder.session().clone() };
        let now = self.clock.now();
        let entry = self.entry(AuditEvent::SwitchRole, &session, now, visitor)?;
        match self.store.switch_role(holder.actor(None, None, now), role, entry).await {
            Ok(true) => {
                tracing::debug!(employee = %session.employee, %role, "switched role");
                Ok(session)
            }
            // The role was taken away meanwhile.
            Ok(false) => Err(Refusal::RoleNotHeld(role.name().to_owned()).into()),
            Err(ChangeError::Revoked(_)) => Err(self.end_reason(holder).await?.into()),
            Err(ChangeError::Store(error)) => Err(error.into()),
        }
    }

    /// Why a session that was valid a moment ago is not valid any more.
    async fn end_reason(&self, holder: &TokenHolder) -> Result<Refusal, Error> {
        Ok(Refusal::Token(match self.store.session(&holder.digest).await? {
            SessionLookup::Denied(ended) => ended.into(),
            // It may have been swept, which happens only to expired sessions.
            SessionLookup::Session(_) | SessionLookup::NotFound => TokenError::Expired,
        }))
    }
}

/// The refusal of a role that the holder of the token does not have: it may be in the record, and not count.
fn unless_withheld(holder: &TokenHolder, name: &str, refusal: Refusal) -> Refusal {
    let person = holder.person();
    let role = Role::from_name(name).filter(|_| person.unconfirmed);
    match role {
        Some(role) if is_withheld(person.roles, holder.roles, role) => Refusal::HolderUnconfirmed,
        _ => refusal,
    }
}

/// The problem with a text that is not a session token.
fn classify_bad_token(token: &str) -> TokenError {
    match Secret::<Half>::parse(token) {
        Ok(_) => TokenError::HalfAuthenticated,
        Err(_) => TokenError::Malformed,
    }
}
