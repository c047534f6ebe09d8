//! Roles and their assignment.

use axum::extract::{FromRequest, FromRequestParts as _, Request, State};
use deskpass_core::{EmployeeKey, Role, Roles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::admin::EmployeeRef;
use crate::http::admin::employees::{Assigned, Listing, PeoplePageQuery, list};
use crate::http::error::ApiError;
use crate::http::request::authority::{HighRisk, Reader, VerifiedCaller};
use crate::http::request::body::JsonBody;
use crate::http::request::context::RequestContext;
use crate::http::request::describe::{DescribeInput, InputSpec};
use crate::http::request::fields::FromFields;
use crate::http::request::query::Query;
use crate::http::response::envelope::Reply;
use crate::http::response::schema::RoleName;

/// Lists employees and their roles.
pub(crate) async fn user_roles(
    State(app): State<App>,
    reader: Reader,
    Query(people): Query<PeoplePageQuery>,
) -> Result<Reply<Listing<Assigned>>, ApiError> {
    list(&app, &reader, people).await
}

/// A role.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Role")]
pub(crate) struct RoleShown {
    id: i64,
    #[schemars(with = "RoleName")]
    name: Role,
    priority: u8,
}

/// All roles.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Roles")]
pub(crate) struct RolesShown {
    items: Vec<RoleShown>,
}

/// Lists the roles.
pub(crate) async fn roles(_: Reader) -> Reply<RolesShown> {
    let shown = |role: Role| RoleShown { id: role.id(), name: role, priority: role.priority() };
    Reply(RolesShown { items: Role::ALL.into_iter().map(shown).collect() })
}

/// An employee, and the roles to assign.
#[derive(Debug, FromFields)]
pub(crate) struct RoleAssignmentBody {
    #[field(flatten)]
    whom: EmployeeRef,
    /// The roles that the employee holds from now on.
    roles: Roles,
}

/// Roles for an employee who exists.
#[derive(Debug)]
pub(crate) struct RoleAssignment(EmployeeKey, Roles);

impl DescribeInput for RoleAssignment {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_body::<RoleAssignmentBody>();
    }
}

impl FromRequest<RequestContext> for RoleAssignment {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let authority = VerifiedCaller::from_request_parts(&mut parts, context).await?;
        let asked = JsonBody::from_request(Request::from_parts(parts, body), context).await;
        let JsonBody(RoleAssignmentBody { whom, roles }) = asked?;
        let key = whom.key_in_own_corp(&authority, &context.app);
        authority.administrator(&context.app).require_employee(&key).await?;
        Ok(Self(key, roles))
    }
}

/// Sets the roles of an employee.
pub(crate) async fn assign(
    State(app): State<App>,
    HighRisk(admin, RoleAssignment(employee, roles)): HighRisk<RoleAssignment>,
) -> Result<Reply<Assigned>, ApiError> {
    Ok(Reply(admin.administrator(&app).set_roles(employee, roles).await?.into()))
}
