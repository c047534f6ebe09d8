//! Extractors of authority. A handler has the authority that it takes as an argument, and no other.

use std::marker::PhantomData;

use axum::extract::{FromRequest, FromRequestParts, Request};
use deskpass_auth::{AccessScope, ActiveUser, Administrator, TokenHolder};
use deskpass_core::{ClientInfo, CorpId, PermissionScope, Role, ServiceScope};
use hyper::HeaderMap;
use hyper::header::HOST;
use hyper::http::request::Parts;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::client::client_address;
use crate::http::request::{
    DescribeInput, InputSpec, RequestContext, RequiredAccess, X_FORWARDED_FOR, bearer_token, client_ip,
};

/// A signed-in user whose active role may read the accounts of others.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) caller: ActiveUser,
    pub(crate) visitor: ClientInfo,
    scope: PermissionScope,
}

/// A signed-in user whose active role is administrator, and their client.
#[derive(Debug)]
pub(crate) struct Admin {
    pub(crate) caller: ActiveUser,
    pub(crate) visitor: ClientInfo,
}

/// A signed-in administrator of the home corporation, who may change settings that affect all corporations.
#[derive(Debug)]
pub(crate) struct HomeAdmin(pub(crate) Admin);

impl Reader {
    /// The access scope of the caller in this corporation, or in their own.
    pub(crate) async fn access_scope(&self, app: &App, corp: Option<&CorpId>) -> Result<AccessScope, ApiError> {
        match app.auth.access_scope(&self.caller, self.scope, corp) {
            Ok(access_scope) => Ok(access_scope),
            Err(_) => self.deny(app).await,
        }
    }

    /// Whether the caller may read records of this corporation.
    pub(crate) fn may_read(&self, app: &App, corp: &CorpId) -> bool {
        app.auth.access_scope(&self.caller, self.scope, Some(corp)).is_ok()
    }

    /// Whether the caller acts as an administrator of the home corporation.
    pub(crate) fn is_home_admin(&self, app: &App) -> bool {
        let at_home = self.caller.0.person().key.corp() == app.auth.policy.home_corp.as_str();
        at_home && self.caller.0.session().current_role == Role::Admin
    }

    /// Refuses a caller who asks for more than they may read, and records an audit event.
    pub(crate) async fn deny<T>(&self, app: &App) -> Result<T, ApiError> {
        Ok(app.auth.refuse_administration(&self.caller, &self.visitor).await?)
    }
}

impl Admin {
    /// The administrator who makes changes; the audit events name them.
    pub(crate) fn administrator<'a>(&self, app: &'a App) -> Administrator<'a> {
        app.auth.administrator(&self.caller, self.visitor.clone())
    }
}

/// The caller of an administrative route, in whatever role, and their client. A refusal is logged.
async fn caller(parts: &mut Parts, context: &RequestContext) -> Result<(ActiveUser, ClientInfo), ApiError> {
    let holder = TokenHolder::from_request_parts(parts, context).await?;
    let visitor = ClientInfo::from_request_parts(parts, context).await?;
    Ok((context.app.auth.authorize_administration(holder, &visitor).await?, visitor))
}

impl FromRequestParts<RequestContext> for Reader {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let (caller, visitor) = caller(parts, context).await?;
        let scope = context.app.auth.account_read_scope(&caller, &visitor).await?;
        Ok(Self { caller, visitor, scope })
    }
}

impl DescribeInput for Reader {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::Reader);
}

impl FromRequestParts<RequestContext> for Admin {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let (caller, visitor) = caller(parts, context).await?;
        if caller.0.session().current_role != Role::Admin {
            return Ok(context.app.auth.refuse_administration(&caller, &visitor).await?);
        }
        Ok(Self { caller, visitor })
    }
}

impl DescribeInput for Admin {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::Admin);
}

impl FromRequestParts<RequestContext> for HomeAdmin {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let admin = Admin::from_request_parts(parts, context).await?;
        context.app.auth.require_home_admin(&admin.caller, &admin.visitor).await?;
        Ok(Self(admin))
    }
}

impl DescribeInput for HomeAdmin {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::Admin);
}

/// A service whose key has the scope `S`, and the rest of its request. The key is checked before and after reading the rest, since
/// it may be revoked in the meantime.
#[derive(Debug)]
pub(crate) struct Service<S, T>(pub(crate) PhantomData<S>, pub(crate) T);

