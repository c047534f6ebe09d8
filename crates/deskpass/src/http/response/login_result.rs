//! The response to every sign-in.

use deskpass_auth::SignedIn;
use deskpass_core::{LoginMethod, LoginSource, Role, Roles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::response::schema::{MethodName, RoleName, SourceName};
use crate::timestamp::Rfc3339;
use crate::timestamp::rfc3339;

/// The result of a sign-in.
#[derive(JsonSchema, Serialize)]
pub(crate) struct LoginResult {
    token: String,
    token_type: &'static str,
    expires_in: u64,
    #[schemars(with = "Rfc3339")]
    expires_at: String,
    employee_id: String,
    corp_id: String,
    name: String,
    department: String,
    avatar: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    #[schemars(with = "RoleName")]
    current_role: Role,
    #[schemars(with = "MethodName")]
    login_method: LoginMethod,
    #[schemars(with = "SourceName")]
    login_source: LoginSource,
}

impl From<SignedIn> for LoginResult {
    fn from(signed_in: SignedIn) -> Self {
        let SignedIn { token, session, person, roles } = signed_in;
        Self {
            token: token.expose().to_owned(),
            token_type: "Bearer",
            expires_in: session.expires_at.since(session.created_at).as_secs(),
            expires_at: rfc3339(session.expires_at),
            employee_id: person.employee_id.clone(),
            corp_id: person.key.corp().to_owned(),
            name: person.name.clone(),
            department: person.department.clone(),
            avatar: person.avatar.clone(),
            roles,
            current_role: session.current_role,
            login_method: session.method,
            login_source: session.source,
        }
    }
}
