//! The life of a session after it began: checked, switched, ended.

mod own;
mod sign_ins;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Access, ClientInfo, Digest, Half, Role, Roles, Secret, Session, Timestamp};
use deskpass_store::{
    Actor, AuditEvent, CachedPerson, ChangeAuthor, ChangeError, EndReason, SessionLookup, SessionWithPerson,
};

use crate::audit::Attempt;
use crate::sign_in::parse_held_role;
use crate::{Auth, Error, Refusal, TokenError};

/// Whoever holds a live token. Their active role may have been taken away, so all this entitles to is choosing another
/// one or leaving; everything else takes a [`ActiveUser`].
#[derive(Clone, Debug)]
pub struct TokenHolder {
    digest: Digest,
    record: Arc<SessionWithPerson>,
    /// The roles that count in it now.
    pub roles: Roles,
    /// How long it has still to live.
    pub remaining: Duration,
    /// Whether its active role may not be active from where its token is used.
    address_denied: bool,
    /// Where its token is used, where that is known.
    from: Option<IpAddr>,
}

/// Somebody signed in whose active role stands.
#[derive(Clone, Debug)]
pub struct ActiveUser(pub TokenHolder);

impl TokenHolder {
    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.record.session
    }

    /// Whose it is.
    #[must_use]
    pub fn person(&self) -> &CachedPerson {
        &self.record.person
    }

    /// What its token hashes to, which names the session and opens nothing.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether its active role may not be active from where its token is used.
    pub(crate) fn is_address_denied(&self) -> bool {
        self.address_denied
    }

    /// This session as the one a change of its own employee's account is made in: in whatever role, from wherever.
    pub(crate) fn as_author(&self, now: Timestamp) -> ChangeAuthor {
        ChangeAuthor::Session(self.actor(None, None, now))
    }

    /// The same, from where the active role is allowed.
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

    /// The caller, unless the active role was taken away, or may not be active from there.
    ///
    /// # Errors
    /// When that is so.
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
    /// The caller, as the one who makes a change in the role that is active.
    pub(crate) fn as_author(&self, now: Timestamp) -> ChangeAuthor {
        self.0.as_author_in_role(self.0.session().current_role, now)
    }
}

