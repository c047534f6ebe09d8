//! The permissions of the active role: for clients, and for proxies that check requests before they forward them.

use deskpass_auth::{ActiveUser, TokenHolder};
use deskpass_core::{Operation, PermissionScope, Resource, Role, Roles};
use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{FieldKind, FieldValue, FromFields, GivenValue, InvalidFields, JsonBody, Query};
use crate::http::response::{Reply, RoleName, ScopeName};

/// The scope that a role has for each operation on a resource; null where the operation is not permitted.
#[derive(Debug, JsonSchema, Serialize)]
struct Operations {
    read: Option<ScopeName>,
    create: Option<ScopeName>,
    update: Option<ScopeName>,
    delete: Option<ScopeName>,
}

/// The operations on each resource.
#[derive(Debug, JsonSchema, Serialize)]
struct Resources {
    conversation: Operations,
    approval: Operations,
    knowledge: Operations,
    account: Operations,
}

/// A row of the access matrix.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Permissions {
    role: RoleName,
    permissions: Resources,
}

impl Permissions {
    /// The row of a role.
    pub(crate) fn of(role: Role, app: &App) -> Self {
        let operations = |resource| {
            let granted = |operation| app.auth.policy.matrix.granted(role, resource, operation).map(ScopeName);
            let [read, create, update, delete] = Operation::ALL.map(granted);
            Operations { read, create, update, delete }
        };
        let [conversation, approval, knowledge, account] = Resource::ALL.map(operations);
        Self { role: RoleName(role), permissions: Resources { conversation, approval, knowledge, account } }
    }
}

/// Returns the permissions of the active role.
pub(crate) async fn permissions(app: App, caller: ActiveUser) -> Reply<Permissions> {
    Reply(Permissions::of(caller.0.session().current_role, &app))
}

/// The operation to check.
#[derive(Clone, Copy, Debug, FromFields)]
pub(crate) struct PermissionCheck {
    resource: Resource,
    operation: Operation,
    scope: PermissionScope,
}

/// Whether the operation is permitted.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Checked {
    allowed: bool,
    granted_scope: Option<ScopeName>,
}

/// Returns whether the active role permits an operation.
pub(crate) async fn check(
    app: App,
    caller: ActiveUser,
    JsonBody(wanted): JsonBody<PermissionCheck>,
) -> Result<Reply<Checked>, ApiError> {
    let PermissionCheck { resource, operation, scope } = wanted;
    let caller = app.auth.reauthenticate(&caller).await?;
    let allowed = app.auth.permits(&caller, resource, operation, scope).is_ok();
    Ok(Reply(Checked { allowed, granted_scope: app.auth.granted(&caller, resource, operation).map(ScopeName) }))
}

/// What a proxy requires of the user who sends the request.
#[derive(Debug, FromFields)]
#[field(deny_unknown)]
pub(crate) struct ForwardQuery {
    /// The active role must be one of these, separated by commas.
    #[field(name = "role")]
    roles: Option<RoleNames>,
    /// The active role must permit this.
    #[field(flatten)]
    wanted: Option<PermissionCheck>,
}

/// The fields of a permission to check: either all or none.
#[derive(FromFields)]
#[field(into = Option<PermissionCheck>)]
struct OptionalCheck {
    resource: Option<Resource>,
    operation: Option<Operation>,
    scope: Option<PermissionScope>,
}

impl TryFrom<OptionalCheck> for Option<PermissionCheck> {
    type Error = InvalidFields;
    fn try_from(OptionalCheck { resource, operation, scope }: OptionalCheck) -> Result<Self, InvalidFields> {
        let any = resource.is_some() || operation.is_some() || scope.is_some();
        InvalidFields::check([
            (any && resource.is_none(), "resource", FieldError::Required),
            (any && operation.is_none(), "operation", FieldError::Required),
            (any && scope.is_none(), "scope", FieldError::Required),
        ])?;
        let all = resource.zip(operation).zip(scope);
        Ok(all.map(|((resource, operation), scope)| PermissionCheck { resource, operation, scope }))
    }
}

/// Names of roles, separated by commas.
#[derive(Debug)]
struct RoleNames(Roles);

impl FieldValue for RoleNames {
    fn kind() -> FieldKind {
        FieldKind::Text
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let roles: Option<Roles> = given.text()?.split(',').map(Role::from_name).collect();
        roles.map(Self).ok_or(FieldError::NotOneOf(&Role::NAMES))
    }
}

/// The user who sends the request.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Vouched")]
pub(crate) struct ForwardedIdentity {
    employee_id: String,
    corp_id: String,
    name: String,
    current_role: RoleName,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
}

/// The headers that identify the user; all are always present.
type IdentityHeaders = [(HeaderName, HeaderValue); 5];

/// Allows a proxy to forward a request, and identifies its user.
pub(crate) async fn forward(
    app: App,
    caller: ActiveUser,
    Query(query): Query<ForwardQuery>,
) -> Result<(IdentityHeaders, Reply<ForwardedIdentity>), ApiError> {
    if let Some(RoleNames(roles)) = query.roles {
        caller.acts_as(roles)?;
    }
    if let Some(PermissionCheck { resource, operation, scope }) = query.wanted {
        app.auth.permits(&caller, resource, operation, scope)?;
    }
    let identity = ForwardedIdentity::of(&caller.0);
    Ok((identity.headers()?, Reply(identity)))
}

/// The characters of a name that a header contains as they are; all others are percent-encoded.
const HEADER_SAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl ForwardedIdentity {
    fn of(holder: &TokenHolder) -> Self {
        let person = holder.person();
        Self {
            employee_id: person.employee_id().to_owned(),
            corp_id: person.key.corp().to_owned(),
            name: person.name().to_owned(),
            current_role: RoleName(holder.session().current_role),
            roles: holder.roles,
        }
    }

    fn headers(&self) -> Result<IdentityHeaders, ApiError> {
        let text = |text: &str| HeaderValue::from_str(text).map_err(|error| ApiError::unexpected(&error));
        let roles: Vec<_> = self.roles.iter().map(Role::name).collect();
        Ok([
            (HeaderName::from_static("x-auth-employee-id"), text(&self.employee_id)?),
            (HeaderName::from_static("x-auth-corp-id"), text(&self.corp_id)?),
            (HeaderName::from_static("x-auth-name"), text(&utf8_percent_encode(&self.name, HEADER_SAFE).to_string())?),
            (HeaderName::from_static("x-auth-role"), HeaderValue::from_static(self.current_role.0.name())),
            (HeaderName::from_static("x-auth-roles"), text(&roles.join(","))?),
        ])
    }
}
