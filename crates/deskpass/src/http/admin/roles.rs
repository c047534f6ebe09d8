//! Roles and their assignment.

use axum::extract::State;
use deskpass_core::{EmployeeKey, Role, Roles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::admin::EmployeeRef;
use crate::http::admin::employees::{Assigned, Listing, PeoplePageQuery, list};
use crate::http::error::ApiError;
use crate::http::request::authority::{Admin, Reader};
use crate::http::request::change::{CheckedInput, HighRisk, InBody};
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

impl CheckedInput for RoleAssignment {
    type Fields = RoleAssignmentBody;
    async fn check(body: RoleAssignmentBody, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        let key = body.whom.key_in_own_corp(admin, app);
        admin.administrator(app).require_employee(&key).await?;
        Ok(Self(key, body.roles))
    }
}

/// Sets the roles of an employee.
pub(crate) async fn assign(
    State(app): State<App>,
    HighRisk(admin, InBody(RoleAssignment(employee, roles))): HighRisk<InBody<RoleAssignment>>,
) -> Result<Reply<Assigned>, ApiError> {
    Ok(Reply(admin.administrator(&app).set_roles(employee, roles).await?.into()))
}
