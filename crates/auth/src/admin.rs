//! What an administrator does to people and their roles.

mod access_scope;
mod agents;
mod clock;
mod ip_rules;
mod links;
mod people;
mod queries;
mod service_keys;
mod sessions;
mod statistics;

use deskpass_core::{ClientInfo, EmployeeKey, NoEntropy, Role};
use deskpass_store::{AuditEvent, ChangeAuthor, ChangeError, LogEntry};

use crate::audit::Attempt;
use crate::{ActiveUser, Auth, Error, Refusal, TokenHolder};

pub use access_scope::AccessScope;
pub use agents::{DeviceReset, PasswordReset};
pub use ip_rules::{AllowListPreview, RoleLockout};
pub use queries::{LogQuery, PeopleQuery, PeopleResult, SessionQuery};
pub use service_keys::NewServiceKey;

/// Whoever changes something for others: every change is written down with who made it.
#[derive(Debug)]
pub struct Administrator<'a> {
    auth: &'a Auth,
    /// Who it is; nobody, on the command line.
    who: Option<EmployeeKey>,
    /// The session they act in, which must still stand when a change commits.
    acting: Option<TokenHolder>,
    visitor: ClientInfo,
}

impl Auth {
    /// The operator, on the command line of the machine: with no name, and nothing that they may not do.
    #[must_use]
    pub fn operator(&self) -> Administrator<'_> {
        Administrator { auth: self, who: None, acting: None, visitor: ClientInfo::operator() }
    }

    /// Somebody signed in, whose active role lets them.
    #[must_use]
    pub fn administrator(&self, caller: &ActiveUser, visitor: ClientInfo) -> Administrator<'_> {
        let (who, acting) = (caller.0.session().employee.clone(), caller.0.clone());
        Administrator { auth: self, who: Some(who), acting: Some(acting), visitor }
    }

    /// Somebody signed in who wants to administrate, where they are. That they may not act there, or not in that role any more, is
    /// written down.
    ///
    /// # Errors
    /// When that is so, or the store fails.
    pub async fn authorize_administration(
        &self,
        holder: TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<ActiveUser, Error> {
        let session = holder.session().clone();
        let caller = holder.into_active_user().map_err(Error::from);
        self.audit_outcome(Attempt::in_session(&session, AuditEvent::AdministrationRefused, visitor), caller).await
    }

    /// Turns somebody away who may not administrate.
    ///
    /// # Errors
    /// Always: that they may not, or that it could not be written down.
    pub async fn refuse_administration<T>(&self, caller: &ActiveUser, visitor: &ClientInfo) -> Result<T, Error> {
        let attempt = Attempt::in_session(caller.0.session(), AuditEvent::AdministrationRefused, visitor);
        self.audit_outcome(attempt, Err(Refusal::NotPermitted.into())).await
    }

    /// Turns somebody away who does not administrate the home corporation: what concerns everybody is not for others.
    ///
    /// # Errors
    /// When they do not, which is written down.
    pub async fn require_home_admin(&self, caller: &ActiveUser, visitor: &ClientInfo) -> Result<(), Error> {
        if caller.0.session().employee.corp() == self.policy.home_corp.as_str() {
            return Ok(());
        }
        self.refuse_administration(caller, visitor).await
    }
}

impl Administrator<'_> {
    fn is_operator(&self) -> bool {
        self.who.is_none()
    }

    /// Who makes a change: the operator, or a session in which the role of an administrator is active when the change commits.
    fn author(&self) -> ChangeAuthor {
        let now = self.auth.clock.now();
        self.acting.as_ref().map_or(ChangeAuthor::NoSession, |holder| holder.as_author_in_role(Role::Admin, now))
    }

    /// What came of a change. That the session was revoked before it could be made is written down.
    async fn audit_if_revoked<T>(&self, outcome: Result<T, ChangeError>) -> Result<T, Error> {
        match outcome {
            Err(ChangeError::Revoked(revoked)) => self.refuse(revoked.into()).await,
            outcome => Ok(outcome?),
        }
    }

    /// Makes sure that they may still read what administrators read, after a request whose end may have come long after its head.
    async fn require_still_admin(&self) -> Result<(), Error> {
        let Some(holder) = &self.acting else { return Ok(()) };
        let ActiveUser(now) = self.auth.reauthenticate(&ActiveUser(holder.clone())).await?;
        if now.session().current_role == Role::Admin { Ok(()) } else { self.refuse(Refusal::NotPermitted).await }
    }

    /// Whether they can let somebody in again who is their corporation's last administrator, so that it need not stay one.
    fn may_remove_last_admin(&self, employee: &EmployeeKey) -> bool {
        let at_home = |who: &EmployeeKey| who.corp() == self.auth.policy.home_corp.as_str();
        self.who.as_ref().is_none_or(|who| at_home(who) && !at_home(employee))
    }

    /// The row of a change.
    fn entry(&self, event: AuditEvent, about: &EmployeeKey, detail: impl Into<String>) -> Result<LogEntry, NoEntropy> {
        tracing::debug!(event = event.name(), ?about, by = ?self.who, "an administrator's change");
        let plain = self.auth.plain_entry(event, about, self.auth.clock.now(), &self.visitor)?;
        Ok(LogEntry { actor: self.who.clone(), detail: detail.into(), ..plain })
    }

    /// Whoever administrates a connected corporation reaches its people and nobody else.
    fn require_in_scope(&self, employee: &EmployeeKey) -> Result<(), Refusal> {
        match &self.who {
            Some(who) if who.corp() != self.auth.policy.home_corp.as_str() && who.corp() != employee.corp() => {
                Err(Refusal::NoSuchEmployee)
            }
            _ => Ok(()),
        }
    }

    /// What concerns everybody is for administrators of the home corporation.
    async fn require_home_admin(&self) -> Result<(), Error> {
        match &self.who {
            Some(who) if who.corp() != self.auth.policy.home_corp.as_str() => self.refuse(Refusal::NotPermitted).await,
            _ => Ok(()),
        }
    }

    /// Turns them away, which is written down.
    async fn refuse<T>(&self, refusal: Refusal) -> Result<T, Error> {
        let (refused, who, visitor) = (AuditEvent::AdministrationRefused, self.who.as_ref(), &self.visitor);
        let attempt = Attempt { refused, who, claimed: false, method: None, source: None, visitor };
        self.auth.audit_outcome(attempt, Err(refusal.into())).await
    }
}
