//! Development routes, to try everything without the platform. They do not exist in production.

use deskpass_core::{ClientInfo, CorpId, EmployeeId, Roles};
use deskpass_store::ListedPerson;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{Developer, FromFields, JsonBody};
use crate::http::response::{LoginResult, Reply, RoleName};
use crate::timestamp::Rfc3339;

/// The user to sign in as.
#[derive(Debug, FromFields)]
pub(crate) struct DevLoginBody {
    employee_id: EmployeeId,
    /// The user's corporation; the main one unless given.
    corp_id: Option<CorpId>,
    /// The role to act in; the highest that the user holds unless given.
    role: Option<String>,
}

/// Signs in as any user.
pub(crate) async fn login(
    _: Developer,
    app: App,
    visitor: ClientInfo,
    JsonBody(input): JsonBody<DevLoginBody>,
) -> Result<Reply<LoginResult>, ApiError> {
    let DevLoginBody { corp_id, employee_id, role } = input;
    let signed_in = app.auth.dev_login(corp_id.as_ref(), &employee_id, role.as_deref(), &visitor).await?;
    Ok(Reply(signed_in.into()))
}

/// The users to sign in as.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct DevUsers {
    users: Vec<DevUser>,
}

#[derive(Debug, JsonSchema, Serialize)]
struct DevUser {
    corp_id: String,
    employee_id: String,
    name: String,
    department: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    current_role: Option<RoleName>,
    disabled: bool,
    last_login_at: Option<Rfc3339>,
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
            current_role: person.roles.highest().map(RoleName),
            disabled: person.disabled,
            last_login_at: last_login_at.map(Rfc3339),
            last_login_ip,
        }
    }
}

/// Lists the users to sign in as.
pub(crate) async fn users(_: Developer, app: App) -> Result<Reply<DevUsers>, ApiError> {
    let users = app.auth.dev_users().await?;
    Ok(Reply(DevUsers { users: users.into_iter().map(DevUser::from).collect() }))
}

/// The state of development mode.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct DevHealth {
    status: &'static str,
    development: bool,
    corp_id: String,
    cached_sessions: usize,
}

/// Reports that development mode is on.
pub(crate) async fn health(_: Developer, app: App) -> Reply<DevHealth> {
    Reply(DevHealth {
        status: "ok",
        development: true,
        corp_id: app.settings.platform.corp_id.to_string(),
        cached_sessions: app.auth.store.cached_sessions(),
    })
}
