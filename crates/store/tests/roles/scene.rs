//! Changes to roles, each by an operator.

use std::sync::Arc;

use deskpass_core::{EmployeeKey, Memberships, Role, RoleRule, Roles, RuleGroup};
use deskpass_store::{
    AuditEvent, ChangeAuthor, DueRole, GrantUntilOutcome, LogEntry, LogFilter, RevokeOutcome, RoleOrigin,
    RuleEvaluation, RuleRolesOutcome, SetRolesOutcome, Store,
};

use crate::agents::fixture::{DAY, at};
use crate::lists::scene::entry;

pub(super) const MINUTE: i64 = 60_000;
pub(super) const ADMIN: Roles = Roles::NONE.with(Role::Admin);
pub(super) const USER: Roles = Roles::NONE.with(Role::User);

pub(super) fn key(id: &str) -> EmployeeKey {
    EmployeeKey::from_parts("ww", id)
}

/// A row for the log at this time.
pub(super) fn entry_at(event: AuditEvent, id: &str, millis: i64) -> LogEntry {
    LogEntry { at: at(millis), ..entry(event, &key(id)) }
}

pub(super) async fn grant(store: &Store, id: &str, role: Role) -> bool {
    let entry = entry(AuditEvent::RolesChanged, &key(id));
    store.grant(ChangeAuthor::NoSession, key(id), role, entry).await.unwrap()
}

pub(super) async fn revoke(store: &Store, id: &str, role: Role) -> RevokeOutcome {
    let entry = entry(AuditEvent::RolesChanged, &key(id));
    store.revoke(ChangeAuthor::NoSession, key(id), role, false, entry).await.unwrap()
}

pub(super) async fn set(store: &Store, id: &str, roles: Roles) -> SetRolesOutcome {
    let entry = entry(AuditEvent::RolesChanged, &key(id));
    store.set_roles(ChangeAuthor::NoSession, key(id), roles, false, at(DAY), entry).await.unwrap()
}

/// Grants a role at one time until another.
pub(super) async fn grant_until(store: &Store, id: &str, role: Role, now: i64, until: i64) -> GrantUntilOutcome {
    let entry = entry_at(AuditEvent::RolesChanged, id, now);
    store.grant_until(ChangeAuthor::NoSession, key(id), role, at(until), "on call".to_owned(), entry).await.unwrap()
}

/// Applies rules of the settings file that give a person these roles.
pub(super) async fn apply(store: &Store, id: &str, roles: Roles) -> RuleRolesOutcome {
    let file_rules = Role::ALL.into_iter().map(|role| department(role, role.name())).collect();
    let departments: Vec<_> = roles.iter().map(Role::name).collect();
    evaluate(store, id, &departments, file_rules).await
}

/// Applies rules of the settings file and the registered ones to a person in these departments.
pub(super) async fn evaluate(
    store: &Store,
    id: &str,
    departments: &[&str],
    file_rules: Vec<RoleRule>,
) -> RuleRolesOutcome {
    let departments = departments.iter().map(|id| (*id).to_owned()).collect();
    let memberships = Memberships { departments, ..Memberships::default() };
    let evaluation = RuleEvaluation { key: key(id), memberships, file_rules: Arc::new(file_rules) };
    store.apply_rule_roles(evaluation, at(DAY), entry(AuditEvent::RuleRoles, &key(id))).await.unwrap()
}

pub(super) async fn end(store: &Store, due: DueRole, now: i64) -> bool {
    let entry = LogEntry { at: at(now), ..entry(AuditEvent::RoleEnded, &due.key) };
    store.end_timed_role(due, at(now), entry).await.unwrap()
}

/// A role of an employee that ends at this time.
pub(super) fn due(id: &str, role: Role, until: i64, is_told: bool) -> DueRole {
    DueRole { key: key(id), role, until: at(until), is_told }
}

pub(super) async fn origins(store: &Store, id: &str) -> Vec<RoleOrigin> {
    store.role_origins(key(id)).await.unwrap()
}

/// The origin of a role, if it is held.
pub(super) async fn origin(store: &Store, id: &str, role: Role) -> Option<RoleOrigin> {
    origins(store, id).await.into_iter().find(|origin| origin.role == role)
}

/// The roles that the store has for an employee, past the cache.
pub(super) async fn held(store: &Store, id: &str) -> Roles {
    store.listed_person(key(id)).await.unwrap().unwrap().person.roles
}

/// The details of the rows of an event, the newest first.
pub(super) async fn logged(store: &Store, event: AuditEvent) -> Vec<String> {
    let filter = LogFilter { corp: "ww".to_owned(), event: Some(event), ..LogFilter::default() };
    store.log_page(filter, None, 100).await.unwrap().rows.into_iter().map(|row| row.detail).collect()
}

pub(super) fn department(role: Role, id: &str) -> RoleRule {
    RoleRule { role, group: RuleGroup::Department(id.to_owned()) }
}

pub(super) fn tag(role: Role, id: &str) -> RoleRule {
    RoleRule { role, group: RuleGroup::Tag(id.to_owned()) }
}
