//! Development routes: try everything without the platform. They do not exist in production.

use axum::extract::State;
use deskpass_core::{CorpId, EmployeeId, Role, Roles};
use deskpass_store::Listed;
use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::Reply;
use super::extract::{Body, Developer, Guest};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use super::login::{LoginResult, iso};
use super::openapi::{Moment, RoleName};
use crate::Desk;

/// Who to sign in as.
#[derive(Debug)]
pub(super) struct Login {
    corp_id: Option<CorpId>,
    employee_id: EmployeeId,
    role: Option<String>,
}

impl Ask for Login {
    fn read(fields: &mut Fields) -> Option<Self> {
        let employee_id = fields.id("employee_id", EmployeeId::parse);
        let (corp_id, role) = (fields.maybe_id("corp_id", CorpId::parse), fields.maybe_text("role"));
        Some(Self { corp_id: corp_id?, employee_id: employee_id?, role: role? })
    }
}

/// Signs anyone in.
pub(super) async fn login(
    _: Developer,
    State(desk): State<Desk>,
    Guest(visitor): Guest,
    Body(ask): Body<Login>,
) -> Result<Reply<LoginResult>, Failure> {
    let Login { corp_id, employee_id, role } = ask;
    let signed_in = desk.auth.dev_login(corp_id.as_ref(), &employee_id, role.as_deref(), &visitor).await?;
    Ok(Reply(signed_in.into()))
}

/// People one can sign in as.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "DevUsers")]
pub(super) struct Users {
    users: Vec<User>,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "DevUser")]
struct User {
    corp_id: String,
    employee_id: String,
    name: String,
    department: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    #[schemars(with = "Option<RoleName>")]
    current_role: Option<&'static str>,
    disabled: bool,
    #[schemars(with = "Option<Moment>")]
    last_login_at: Option<String>,
    last_login_ip: Option<String>,
}

impl From<Listed> for User {
    fn from(listed: Listed) -> Self {
        let Listed { person, last_login_at, last_login_ip } = listed;
        Self {
            corp_id: person.key.corp().to_owned(),
            employee_id: person.employee_id,
            name: person.name,
            department: person.department,
            roles: person.roles,
            current_role: person.roles.highest().map(Role::name),
            disabled: person.disabled,
            last_login_at: last_login_at.map(iso),
            last_login_ip,
        }
    }
}

/// Lists the people one can sign in as.
pub(super) async fn users(_: Developer, State(desk): State<Desk>) -> Result<Reply<Users>, Failure> {
    let users = desk.auth.dev_users().await?;
    Ok(Reply(Users { users: users.into_iter().map(User::from).collect() }))
}

/// That development mode is on, and what it stands on.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "DevHealth")]
pub(super) struct Health {
    status: &'static str,
    development: bool,
    corp_id: String,
    cached_sessions: usize,
}

/// Says that development mode is on.
pub(super) async fn health(_: Developer, State(desk): State<Desk>) -> Reply<Health> {
    Reply(Health {
        status: "ok",
        development: true,
        corp_id: desk.settings.platform.corp_id.clone(),
        cached_sessions: desk.auth.store.cached_sessions(),
    })
}
