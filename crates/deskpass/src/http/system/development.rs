//! Development routes, to try everything without the platform. They do not exist in production.

use axum::extract::State;
use deskpass_core::{CorpId, EmployeeId, Role, Roles};
use deskpass_store::ListedPerson;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::body::JsonBody;
use crate::http::request::client::RequestClient;
use crate::http::request::fields::{Fields, FromFields};
use crate::http::request::restricted::Developer;
use crate::http::response::envelope::Reply;
use crate::http::response::login_result::LoginResult;
use crate::http::response::schema::RoleName;
use crate::timestamp::Rfc3339;
use crate::timestamp::rfc3339;

/// The user to sign in as.
#[derive(Debug)]
pub(crate) struct DevLoginBody {
    corp_id: Option<CorpId>,
    employee_id: EmployeeId,
    role: Option<String>,
}

impl FromFields for DevLoginBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let employee_id = fields.id("employee_id", EmployeeId::parse);
        let (corp_id, role) = (fields.maybe_id("corp_id", CorpId::parse), fields.maybe_text("role"));
        Some(Self { corp_id: corp_id?, employee_id: employee_id?, role: role? })
    }
}

/// Signs in as any user.
pub(crate) async fn login(
    _: Developer,
    State(app): State<App>,
    RequestClient(visitor): RequestClient,
    JsonBody(input): JsonBody<DevLoginBody>,
) -> Result<Reply<LoginResult>, ApiError> {
    let DevLoginBody { corp_id, employee_id, role } = input;
    let signed_in = app.auth.dev_login(corp_id.as_ref(), &employee_id, role.as_deref(), &visitor).await?;
    Ok(Reply(signed_in.into()))
}

/// The users to sign in as.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "DevUsers")]
pub(crate) struct DevUsers {
    users: Vec<DevUser>,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "DevUser")]
struct DevUser {
    corp_id: String,
    employee_id: String,
    name: String,
    department: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    #[schemars(with = "Option<RoleName>")]
    current_role: Option<&'static str>,
    disabled: bool,
    #[schemars(with = "Option<Rfc3339>")]
    last_login_at: Option<String>,
    last_login_ip: Option<String>,
}

impl From<ListedPerson> for DevUser {
    fn from(listed: ListedPerson) -> Self {
        let ListedPerson { person, last_login_at, last_login_ip } = listed;
        Self {
            corp_id: person.key.corp().to_owned(),
            employee_id: person.employee_id,
            name: person.name,
            department: person.department,
            roles: person.roles,
            current_role: person.roles.highest().map(Role::name),
            disabled: person.disabled,
            last_login_at: last_login_at.map(rfc3339),
            last_login_ip,
        }
    }
}

/// Lists the users to sign in as.
pub(crate) async fn users(_: Developer, State(app): State<App>) -> Result<Reply<DevUsers>, ApiError> {
    let users = app.auth.dev_users().await?;
    Ok(Reply(DevUsers { users: users.into_iter().map(DevUser::from).collect() }))
}

/// The state of development mode.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "DevHealth")]
pub(crate) struct DevHealth {
    status: &'static str,
    development: bool,
    corp_id: String,
    cached_sessions: usize,
}

/// Reports that development mode is on.
pub(crate) async fn health(_: Developer, State(app): State<App>) -> Reply<DevHealth> {
    Reply(DevHealth {
        status: "ok",
        development: true,
        corp_id: app.settings.platform.corp_id.to_string(),
        cached_sessions: app.auth.store.cached_sessions(),
    })
}