impl Auth {
    /// Finds out who holds this token, and whether they may act from where they are, if that is known.
    ///
    /// # Errors
    /// A refusal that says what is wrong with the token, or a failure of the store: never "valid" on doubt.
    pub async fn authenticate(&self, token: &str, from: Option<IpAddr>) -> Result<TokenHolder, Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let secret = Secret::<Access>::parse(token).map_err(|_| problem(classify_bad_token(token)))?;
        self.authenticate_digest(secret.digest(), from).await
    }

    /// The same, for a session that is known by what its token hashes to.
    pub(crate) async fn authenticate_digest(&self, digest: Digest, from: Option<IpAddr>) -> Result<TokenHolder, Error> {
        let holder = self.authenticate_untouched(digest).await?;
        self.store.touch_session(&holder.record, &holder.digest, self.clock.now());
        let address_denied = match from {
            Some(address) => !self.store.access_rules().await?.lists.allow(holder.session().current_role, address),
            None => false,
        };
        Ok(TokenHolder { address_denied, from, ..holder })
    }

    /// The same caller, as things stand now: the rest of a request may have come long after its head.
    ///
    /// # Errors
    /// When their session has ended meanwhile or its role does not stand any more, or the store fails.
    pub async fn reauthenticate(&self, caller: &ActiveUser) -> Result<ActiveUser, Error> {
        self.reauthenticate_digest(caller.0.digest, caller.0.from).await
    }

    /// The same, for a session that is known by what its token hashes to.
    pub(crate) async fn reauthenticate_digest(
        &self,
        digest: Digest,
        from: Option<IpAddr>,
    ) -> Result<ActiveUser, Error> {
        Ok(self.authenticate_digest(digest, from).await?.into_active_user()?)
    }

    /// Finds out who holds the token that hashes to this, wherever they are. Looking is no use of it.
    ///
    /// # Errors
    /// A refusal that says what is wrong with the token, or a failure of the store.
    pub async fn authenticate_untouched(&self, digest: Digest) -> Result<TokenHolder, Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let record = match self.store.session(&digest).await? {
            SessionLookup::Session(record) => record,
            SessionLookup::Denied(ended) => return Err(problem(TokenError::Ended(ended))),
            SessionLookup::NotFound => return Err(problem(TokenError::Unknown)),
        };
        let SessionWithPerson { session, person, .. } = &*record;
        let remaining =
            session.remaining(self.clock.now_for(session.created_at)).ok_or_else(|| problem(TokenError::Expired))?;
        if person.disabled {
            return Err(problem(TokenError::Ended(EndReason::Disabled)));
        }
        let roles = self.policy.effective_roles(session.method, session.vouched, session.default_role, person.roles);
        Ok(TokenHolder { digest, record, roles, remaining, address_denied: false, from: None })
    }

    /// Ends the session for good. When this returns, the token is dead and will stay so.
    ///
    /// # Errors
    /// When somebody else ended it first, or the store fails.
    pub async fn logout(&self, holder: &TokenHolder, visitor: &ClientInfo) -> Result<(), Error> {
        let now = self.clock.now();
        let entry = self.entry(AuditEvent::Logout, holder.session(), now, visitor)?;
        if self.store.end_session(holder.digest, self.deny_until(now), entry).await? {
            tracing::debug!(employee = ?holder.session().employee, "signed out");
            return Ok(());
        }
        Err(self.end_reason(holder).await?.into())
    }

    /// Makes the role called `name` the active one: same token, same end.
    ///
    /// # Errors
    /// When the role is not held or the session has ended meanwhile, or the store fails.
    pub async fn switch_role(&self, holder: &TokenHolder, name: &str, visitor: &ClientInfo) -> Result<Session, Error> {
        let switched = self.switch_role_unaudited(holder, name, visitor).await;
        self.audit_outcome(Attempt::in_session(holder.session(), AuditEvent::SwitchRoleRefused, visitor), switched)
            .await
    }

    async fn switch_role_unaudited(
        &self,
        holder: &TokenHolder,
        name: &str,
        visitor: &ClientInfo,
    ) -> Result<Session, Error> {
        let role = parse_held_role(name, holder.roles)?;
        if !self.store.access_rules().await?.lists.allow(role, visitor.address.decided) {
            return Err(Refusal::AddressNotAllowed(role).into());
        }
        let session = Session { current_role: role, ..holder.session().clone() };
        let now = self.clock.now();
        let entry = self.entry(AuditEvent::SwitchRole, &session, now, visitor)?;
        match self.store.switch_role(holder.actor(None, None, now), role, entry).await {
            Ok(true) => {
                tracing::debug!(employee = ?session.employee, %role, "switched role");
                Ok(session)
            }
            // Taken away meanwhile.
            Ok(false) => Err(Refusal::RoleNotHeld(role.name().to_owned()).into()),
            Err(ChangeError::Revoked(_)) => Err(self.end_reason(holder).await?.into()),
            Err(ChangeError::Store(error)) => Err(error.into()),
        }
    }

    /// What has become of a session that was live a moment ago.
    async fn end_reason(&self, holder: &TokenHolder) -> Result<Refusal, Error> {
        Ok(Refusal::Token(match self.store.session(&holder.digest).await? {
            SessionLookup::Denied(ended) => TokenError::Ended(ended),
            // Perhaps swept meanwhile, which happens only to what has expired.
            SessionLookup::Session(_) | SessionLookup::NotFound => TokenError::Expired,
        }))
    }
}

/// What is wrong with something that is no token of a session.
fn classify_bad_token(token: &str) -> TokenError {
    match Secret::<Half>::parse(token) {
        Ok(_) => TokenError::HalfAuthenticated,
        Err(_) => TokenError::Malformed,
    }
}
