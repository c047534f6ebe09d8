//! Explains what an employee may do, and which rule decides.

use std::net::IpAddr;

use deskpass_auth::Refusal;
use deskpass_core::{AllowLists, Operation, PermissionScope, Person, Resource, Role, Roles};
use deskpass_store::StoreError;
use serde::{Deserialize, Serialize};

use super::super::table::{plain, table};
use super::super::text::{no_such_role, role_list};
use super::super::{CommandResult, EmployeeSelector};
use super::describe::{allowed_networks, effective_roles, failure, person_label};
use crate::App;
use crate::config::Language;

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
    language: Language,
    resource: Resource,
    operation: Operation,
    scope: PermissionScope,
    from: Option<IpAddr>,
}

impl AccessQuery {
    pub(super) async fn explain(&self, app: &App, language: Language) -> CommandResult {
        let auth = &app.auth;
        let failed = |error: StoreError| failure(error, language);
        let book = auth.store.access_rules().await.map_err(failed)?;
        let query = self.read(app, &book.lists, language)?;
        let named = self.role.as_ref().map(|name| parse_role(name, language)).transpose()?;
        let found = auth.store.person(&self.who.key(auth)?).await.map_err(failed)?;
        let person = found.ok_or_else(|| self.no_such_employee(language))?;
        let (held, message) = effective_roles(auth, &person, language).await?;
        let verdict = |role: Role| {
            let (allowed, why) = self.verdict(&query, &person, held, role);
            let word = if allowed { ["allowed", "允许"] } else { ["refused", "拒绝"] };
            [role.name().to_owned(), language.of(word).to_owned(), why]
        };
        let rows: Vec<_> = named.map_or(held, |role| Roles::NONE.with(role)).iter().map(verdict).collect();
        let none = ["the employee holds no role: nothing is allowed", "该员工没有角色，因此不允许任何操作"];
        let verdicts = if rows.is_empty() { language.of(none).to_owned() } else { table(&rows) };
        let ParsedAccessQuery { resource, operation, scope, .. } = query;
        let (who, matrix) = (plain(&person_label(&person, language)), matrix(app, language));
        Ok(language.of([
            format!(
                "{who}: {operation} {resource} in scope {scope}\nroles: {message}\nmatrix: {matrix}\n\n{verdicts}\n\n\
                 Only the role that is active in a session counts."
            ),
            format!(
                "{who}：{operation} {resource}，范围 {scope}\n角色：{message}\n权限矩阵：{matrix}\n\n{verdicts}\n\n\
                 以会话中当前启用的角色为准。"
            ),
        ]))
    }

    fn no_such_employee(&self, language: Language) -> String {
        match language {
            Language::En => self.who.explain(Refusal::NoSuchEmployee.into()),
            Language::Zh => {
                format!("没有员工 {}；如需添加：deskpass employee add {}", self.who.employee, self.who.typed())
            }
        }
    }

    /// Whether the person may do it in this role, and the rule that decides.
    fn verdict(&self, query: &ParsedAccessQuery<'_>, person: &Person, held: Roles, role: Role) -> (bool, String) {
        let typed = self.who.typed();
        let refused = |texts: [String; 2]| (false, query.language.of(texts));
        match held.holds(role) {
            _ if person.disabled => refused([
                format!("the employee is disabled; to enable: deskpass employee enable {typed}"),
                format!("该员工已停用；如需启用：deskpass employee enable {typed}"),
            ]),
            _ if person.left.is_some() => refused([
                format!("the platform says that the employee may not sign in; why: deskpass explain login {typed}"),
                format!("{{platform}}显示该员工不能登录；原因请运行 deskpass explain login {typed}"),
            ]),
            true => query.decide(role),
            false => refused([
                format!("role not held; to grant it: deskpass role grant {typed} {role}"),
                format!("没有该角色；如需授予：deskpass role grant {typed} {role}"),
            ]),
        }
    }

    fn read<'a>(
        &self,
        app: &'a App,
        lists: &'a AllowLists,
        language: Language,
    ) -> Result<ParsedAccessQuery<'a>, String> {
        let none = |what: &str, word: &str, all: &[&str]| {
            let all = all.join(", ");
            language.of([format!("unknown {what} {word}; known: {all}"), format!("未知的 {what} {word}；可用：{all}")])
        };
        let resource = Resource::from_name(&self.resource)
            .ok_or_else(|| none("RESOURCE", &self.resource, &Resource::ALL.map(Resource::name)))?;
        let operation = Operation::from_name(&self.operation)
            .ok_or_else(|| none("OPERATION", &self.operation, &Operation::ALL.map(Operation::name)))?;
        let scope = PermissionScope::from_name(&self.scope)
            .ok_or_else(|| none("SCOPE", &self.scope, &PermissionScope::ALL.map(PermissionScope::name)))?;
        Ok(ParsedAccessQuery { app, lists, language, resource, operation, scope, from: self.from })
    }
}

fn parse_role(name: &str, language: Language) -> Result<Role, String> {
    Role::from_name(name).ok_or_else(|| match language {
        Language::En => no_such_role(name),
        Language::Zh => format!("没有角色 {name}；可用：{}", role_list(Role::ALL.into_iter().collect())),
    })
}

impl ParsedAccessQuery<'_> {
    /// Whether a role that the person holds allows it, and the rule that decides.
    fn decide(&self, role: Role) -> (bool, String) {
        let Self { resource, operation, scope, language, .. } = self;
        let limits = allowed_networks(self.lists, role, *language);
        if let Some(address) = self.from.filter(|address| !self.lists.allow(role, *address)) {
            let why = language.of([
                format!("the allow-list does not permit {address}: {role} may be active {limits}"),
                format!("白名单不允许 {address}：{role} {limits}"),
            ]);
            return (false, why);
        }
        let only = match self.lists.list(role) {
            [] => String::new(),
            _ => language.of([
                format!("; by the allow-list, {role} may be active {limits}"),
                format!("；按白名单，{role} {limits}"),
            ]),
        };
        let (allowed, texts) = match self.app.auth.policy.matrix.granted(role, *resource, *operation) {
            None => (
                false,
                [
                    format!("{role} may not {operation} {resource} at all"),
                    format!("{role} 无权 {operation} {resource}"),
                ],
            ),
            Some(granted) if granted < *scope => (
                false,
                [
                    format!("{role} may {operation} {resource} only in scope {granted}"),
                    format!("{role} 只能在范围 {granted} 内 {operation} {resource}"),
                ],
            ),
            Some(granted) => (
                true,
                [
                    format!("{role} may {operation} {resource} in scope {granted}{only}"),
                    format!("{role} 可以在范围 {granted} 内 {operation} {resource}{only}"),
                ],
            ),
        };
        (allowed, language.of(texts))
    }
}

/// The source of the access matrix.
fn matrix(app: &App, language: Language) -> String {
    match &app.settings.access.matrix_file {
        Some(path) => {
            let path = path.display();
            language.of([format!("{path}, which replaces the built-in matrix"), format!("{path}（替换内置矩阵）")])
        }
        None => language
            .of(["built-in; to print it: deskpass config matrix", "内置；查看请运行 deskpass config matrix"])
            .to_owned(),
    }
}
