//! Queries: employees, agents, sessions and the login log.

use std::collections::BTreeSet;
use std::net::IpAddr;

use deskpass_core::{CorpId, EmployeeId, EmployeeKey, LoginMethod, Operation, Reference, Resource, Role, Timestamp};
use deskpass_store::{
    AgentPage, AgentSelection, AuditEvent, DepartmentFilter, InvalidCursor, ListedAgent, ListedPerson, LogFilter,
    LogPage, LogRow, PageStart, PeopleCount, PeopleFilter, PeopleOrder, PeoplePage, PeopleSelection, SessionFilter,
    SessionPage,
};

use super::AccessScope;
use crate::{ActiveUser, Auth, Error, Refusal};

/// The highest total that is counted: counting further would scan all employees for every page.
const MAX_COUNTED_PEOPLE: i64 = 10_000;

/// A filter for employees within the access scope.
#[derive(Clone, Debug)]
pub struct PeopleQuery {
    /// The name of the department.
    pub department: Option<String>,
    /// A prefix of the employee id, of the name, or of a word in the name.
    pub q: Option<String>,
    /// A role that the employee holds.
    pub role: Option<Role>,
    /// The order, if neither `q` nor `role` is given.
    pub order: PeopleOrder,
}

/// A page of employees.
#[derive(Debug)]
pub struct PeopleResult {
    /// The employees.
    pub people: Vec<ListedPerson>,
    /// The cursor of the next page. A page may have few employees or none, and a next page.
    pub next: Option<String>,
    /// The number of matches that were counted.
    pub total: i64,
    /// Whether these are all; otherwise there may be more.
    pub exact: bool,
}

/// A filter for sessions within the access scope.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// The employee.
    pub employee: Option<EmployeeId>,
    /// The active role.
    pub role: Option<Role>,
}

/// A filter for log rows within the access scope.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// The employee that the row is about.
    pub employee: Option<EmployeeId>,
    /// The audit event.
    pub event: Option<AuditEvent>,
    /// The reason of the refusal.
    pub reason: Option<String>,
    /// The login method.
    pub method: Option<LoginMethod>,
    /// The client address.
    pub ip_address: Option<IpAddr>,
    /// The reference of the request.
    pub reference: Option<Reference>,
    /// The earliest time, inclusive.
    pub from: Option<Timestamp>,
    /// The latest time, exclusive.
    pub to: Option<Timestamp>,
}

impl Auth {
    /// A page of employees within the access scope: from the cursor `after` on, or else after the first `offset`.
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
        let PeopleCount { count: total, exact } = self.store.count_people(filter, MAX_COUNTED_PEOPLE).await?;
        Ok(Ok(PeopleResult { people, next, total, exact }))
    }

    /// The corporations of all known employees.
    pub async fn corporations(&self) -> Result<Vec<String>, Error> {
        Ok(self.store.corporations().await?)
    }

    /// A page of employees, after the given one.
    pub async fn employees(&self, after: Option<EmployeeKey>, limit: i64) -> Result<Vec<ListedPerson>, Error> {
        Ok(self.store.employees(after, limit).await?)
    }

    /// Requires that the employee is an agent, enabled or disabled.
    pub async fn require_agent(&self, employee: &EmployeeKey) -> Result<(), Error> {
        let agent = self.store.agent(employee.clone()).await?.filter(|agent| !agent.device_only);
        if agent.is_some() { Ok(()) } else { Err(Refusal::NoSuchAgent.into()) }
    }

    /// A page of agents, after the given one.
    pub async fn agents(
        &self,
        which: AgentSelection,
        after: Option<EmployeeKey>,
        limit: i64,
    ) -> Result<AgentPage, Error> {
        Ok(self.store.agents(which, after, limit, self.clock.now()).await?)
    }

    /// A page of the sessions within the access scope, newest first, from the cursor `after` on.
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

    /// A page of the login log within the access scope, newest first, before the row with this id.
    pub async fn log(
        &self,
        access_scope: &AccessScope,
        wanted: &LogQuery,
        before: Option<String>,
        limit: i64,
    ) -> Result<LogPage, Error> {
        let AccessScope { corp, department_id } = access_scope.clone();
        let LogQuery { employee, event, reason, method, ip_address, reference, from, to } = wanted.clone();
        let employee = employee.map(|id| self.canonical_id(access_scope, &id));
        let ip_address = ip_address.map(|address| address.to_string());
        let reference = reference.map(|reference| reference.to_string());
        let key = Some(self.chain_keys.clone());
        let filter =
            LogFilter { corp, department_id, employee, event, ip_address, reason, method, reference, from, to, key };
        Ok(self.store.log_page(filter, before, limit).await?)
    }

    /// One employee within the access scope.
    pub async fn employee(
        &self,
        AccessScope { corp, department_id }: AccessScope,
        id: &EmployeeId,
    ) -> Result<ListedPerson, Error> {
        let key = self.resolve_key(CorpId::parse(&corp).ok().as_ref(), id);
        let found = self.store.people_with_keys(corp, vec![key.id().to_owned()]).await?;
        let in_scope = |listed: &ListedPerson| is_in_department(listed, department_id.as_deref());
        Ok(found.into_iter().find(in_scope).ok_or(Refusal::NoSuchEmployee)?)
    }

    /// The people within the access scope that the entries name, as they are called now.
    pub async fn people_in_log(&self, access_scope: &AccessScope, rows: &[LogRow]) -> Result<Vec<ListedPerson>, Error> {
        let named = rows.iter().flat_map(|row| [Some(&row.about), row.actor.as_ref()]).flatten();
        let here = named.filter(|key| key.corp() == access_scope.corp && !key.id().is_empty());
        let keys: BTreeSet<_> = here.map(|key| key.id().to_owned()).collect();
        let mut people = self.store.people_with_keys(access_scope.corp.clone(), keys.into_iter().collect()).await?;
        // An entry is about the department, but another department may have caused it.
        people.retain(|listed| is_in_department(listed, access_scope.department_id.as_deref()));
        Ok(people)
    }

    /// The credentials of an employee: their agent record, if there is one.
    pub async fn credentials(&self, key: EmployeeKey) -> Result<Option<ListedAgent>, Error> {
        Ok(self.store.listed_agent(key, self.clock.now()).await?)
    }

    /// Requires that the caller may still read the same access scope: a long export must stop when the permission ends.
    pub async fn require_scope_unchanged(&self, caller: &ActiveUser, access_scope: &AccessScope) -> Result<(), Error> {
        let caller = self.reauthenticate(caller).await?;
        let role = caller.0.session().current_role;
        let scope = self.policy.matrix.granted(role, Resource::Account, Operation::Read);
        let (scope, corp) = scope.zip(CorpId::parse(&access_scope.corp).ok()).ok_or(Refusal::NotPermitted)?;
        let same = self.access_scope(&caller, scope, Some(&corp))? == *access_scope;
        if same { Ok(()) } else { Err(Refusal::NotPermitted.into()) }
    }

    /// An employee id in the spelling that the records use.
    fn canonical_id(&self, access_scope: &AccessScope, id: &EmployeeId) -> String {
        let corp = CorpId::parse(&access_scope.corp).ok();
        self.resolve_key(corp.as_ref(), id).id().to_owned()
    }
}

/// Whether an employee is in the department, if the access scope is limited to one.
fn is_in_department(listed: &ListedPerson, department_id: Option<&str>) -> bool {
    department_id.is_none_or(|id| listed.person.department_id == id)
}
