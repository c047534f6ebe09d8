//! What readers read: who is signed in, and what happened.

use std::net::IpAddr;

use deskpass_core::{CorpId, EmployeeId, EmployeeKey, LoginMethod, Operation, Resource, Role, Timestamp};
use deskpass_store::{
    AuditEvent, DepartmentFilter, InvalidCursor, ListedAgent, ListedPerson, LogFilter, LogPage, PageStart,
    PeopleFilter, PeopleOrder, PeoplePage, PeopleSelection, SessionFilter, SessionPage,
};

use super::AccessScope;
use crate::{ActiveUser, Auth, Error, Refusal};

/// How far people are counted: further would mean to walk through all of them for every page.
const MAX_COUNTED_PEOPLE: i64 = 10_000;

/// Which people of those within reach.
#[derive(Clone, Debug)]
pub struct PeopleQuery {
    /// What their department is called.
    pub department: Option<String>,
    /// How their identifier or name begins, or a word of it.
    pub q: Option<String>,
    /// What they may act as.
    pub role: Option<Role>,
    /// In which order, where neither is asked for.
    pub order: PeopleOrder,
}

/// Some of them.
#[derive(Debug)]
pub struct PeopleResult {
    /// The people.
    pub people: Vec<ListedPerson>,
    /// Where to go on, when there are more.
    pub next: Option<String>,
    /// How many there are in all.
    pub total: i64,
    /// Whether that is exact, or there are more.
    pub exact: bool,
}

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
    /// Some of the people within reach, from `after` on, a place that another page named, or else after the first `offset`.
    ///
    /// # Errors
    /// When no page named that place, or the store fails.
    pub async fn people(
        &self,
        AccessScope { corp, department_id }: AccessScope,
        asked: PeopleQuery,
        after: Option<&str>,
        offset: i64,
        limit: i64,
    ) -> Result<Result<PeopleResult, InvalidCursor>, Error> {
        let name = asked.department.clone().map(DepartmentFilter::Name);
        let department = department_id.map(DepartmentFilter::Id).or(name);
        let selection = match asked {
            PeopleQuery { q: Some(q), role, .. } => PeopleSelection::Term { q, role },
            PeopleQuery { role: Some(role), .. } => PeopleSelection::Role(role),
            PeopleQuery { order, .. } => PeopleSelection::Everyone(order),
        };
        let filter = PeopleFilter { corp, department, selection };
        let at = match after.map(|after| filter.cursor(after)) {
            None => PageStart::Offset(offset),
            Some(Ok(cursor)) => PageStart::After(cursor),
            Some(Err(bad)) => return Ok(Err(bad)),
        };
        let PeoplePage { people, next } = self.store.people(filter.clone(), at, limit).await?;
        let counted = self.store.count_people(filter, MAX_COUNTED_PEOPLE).await?;
        Ok(Ok(PeopleResult {
            people,
            next,
            total: counted.min(MAX_COUNTED_PEOPLE),
            exact: counted <= MAX_COUNTED_PEOPLE,
        }))
    }

    /// The corporations whose people are known here.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn corporations(&self) -> Result<Vec<String>, Error> {
        Ok(self.store.corporations().await?)
    }

    /// A page of employees, starting after one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn employees(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<ListedPerson>, Error> {
        Ok(self.store.employees(after, limit).await?)
    }

    /// Makes sure that somebody is an agent, whether or not their record counts.
    ///
    /// # Errors
    /// When they are not, or the store fails.
    pub async fn require_agent(&self, employee: &EmployeeKey) -> Result<(), Error> {
        let agent = self.store.agent(employee.clone()).await?;
        if agent.is_some() { Ok(()) } else { Err(Refusal::NoSuchAgent.into()) }
    }

    /// A page of agents, starting after one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn agents(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<ListedAgent>, Error> {
        Ok(self.store.agents(after, limit, self.clock.now()).await?)
    }

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
    pub async fn require_scope_unchanged(&self, caller: &ActiveUser, access_scope: &AccessScope) -> Result<(), Error> {
        let caller = self.reauthenticate(caller).await?;
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
