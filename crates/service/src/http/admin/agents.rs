//! Agents, for administrators. Every change requires a fresh one-time password.

use deskpass_auth::ResetKind;
use deskpass_core::{EmployeeId, EmployeeKey, Role};
use deskpass_store::{AgentSelection, ListedAgent};
use schemars::JsonSchema;
use serde::Serialize;

use super::Done;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{Admin, CheckedInput, FromFields, HighRisk, HomeAdmin, HomeOnly, InPath, JsonBody, Query};
use crate::http::response::{Reply, RoleName};
use crate::timestamp::Rfc3339;

/// An agent, or an employee who is no agent and has a device.
#[derive(Debug, JsonSchema, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent flags of an agent")]
pub(crate) struct AgentShown {
    corp_id: String,
    employee_id: String,
    name: String,
    agent: bool,
    role: Option<RoleName>,
    disabled: bool,
    employee_disabled: bool,
    locked: bool,
    shut_until: Option<Rfc3339>,
    has_password: bool,
    has_device: bool,
    device_proven: bool,
    device_verified_at: Option<Rfc3339>,
    created_at: Rfc3339,
}

impl From<ListedAgent> for AgentShown {
    fn from(listed: ListedAgent) -> Self {
        let ListedAgent { agent, employee_id, name, employee_disabled, locked, shut_until } = listed;
        let device = agent.device.as_ref();
        Self {
            corp_id: agent.key.corp().to_owned(),
            employee_id,
            name,
            agent: !agent.device_only,
            role: (!agent.device_only).then_some(RoleName(agent.role)),
            disabled: agent.disabled && !agent.device_only,
            employee_disabled,
            locked,
            shut_until: shut_until.map(Rfc3339),
            has_password: agent.password.is_some(),
            has_device: device.is_some(),
            device_proven: device.is_some_and(|device| device.proven),
            device_verified_at: device.and_then(|device| device.verified_at).map(Rfc3339),
            created_at: Rfc3339(agent.created_at),
        }
    }
}

/// A page of agents.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Agents {
    items: Vec<AgentShown>,
    next: Option<String>,
}

/// The query of the list of agents.
#[derive(Debug, FromFields)]
pub(crate) struct AgentsQuery {
    /// The most agents to return; 50 unless given.
    #[field(range = 1..=200, default = 50)]
    page_size: u64,
    /// The `next` of another page.
    after: Option<EmployeeId>,
    /// Whether to also list employees who are not agents and have an authenticator.
    devices: Option<bool>,
}

/// Lists the agents of the home corporation.
pub(crate) async fn list(
    app: App,
    HomeAdmin(admin): HomeAdmin,
    Query(input): Query<AgentsQuery>,
) -> Result<Reply<Agents>, ApiError> {
    let devices = input.devices.unwrap_or_default();
    let which = if devices { AgentSelection::AgentsAndDevices } else { AgentSelection::Agents };
    let (agents, next) = admin.administrator(&app).agents(which, input.after.as_ref(), input.page_size).await?;
    Ok(Reply(Agents { items: agents.into_iter().map(AgentShown::from).collect(), next }))
}

/// The employee to make an agent, and the role that applies when they hold no other.
#[derive(Debug, FromFields)]
pub(crate) struct NewAgent {
    employee_id: EmployeeId,
    /// The role that applies when the employee holds no other; `agent` unless given.
    #[field(default = Role::Agent)]
    role: Role,
}

/// Makes an employee an agent.
pub(crate) async fn add(
    app: App,
    HighRisk(admin, HomeOnly(JsonBody(input))): HighRisk<HomeOnly<JsonBody<NewAgent>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).add_agent(app.auth.resolve_key(None, &input.employee_id), input.role.name()).await?;
    Ok(Reply(Done::YES))
}

