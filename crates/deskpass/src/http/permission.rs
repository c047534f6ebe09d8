//! What the active role permits: for clients, and for proxies that ask before they let a request through.

use axum::extract::State;
use deskpass_auth::Holder;
use deskpass_core::{Operation, Resource, Role, Roles, Scope};
use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::JsonSchema;
use serde::Serialize;

use super::authority::Reader;
use super::envelope::Reply;
use super::extract::{Body, Caller};
use super::failure::Failure;
use super::fields::{Ask, Fields, Problem};
use super::openapi::{RoleName, ScopeName};
use super::query::Query;
use crate::Desk;

/// How far a role may go with each operation on a resource; null is not at all.
#[derive(Debug, JsonSchema, Serialize)]
struct Operations {
    #[schemars(with = "Option<ScopeName>")]
    read: Option<Scope>,
    #[schemars(with = "Option<ScopeName>")]
    create: Option<Scope>,
    #[schemars(with = "Option<ScopeName>")]
    update: Option<Scope>,
    #[schemars(with = "Option<ScopeName>")]
    delete: Option<Scope>,
}

/// The same, for each resource.
#[derive(Debug, JsonSchema, Serialize)]
struct Resources {
    conversation: Operations,
    approval: Operations,
    knowledge: Operations,
    account: Operations,
}

/// A row of the access matrix.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Permissions {
    #[schemars(with = "RoleName")]
    role: Role,
    permissions: Resources,
}

impl Permissions {
    fn of(role: Role, desk: &Desk) -> Self {
        let operations = |resource| {
            let granted = |operation| desk.auth.policy.matrix.granted(role, resource, operation);
            let [read, create, update, delete] = Operation::ALL.map(granted);
            Operations { read, create, update, delete }
        };
        let [conversation, approval, knowledge, account] = Resource::ALL.map(operations);
        Self { role, permissions: Resources { conversation, approval, knowledge, account } }
    }
}

/// Says what the active role permits.
pub(super) async fn permissions(State(desk): State<Desk>, caller: Caller) -> Reply<Permissions> {
    Reply(Permissions::of(caller.into_inner().0.session().current_role, &desk))
}

/// The access matrix.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "AccessMatrix")]
pub(super) struct MatrixShown {
    items: Vec<Permissions>,
}

/// Says what every role permits.
pub(super) async fn matrix(State(desk): State<Desk>, _: Reader) -> Reply<MatrixShown> {
    Reply(MatrixShown { items: Role::ALL.into_iter().map(|role| Permissions::of(role, &desk)).collect() })
}

/// Something that somebody wants to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    resource: Resource,
    operation: Operation,
    scope: Scope,
}

impl Ask for Wish {
    fn read(fields: &mut Fields) -> Option<Self> {
        let resource = fields.word("resource", &Resource::NAMES).and_then(Resource::from_name);
        let operation = fields.word("operation", &Operation::NAMES).and_then(Operation::from_name);
        let scope = fields.word("scope", &Scope::NAMES).and_then(Scope::from_name);
        Some(Self { resource: resource?, operation: operation?, scope: scope? })
    }
}

/// Whether it may be done.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Checked {
    allowed: bool,
    #[schemars(with = "Option<ScopeName>")]
    granted_scope: Option<Scope>,
}

/// Says whether the active role permits something.
pub(super) async fn check(
    State(desk): State<Desk>,
    caller: Caller,
    Body(wish): Body<Wish>,
) -> Result<Reply<Checked>, Failure> {
    let (caller, Wish { resource, operation, scope }) = (desk.auth.still(&caller.into_inner()).await?, wish);
    let allowed = desk.auth.permits(&caller, resource, operation, scope).is_ok();
    Ok(Reply(Checked { allowed, granted_scope: desk.auth.granted(&caller, resource, operation) }))
}

/// What a proxy wants of whoever sends the request that it holds.
#[derive(Debug)]
pub(super) struct Demands {
    /// To act in one of these roles.
    roles: Option<Roles>,
    /// To be permitted this.
    wish: Option<Wish>,
}

impl Ask for Demands {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.only(&["role", "resource", "operation", "scope"]);
        let (roles, wish) = (roles(fields), wish(fields));
        Some(Self { roles: roles?, wish: wish? })
    }
}

/// All of a wish, or nothing of it.
#[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
fn wish(fields: &mut Fields) -> Option<Option<Wish>> {
    let resource = fields.maybe_word("resource", &Resource::NAMES);
    let operation = fields.maybe_word("operation", &Operation::NAMES);
    let scope = fields.maybe_word("scope", &Scope::NAMES);
    let (resource, operation, scope) = (resource?, operation?, scope?);
    let given = [("resource", resource.is_some()), ("operation", operation.is_some()), ("scope", scope.is_some())];
    for (name, _) in given.into_iter().filter(|(_, there)| !there && given.iter().any(|(_, there)| *there)) {
        fields.refuse(name, Problem::Required);
    }
    Some(resource.zip(operation).zip(scope).and_then(|((resource, operation), scope)| {
        Some(Wish {
            resource: Resource::from_name(resource)?,
            operation: Operation::from_name(operation)?,
            scope: Scope::from_name(scope)?,
        })
    }))
}

/// The names of roles, separated by commas.
#[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
fn roles(fields: &mut Fields) -> Option<Option<Roles>> {
    let Some(names) = fields.maybe_text("role")? else { return Some(None) };
    let roles: Option<Roles> = names.split(',').map(Role::from_name).collect();
    if roles.is_none() {
        fields.refuse("role", Problem::NotOneOf(&Role::NAMES));
    }
    roles.map(Some)
}

/// Whose request it is.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Vouched {
    employee_id: String,
    corp_id: String,
    name: String,
    #[schemars(with = "RoleName")]
    current_role: Role,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
}

/// The headers that carry it on, each always there.
type Identity = [(HeaderName, HeaderValue); 5];

/// Lets a proxy pass a request on, and says whose it is.
pub(super) async fn forward(
    State(desk): State<Desk>,
    caller: Caller,
    Query(demands): Query<Demands>,
) -> Result<(Identity, Reply<Vouched>), Failure> {
    let caller = caller.into_inner();
    if let Some(roles) = demands.roles {
        caller.acts_as(roles)?;
    }
    if let Some(Wish { resource, operation, scope }) = demands.wish {
        desk.auth.permits(&caller, resource, operation, scope)?;
    }
    let vouched = Vouched::of(&caller.0);
    Ok((vouched.headers()?, Reply(vouched)))
}

/// What a name may show of itself in a header; everything else is percent-encoded.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl Vouched {
    fn of(holder: &Holder) -> Self {
        let person = holder.person();
        Self {
            employee_id: person.employee_id.clone(),
            corp_id: person.key.corp().to_owned(),
            name: person.name.clone(),
            current_role: holder.session().current_role,
            roles: holder.roles,
        }
    }

    fn headers(&self) -> Result<Identity, Failure> {
        let text = |text: &str| HeaderValue::from_str(text).map_err(|error| Failure::unexpected(&error));
        let roles: Vec<_> = self.roles.iter().map(Role::name).collect();
        Ok([
            (HeaderName::from_static("x-auth-employee-id"), text(&self.employee_id)?),
            (HeaderName::from_static("x-auth-corp-id"), text(&self.corp_id)?),
            (HeaderName::from_static("x-auth-name"), text(&utf8_percent_encode(&self.name, PLAIN).to_string())?),
            (HeaderName::from_static("x-auth-role"), HeaderValue::from_static(self.current_role.name())),
            (HeaderName::from_static("x-auth-roles"), text(&roles.join(","))?),
        ])
    }
}
