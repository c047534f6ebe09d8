//! Allow-lists: the networks from which each role may be active.

use std::net::IpAddr;

use deskpass_core::{AllowLists, Role};
use deskpass_store::{ListedSession, RoleLockout};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Serialize;

use super::Done;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{
    Admin, CheckedInput, FieldSpec, Fields, FromFields, HighRisk, HomeAdmin, HomeOnly, InBody, JsonBody,
};
use crate::http::response::{Reply, RoleName};
use crate::timestamp::Rfc3339;

/// The networks of each role; an empty list allows every address.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "AllowLists")]
pub(crate) struct AllowListsShown {
    admin: Vec<String>,
    agent: Vec<String>,
    user: Vec<String>,
    supervisor: Vec<String>,
    security: Vec<String>,
}

impl AllowListsShown {
    fn of(lists: &AllowLists) -> Self {
        let list = |role| lists.list(role).iter().map(ToString::to_string).collect();
        Self {
            admin: list(Role::Admin),
            agent: list(Role::Agent),
            user: list(Role::User),
            supervisor: list(Role::Supervisor),
            security: list(Role::Security),
        }
    }
}

/// Returns the allow-list of each role.
pub(crate) async fn show(app: App, HomeAdmin(admin): HomeAdmin) -> Result<Reply<AllowListsShown>, ApiError> {
    Ok(Reply(AllowListsShown::of(&admin.administrator(&app).ip_rules().await?)))
}

/// Allow-lists for all roles. Every role is required: a forgotten or misspelt one must not lose its list.
#[derive(Debug)]
pub(crate) struct ProposedAllowLists(AllowLists);

/// Not derived: the fields are the roles, which are declared elsewhere.
impl FromFields for ProposedAllowLists {
    fn describe(specs: &mut Vec<FieldSpec>) {
        specs.extend(Role::NAMES.map(|role| FieldSpec::of::<Vec<IpNet>>(role, "")));
    }

    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let lists = Role::ALL.map(|role| (role, fields.read::<Vec<IpNet>>(role.name())));
        let mut entries = Vec::new();
        for (role, list) in lists {
            entries.extend(list?.into_iter().map(|network| (role, network)));
        }
        Some(Self(entries.into_iter().collect()))
    }
}

/// Allow-lists that do not lock out the caller, which is checked before the one-time password is used.
#[derive(Debug)]
pub(crate) struct ValidatedAllowLists(AllowLists);

impl CheckedInput for ValidatedAllowLists {
    type Fields = ProposedAllowLists;
    async fn check(lists: ProposedAllowLists, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        app.auth.require_not_locked_out(&admin.caller, &lists.0, &admin.visitor).await?;
        Ok(Self(lists.0))
    }
}

/// Replaces all allow-lists.
pub(crate) async fn replace(
    app: App,
    HighRisk(admin, HomeOnly(InBody(ValidatedAllowLists(lists)))): HighRisk<HomeOnly<InBody<ValidatedAllowLists>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).set_ip_rules(&lists).await?;
    Ok(Reply(Done::YES))
}

/// The sessions that the allow-lists would block.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct DryRun {
    you: CallerImpact,
    roles: Vec<RoleImpact>,
}

/// The effect on the caller.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "You")]
struct CallerImpact {
    #[schemars(with = "String")]
    ip_address: IpAddr,
    role: RoleName,
    shut_out: bool,
}

/// The effect on a role's sessions.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "OfRole")]
struct RoleImpact {
    role: RoleName,
    /// The number of sessions that would be blocked, among the first 20,000.
    sessions: u64,
    sessions_exact: bool,
    /// Some of them.
    shut_out: Vec<BlockedSession>,
}

/// A session that would be blocked.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ShutOut")]
struct BlockedSession {
    corp_id: String,
    employee_id: String,
    name: String,
    ip_address: Option<String>,
    last_seen_at: Option<Rfc3339>,
}

impl From<ListedSession> for BlockedSession {
    fn from(listed: ListedSession) -> Self {
        Self {
            corp_id: listed.session.employee.corp().to_owned(),
            employee_id: listed.employee_id,
            name: listed.name,
            ip_address: listed.ip_address,
            last_seen_at: listed.seen_at.map(Rfc3339),
        }
    }
}

/// Returns the sessions that the allow-lists would block, without a change.
pub(crate) async fn dry_run(
    app: App,
    HomeAdmin(admin): HomeAdmin,
    JsonBody(ProposedAllowLists(lists)): JsonBody<ProposedAllowLists>,
) -> Result<Reply<DryRun>, ApiError> {
    let tried = admin.administrator(&app).preview_ip_rules(&lists).await?;
    let of_role = |RoleLockout { role, number, exact, some }| {
        let shut_out = some.into_iter().map(BlockedSession::from).collect();
        RoleImpact { role: RoleName(role), sessions: number, sessions_exact: exact, shut_out }
    };
    let (ip_address, role) = (admin.visitor.address.decided, RoleName(Role::Admin));
    let you = CallerImpact { ip_address, role, shut_out: tried.you };
    Ok(Reply(DryRun { you, roles: tried.roles.into_iter().map(of_role).collect() }))
}
