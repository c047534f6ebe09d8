//! Explains what an employee may do, and which rule decides.

use std::net::IpAddr;

use deskpass_auth::Refusal;
use deskpass_core::{AllowLists, Operation, PermissionScope, Person, Resource, Role, Roles};
use serde::{Deserialize, Serialize};

use super::super::table::{plain, table};
use super::super::text::{describe_error, no_such_role};
use super::super::{CommandResult, EmployeeSelector};
use super::describe::{allowed_networks, effective_roles, person_label};
use crate::App;

/// The operation to check.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct AccessQuery {
    pub(crate) who: EmployeeSelector,
    pub(crate) resource: String,
    pub(crate) operation: String,
    pub(crate) scope: String,
    pub(crate) role: Option<String>,
    pub(crate) from: Option<IpAddr>,
}

/// An [`AccessQuery`] with its words parsed.
struct ParsedAccessQuery<'a> {
    app: &'a App,
    lists: &'a AllowLists,
    resource: Resource,
    operation: Operation,
    scope: PermissionScope,
    from: Option<IpAddr>,
}

impl AccessQuery {
    pub(super) async fn explain(&self, app: &App) -> CommandResult {
        let auth = &app.auth;
        let book = auth.store.access_rules().await.map_err(describe_error)?;
        let query = self.read(app, &book.lists)?;
        let named =
            self.role.as_ref().map(|name| Role::from_name(name).ok_or_else(|| no_such_role(name))).transpose()?;
        let found = auth.store.person(&self.who.key(auth)?).await.map_err(describe_error)?;
        let person = found.ok_or_else(|| self.who.explain(Refusal::NoSuchEmployee.into()))?;
        let (held, message) = effective_roles(auth, &person).await?;
        let verdict = |role: Role| {
            let (allowed, why) = self.verdict(&query, &person, held, role);
            [role.name().to_owned(), if allowed { "allowed" } else { "refused" }.to_owned(), why]
        };
        let rows: Vec<_> = named.map_or(held, |role| Roles::NONE.with(role)).iter().map(verdict).collect();
        let verdicts =
            if rows.is_empty() { "the employee holds no role: nothing is allowed".to_owned() } else { table(&rows) };
        let ParsedAccessQuery { resource, operation, scope, .. } = query;
        Ok(format!(
            "{}: {operation} {resource} in scope {scope}\nroles: {message}\nmatrix: {}\n\n{verdicts}\n\nOnly the role \
             that is active in a session counts.",
            plain(&person_label(&person)),
            matrix(app),
        ))
    }

    /// Whether the person may do it in this role, and the rule that decides.
    fn verdict(&self, query: &ParsedAccessQuery<'_>, person: &Person, held: Roles, role: Role) -> (bool, String) {
        let typed = self.who.typed();
        match held.holds(role) {
            _ if person.disabled => {
                (false, format!("the employee is disabled; to enable: deskpass employee enable {typed}"))
            }
            true => query.decide(role),
            false => (false, format!("role not held; to grant it: deskpass role grant {typed} {role}")),
        }
    }

    fn read<'a>(&self, app: &'a App, lists: &'a AllowLists) -> Result<ParsedAccessQuery<'a>, String> {
        let none = |what: &str, word: &str, all: &[&str]| format!("unknown {what} {word}; known: {}", all.join(", "));
        let resource = Resource::from_name(&self.resource);
        let resource = resource.ok_or_else(|| none("RESOURCE", &self.resource, &Resource::NAMES))?;
        let operation = Operation::from_name(&self.operation);
        let operation = operation.ok_or_else(|| none("OPERATION", &self.operation, &Operation::NAMES))?;
        let scope = PermissionScope::from_name(&self.scope);
        let scope = scope.ok_or_else(|| none("SCOPE", &self.scope, &PermissionScope::NAMES))?;
        Ok(ParsedAccessQuery { app, lists, resource, operation, scope, from: self.from })
    }
}

impl ParsedAccessQuery<'_> {
    /// Whether a role that the person holds allows it, and the rule that decides.
    fn decide(&self, role: Role) -> (bool, String) {
        let Self { resource, operation, scope, .. } = self;
        if let Some(address) = self.from.filter(|address| !self.lists.allow(role, *address)) {
            let only = allowed_networks(self.lists, role);
            return (false, format!("the allow-list does not permit {address}: {role} may be active {only}"));
        }
        let only = match self.lists.list(role) {
            [] => String::new(),
            _ => format!("; by the allow-list, {role} may be active {}", allowed_networks(self.lists, role)),
        };
        match self.app.auth.policy.matrix.granted(role, *resource, *operation) {
            None => (false, format!("{role} may not {operation} {resource} at all")),
            Some(granted) if granted < *scope => {
                (false, format!("{role} may {operation} {resource} only in scope {granted}"))
            }
            Some(granted) => (true, format!("{role} may {operation} {resource} in scope {granted}{only}")),
        }
    }
}

fn matrix(app: &App) -> String {
    match &app.settings.access.matrix_file {
        Some(path) => format!("{}, which replaces the built-in matrix", path.display()),
        None => "built-in; to print it: deskpass config matrix".to_owned(),
    }
}
