//! Changes that an administrator makes to employees, roles and settings.

mod access_scope;
mod agents;
mod clock;
mod ip_rules;
mod keys;
mod links;
mod oidc_clients;
mod oidc_file_clients;
mod people;
mod queries;
mod role_rules;
mod service_keys;
mod sessions;

use deskpass_core::{ClientInfo, EmployeeKey, NoEntropy, Role};
use deskpass_store::{AuditEvent, ChangeAuthor, ChangeError, LogEntry};

use crate::audit::Attempt;
use crate::{ActiveUser, Auth, Error, Refusal, TokenHolder};

pub use access_scope::AccessScope;
pub use agents::{DeviceReset, PasswordReset};
pub use ip_rules::AllowListPreview;
pub use keys::{KeyStatus, KeyUse, ResealedBatch};
pub use oidc_clients::{ListedOidcClient, NewOidcClient};
pub use queries::{LogQuery, PeopleQuery, PeopleResult, SessionQuery};
pub use role_rules::RoleRules;
pub use service_keys::NewServiceKey;

/// An administrator, who changes records of others. Every change is logged with its author.
#[derive(Debug)]
pub struct Administrator<'a> {
    auth: &'a Auth,
    /// The employee; `None` for the operator on the command line.
    who: Option<EmployeeKey>,
    /// The session of the administrator, which must still be valid when a change commits.
    acting: Option<TokenHolder>,
    visitor: ClientInfo,
    /// Whether the operator keeps the last administrator.
    keeps_last_admin: bool,
}

impl Auth {
    /// The operator on the machine's command line, who has no name and all permissions.
    #[must_use]
    pub fn operator(&self) -> Administrator<'_> {
        Administrator { auth: self, who: None, acting: None, visitor: ClientInfo::operator(), keeps_last_admin: false }
    }

    /// A signed-in user whose active role permits administration.
    #[must_use]
    pub fn administrator(&self, caller: &ActiveUser, visitor: ClientInfo) -> Administrator<'_> {
        let (who, acting) = (caller.0.session().employee.clone(), caller.0.clone());
        Administrator { auth: self, who: Some(who), acting: Some(acting), visitor, keeps_last_admin: true }
    }

    /// Turns a token holder into an active user for an administrative request. A refusal is logged.
    pub async fn authorize_administration(
        &self,
        holder: TokenHolder,
        visitor: &ClientInfo,
    ) -> Result<ActiveUser, Error> {
        let session = holder.session().clone();
        let caller = holder.into_active_user().map_err(Error::from);
        self.audit_outcome(Attempt::in_session(&session, AuditEvent::AdministrationRefused, visitor), caller).await
    }

    /// Refuses an administrative request, and logs the refusal. Never returns `Ok`.
    pub async fn refuse_administration<T>(&self, caller: &ActiveUser, visitor: &ClientInfo) -> Result<T, Error> {
        self.administrator(caller, visitor.clone()).refuse(Refusal::NotPermitted).await
    }

    /// Requires an administrator of the home corporation, for operations on the whole deployment. The refusal is logged.
    pub async fn require_home_admin(&self, caller: &ActiveUser, visitor: &ClientInfo) -> Result<(), Error> {
        self.administrator(caller, visitor.clone()).require_home_admin().await
    }
}

impl Administrator<'_> {
    /// The operator, who has not confirmed that the last administrator of the home corporation may go.
    #[must_use]
    pub fn keeping_last_admin(self) -> Self {
        Self { keeps_last_admin: true, ..self }
    }

    /// The author of a change: the operator, or a session in which the administrator role is active when the change commits.
    fn author(&self) -> ChangeAuthor {
        let now = self.auth.clock.now();
        self.acting.as_ref().map_or(ChangeAuthor::NoSession, |holder| holder.as_author_in_role(Role::Admin, now))
    }

    /// Makes a change. If the session was revoked before the change, the refusal is logged.
    async fn commit<T>(&self, change: impl Future<Output = Result<T, ChangeError>>) -> Result<T, Error> {
        match change.await {
            Err(ChangeError::Revoked(revoked)) => self.refuse(revoked.into()).await,
            outcome => Ok(outcome?),
        }
    }

    /// Requires that the caller is still an administrator: the body of a request may arrive long after its head.
    async fn require_still_admin(&self) -> Result<(), Error> {
        let Some(holder) = &self.acting else { return Ok(()) };
        let ActiveUser(now) = self.auth.reauthenticate(&ActiveUser(holder.clone())).await?;
        if now.session().current_role == Role::Admin { Ok(()) } else { self.refuse(Refusal::NotPermitted).await }
    }

    /// Whether the caller may remove the last administrator of the employee's corporation: the caller can appoint another, and an
    /// operator has confirmed it for the home corporation.
    fn may_remove_last_admin(&self, employee: &EmployeeKey) -> bool {
        let at_home = |who: &EmployeeKey| who.corp() == self.auth.policy.home_corp.as_str();
        match &self.who {
            None => !self.keeps_last_admin || !at_home(employee),
            Some(who) => at_home(who) && !at_home(employee),
        }
    }

    fn entry(&self, event: AuditEvent, about: &EmployeeKey, detail: impl Into<String>) -> Result<LogEntry, NoEntropy> {
        let by = self.who.as_ref().map(tracing::field::display);
        tracing::debug!(event = event.name(), %about, by, "administrative change");
        let plain = self.auth.plain_entry(event, about, self.auth.clock.now(), &self.visitor)?;
        Ok(LogEntry { actor: self.who.clone(), detail: detail.into(), ..plain })
    }

    /// Requires that the caller reaches the employee: an administrator of a connected corporation reaches only its employees.
    fn require_in_scope(&self, employee: &EmployeeKey) -> Result<(), Refusal> {
        match &self.who {
            Some(who) if who.corp() != self.auth.policy.home_corp.as_str() && who.corp() != employee.corp() => {
                Err(Refusal::NoSuchEmployee)
            }
            _ => Ok(()),
        }
    }

    /// As [`Auth::require_home_admin`].
    async fn require_home_admin(&self) -> Result<(), Error> {
        match &self.who {
            Some(who) if who.corp() != self.auth.policy.home_corp.as_str() => self.refuse(Refusal::NotPermitted).await,
            _ => Ok(()),
        }
    }

    async fn refuse<T>(&self, refusal: Refusal) -> Result<T, Error> {
        self.refuse_about(None, refusal).await
    }

    /// Refuses a request that concerns an employee; the row names them.
    async fn refuse_about<T>(&self, concerned: Option<&EmployeeKey>, refusal: Refusal) -> Result<T, Error> {
        let (refused, visitor) = (AuditEvent::AdministrationRefused, &self.visitor);
        let attempt = match &self.acting {
            Some(holder) => Attempt::in_session(holder.session(), refused, visitor),
            None => Attempt::unnamed(refused, visitor),
        };
        self.auth.audit_outcome(Attempt { concerned, ..attempt }, Err(refusal.into())).await
    }
}
