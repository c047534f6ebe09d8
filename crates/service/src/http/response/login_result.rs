//! The response to every sign-in.

use deskpass_auth::SignedIn;
use deskpass_core::Roles;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::response::{MethodName, RoleName, SourceName};
use crate::timestamp::Rfc3339;

/// The result of a sign-in.
#[derive(JsonSchema, Serialize)]
pub(crate) struct LoginResult {
    token: String,
    token_type: &'static str,
    expires_in: u64,
    expires_at: Rfc3339,
    employee_id: String,
    corp_id: String,
    name: String,
    department: String,
    avatar: String,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    current_role: RoleName,
    login_method: MethodName,
    login_source: SourceName,
}

impl From<SignedIn> for LoginResult {
    fn from(signed_in: SignedIn) -> Self {
        let SignedIn { token, session, person, roles } = signed_in;
        Self {
            token: token.expose().to_owned(),
            token_type: "Bearer",
            expires_in: session.expires_at.since(session.created_at).as_secs(),
            expires_at: Rfc3339(session.expires_at),
            employee_id: person.employee_id.clone(),
            corp_id: person.key.corp().to_owned(),
            name: person.name.clone(),
            department: person.department.clone(),
            avatar: person.avatar.clone(),
            roles,
            current_role: RoleName(session.current_role),
            login_method: MethodName(session.method),
            login_source: SourceName(session.source),
        }
    }
}