/// The scope that a route requires.
pub(crate) trait ScopeRequirement {
    const SCOPE: ServiceScope;
}

/// The scope for token introspection.
#[derive(Debug)]
pub(crate) struct IntrospectScope;

impl ScopeRequirement for IntrospectScope {
    const SCOPE: ServiceScope = ServiceScope::Introspect;
}

/// The scope for sending messages.
#[derive(Debug)]
pub(crate) struct MessagesScope;

impl ScopeRequirement for MessagesScope {
    const SCOPE: ServiceScope = ServiceScope::Messages;
}

impl<S: ScopeRequirement, T: FromRequest<RequestContext, Rejection = ApiError> + Send> FromRequest<RequestContext>
    for Service<S, T>
{
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let key = bearer_token(request.headers())?.to_owned();
        context.app.auth.authenticate_service(&key, S::SCOPE).await?;
        let rest = T::from_request(request, context).await?;
        context.app.newest().auth.authenticate_service(&key, S::SCOPE).await?;
        Ok(Self(PhantomData, rest))
    }
}

impl<S: ScopeRequirement, T: DescribeInput> DescribeInput for Service<S, T> {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::Service(S::SCOPE));

    fn describe_input(spec: &mut InputSpec) {
        T::describe_input(spec);
    }
}

/// Allows a request in development mode only.
#[derive(Debug)]
pub(crate) struct Developer;

/// Whether the caller is in an operator network or signed in, and may know about the state of the desk. A token that cannot be
/// checked counts as none: health checks get their answer anyway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MayKnowState(pub(crate) bool);

/// Allows a request from an operator network only that reaches the node directly, as far as it shows: a proxy on this machine has an
/// address that is allowed, and would publish the answer.
#[derive(Debug)]
pub(crate) struct Operator;

impl FromRequestParts<RequestContext> for Developer {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        if !context.app.settings.development.enabled {
            return Err(ApiError::DevelopmentOff);
        }
        // These routes require no token, so a form on any page could submit to them.
        let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let (host, site, origin) = (header("host"), header("sec-fetch-site"), header("origin"));
        let cross_site = context.app.hosts.is_cross_site(host, site, origin);
        if cross_site && !parts.method.is_safe() { Err(ApiError::CrossSite) } else { Ok(Self) }
    }
}

impl DescribeInput for Developer {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::Developer);
}

impl FromRequestParts<RequestContext> for MayKnowState {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let (app, forwarded) = (&context.app, parts.headers.get_all(X_FORWARDED_FOR).iter());
        let client = client_address(app, context.peer, forwarded).decided;
        // A proxy that names no client has an address of its own, which may be an operator's.
        let is_named = app.trusted.contains(context.peer) && client != context.peer.to_canonical();
        let is_operator = app.operators.contains(client) && (is_named || is_direct(app, &parts.headers));
        Ok(Self(is_operator || TokenHolder::from_request_parts(parts, context).await.is_ok()))
    }
}

impl DescribeInput for MayKnowState {
    fn describe_input(spec: &mut InputSpec) {
        spec.accepts_token = true;
    }
}

impl FromRequestParts<RequestContext> for Operator {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let app = &context.app;
        if !app.operators.contains(client_ip(parts, context)) {
            return Err(ApiError::NotAnOperator);
        }
        if is_direct(app, &parts.headers) { Ok(Self) } else { Err(ApiError::NotDirect) }
    }
}

/// Whether nothing in a request says that a proxy passed it on. One that adds no header and names a host of the node cannot be told
/// from a program on this machine.
fn is_direct(app: &App, headers: &HeaderMap) -> bool {
    !is_forwarded(headers) && !is_under_public_name(app, headers)
}

/// Whether a request has a header that proxies add.
fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_added = |name: &str| ["forwarded", "via", "x-real-ip"].contains(&name) || name.starts_with("x-forwarded-");
    headers.keys().any(|name| is_added(name.as_str()))
}

/// Whether a request names a host that users visit, or one that is not known: a proxy may pass on any.
fn is_under_public_name(app: &App, headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else { return false };
    host.to_str().map_or(true, |host| app.settings.is_public_host(host) || !app.hosts.contains(host))
}

impl DescribeInput for Operator {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::Operator);
}
