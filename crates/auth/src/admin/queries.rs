//! What readers read: who is signed in, and what happened.

use std::net::IpAddr;

use deskpass_core::{CorpId, EmployeeId, LoginMethod, Operation, Resource, Role, Timestamp};
use deskpass_store::{AuditEvent, InvalidCursor, LogFilter, LogPage, SessionFilter, SessionPage};

use super::AccessScope;
use crate::{ActiveUser, Auth, Error, Refusal};

/// Which sessions are wanted, of those within reach.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// Of this employee.
    pub employee: Option<EmployeeId>,
    /// In which this role is active.
    pub role: Option<Role>,
}

/// Which rows of the log are wanted, of those within reach.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// About this employee.
    pub employee: Option<EmployeeId>,
    /// What happened.
    pub event: Option<AuditEvent>,
    /// Refused for this reason.
    pub reason: Option<String>,
    /// Signed in like this.
    pub method: Option<LoginMethod>,
    /// From this address.
    pub ip_address: Option<IpAddr>,
    /// Not before this moment.
    pub from: Option<Timestamp>,
    /// Before this moment.
    pub to: Option<Timestamp>,
}

impl Auth {
    /// A page of the sessions within reach, the newest first, from `after` on, a place that another page named.
    ///
    /// # Errors
    /// When no page named that place, or the store fails.
    pub async fn sessions(
        &self,
        access_scope: &AccessScope,
        wanted: &SessionQuery,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Result<SessionPage, InvalidCursor>, Error> {
        let AccessScope { corp, department_id } = access_scope.clone();
        let employee = wanted.employee.as_ref().map(|id| self.canonical_id(access_scope, id));
        let filter = SessionFilter { corp, department_id, employee, role: wanted.role, now: self.clock.now() };
        match after.map(|after| filter.cursor(after)).transpose() {
            Ok(after) => Ok(Ok(self.store.sessions(filter, after, limit).await?)),
            Err(bad) => Ok(Err(bad)),
        }
    }

    /// A page of the log within reach, the newest first, before the row with this identifier.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log(
        &self,
        access_scope: &AccessScope,
        wanted: &LogQuery,
        before: Option<String>,
        limit: i64,
    ) -> Result<LogPage, Error> {
        let AccessScope { corp, department_id } = access_scope.clone();
        let LogQuery { employee, event, reason, method, ip_address, from, to } = wanted.clone();
        let employee = employee.map(|id| self.canonical_id(access_scope, &id));
        let ip_address = ip_address.map(|address| address.to_string());
        let key = Some(self.chain_key.clone());
        let filter = LogFilter { corp, department_id, employee, event, ip_address, reason, method, from, to, key };
        Ok(self.store.log_page(filter, before, limit).await?)
    }

    /// Makes sure that somebody who began to read may still read the same: reading may take long.
    ///
    /// # Errors
    /// When they may not any more, or the store fails.
    pub async fn require_scope_unchanged(
        &self,
        caller: &ActiveUser,
        from: IpAddr,
        access_scope: &AccessScope,
    ) -> Result<(), Error> {
        let caller = self.authenticate_digest(caller.0.digest(), Some(from)).await?.into_active_user()?;
        let role = caller.0.session().current_role;
        let scope = self.policy.matrix.granted(role, Resource::Account, Operation::Read);
        let (scope, corp) = scope.zip(CorpId::parse(&access_scope.corp).ok()).ok_or(Refusal::NotPermitted)?;
        let same = self.access_scope(&caller, scope, Some(&corp))? == *access_scope;
        if same { Ok(()) } else { Err(Refusal::NotPermitted.into()) }
    }

    /// An identifier in the spelling that records are compared by.
    fn canonical_id(&self, access_scope: &AccessScope, id: &EmployeeId) -> String {
        let corp = CorpId::parse(&access_scope.corp).ok();
        self.resolve_key(corp.as_ref(), id).id().to_owned()
    }
}