/// An employee of the home corporation, as the path names them.
#[derive(FromFields)]
pub(crate) struct AgentPath(#[field(name = "employee_id")] EmployeeId);

/// An existing agent, as the path names them.
#[derive(Debug)]
pub(crate) struct ExistingAgent(EmployeeKey);

impl CheckedInput for ExistingAgent {
    type Fields = AgentPath;
    async fn check(AgentPath(id): AgentPath, _: &Admin, app: &App) -> Result<Self, ApiError> {
        let agent = app.auth.resolve_key(None, &id);
        app.auth.require_agent(&agent).await?;
        Ok(Self(agent))
    }
}

/// An agent, or another employee who may have a device, as the path names them.
#[derive(Debug)]
pub(crate) struct DeviceOwner(EmployeeKey);

impl CheckedInput for DeviceOwner {
    type Fields = AgentPath;
    async fn check(AgentPath(id): AgentPath, _: &Admin, app: &App) -> Result<Self, ApiError> {
        let owner = app.auth.resolve_key(None, &id);
        app.auth.require_device_owner(&owner).await?;
        Ok(Self(owner))
    }
}

/// An agent whose password may be reset: where the settings require it, verified as the caller before.
#[derive(Debug)]
pub(crate) struct VerifiedAgent(EmployeeKey);

impl CheckedInput for VerifiedAgent {
    type Fields = AgentPath;
    async fn check(path: AgentPath, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        let ExistingAgent(agent) = ExistingAgent::check(path, admin, app).await?;
        admin.administrator(app).require_verified_caller(&agent, ResetKind::Password).await?;
        Ok(Self(agent))
    }
}

/// The owner of a device that may be reset: where the settings require it, verified as the caller before.
#[derive(Debug)]
pub(crate) struct VerifiedOwner(EmployeeKey);

impl CheckedInput for VerifiedOwner {
    type Fields = AgentPath;
    async fn check(path: AgentPath, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        let DeviceOwner(owner) = DeviceOwner::check(path, admin, app).await?;
        admin.administrator(app).require_verified_caller(&owner, ResetKind::Device).await?;
        Ok(Self(owner))
    }
}

/// Resets the failed attempts of an agent, or at another employee's device.
pub(crate) async fn unlock(
    app: App,
    HighRisk(admin, HomeOnly(InPath(DeviceOwner(agent)))): HighRisk<HomeOnly<InPath<DeviceOwner>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).unlock_agent(agent).await?;
    Ok(Reply(Done::YES))
}

/// An unbound device, and a setup code with which its owner binds another.
#[derive(JsonSchema, Serialize)]
pub(crate) struct OtpReset {
    success: bool,
    setup_code: String,
    expires_at: Rfc3339,
}

/// Unbinds a device, and returns a setup code with which its owner binds another.
pub(crate) async fn reset_otp(
    app: App,
    HighRisk(admin, HomeOnly(InPath(VerifiedOwner(agent)))): HighRisk<HomeOnly<InPath<VerifiedOwner>>>,
) -> Result<Reply<OtpReset>, ApiError> {
    let reset = admin.administrator(&app).reset_device(agent).await?;
    Ok(Reply(OtpReset { success: true, setup_code: reset.code.text(), expires_at: Rfc3339(reset.until) }))
}

/// A setup code with which an agent sets a password.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Reset {
    setup_code: String,
    expires_at: Rfc3339,
    ended_sessions: usize,
}

/// Removes an agent's password, and returns a setup code with which they set another.
pub(crate) async fn reset_password(
    app: App,
    HighRisk(admin, HomeOnly(InPath(VerifiedAgent(agent)))): HighRisk<HomeOnly<InPath<VerifiedAgent>>>,
) -> Result<Reply<Reset>, ApiError> {
    let reset = admin.administrator(&app).reset_password(agent).await?;
    let (setup_code, expires_at) = (reset.code.text(), Rfc3339(reset.until));
    Ok(Reply(Reset { setup_code, expires_at, ended_sessions: reset.ended }))
}
