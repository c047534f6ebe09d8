//! Roles, what they permit, and their assignment.

use std::time::Duration;

use deskpass_core::{EmployeeKey, Role, Roles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::admin::EmployeeRef;
use crate::http::admin::employees::Assigned;
use crate::http::auth::permissions::Permissions;
use crate::http::error::ApiError;
use crate::http::request::{Admin, CheckedInput, FromFields, HighRisk, InBody, Reader, ReasonText};
use crate::http::response::{Reply, RoleName};
use crate::timestamp::Rfc3339;

/// A role.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Role")]
pub(crate) struct RoleShown {
    id: i64,
    name: RoleName,
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
    let shown = |role: Role| RoleShown { id: role.id(), name: RoleName(role), priority: role.priority() };
    Reply(RolesShown { items: Role::ALL.into_iter().map(shown).collect() })
}

/// The access matrix.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "AccessMatrix")]
pub(crate) struct MatrixShown {
    items: Vec<Permissions>,
}

/// Returns the access matrix: what every role permits.
pub(crate) async fn matrix(app: App, _: Reader) -> Reply<MatrixShown> {
    Reply(MatrixShown { items: Role::ALL.into_iter().map(|role| Permissions::of(role, &app)).collect() })
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
    app: App,
    HighRisk(admin, InBody(RoleAssignment(employee, roles))): HighRisk<InBody<RoleAssignment>>,
) -> Result<Reply<Assigned>, ApiError> {
    Ok(Reply(admin.administrator(&app).set_roles(employee, roles).await?.into()))
}

/// An employee, and the temporary role to give.
#[derive(Debug, FromFields)]
pub(crate) struct TemporaryRoleBody {
    #[field(flatten)]
    whom: EmployeeRef,
    role: Role,
    /// For how many minutes the employee holds the role, up to 30 days.
    #[field(range = 5..=43_200)]
    minutes: u64,
    /// Why the employee gets the role, for the audit log.
    reason: ReasonText,
}

/// A temporary role, for an employee who exists.
#[derive(Debug)]
pub(crate) struct TemporaryRole {
    employee: EmployeeKey,
    role: Role,
    lifetime: Duration,
    reason: String,
}

impl CheckedInput for TemporaryRole {
    type Fields = TemporaryRoleBody;
    async fn check(body: TemporaryRoleBody, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        let TemporaryRoleBody { whom, role, minutes, reason: ReasonText(reason) } = body;
        let employee = whom.key_in_own_corp(admin, app);
        admin.administrator(app).require_employee(&employee).await?;
        Ok(Self { employee, role, lifetime: Duration::from_mins(minutes), reason })
    }
}

/// The end of a temporary role.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct RoleEnd {
    until: Rfc3339,
}

/// Gives an employee a temporary role.
pub(crate) async fn grant_temporarily(
    app: App,
    HighRisk(admin, InBody(TemporaryRole { employee, role, lifetime, reason })): HighRisk<InBody<TemporaryRole>>,
) -> Result<Reply<RoleEnd>, ApiError> {
    let until = admin.administrator(&app).grant_until(employee, role, lifetime, &reason).await?;
    Ok(Reply(RoleEnd { until: Rfc3339(until) }))
}
