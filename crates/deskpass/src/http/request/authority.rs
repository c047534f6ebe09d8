//! Extractors for administrators. A handler has the authority that it takes as an argument, and no other.

use axum::extract::{FromRequest, FromRequestParts, Request};
use deskpass_auth::{AccessScope, Administrator};
use deskpass_core::{ClientInfo, CorpId, EmployeeId, EmployeeKey, PermissionScope, Role};
use hyper::HeaderMap;
use hyper::header::HeaderName;
use hyper::http::request::Parts;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::access::RequiredAccess;
use crate::http::request::client::RequestClient;
use crate::http::request::context::RequestContext;
use crate::http::request::describe::{DescribeInput, InputSpec};
use crate::http::request::fields::FromFields;
use crate::http::request::query::Path;
use crate::http::request::token::{ActiveUser, TokenHolder};

/// A signed-in user whose active role may read the accounts of others.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) caller: ActiveUser,
    pub(crate) visitor: ClientInfo,
    scope: PermissionScope,
}

/// A signed-in user whose active role is administrator.
#[derive(Debug)]
pub(crate) struct Admin(pub(crate) VerifiedCaller);

/// An administrator who sent a fresh one-time password with this request. The password is used only after everything else about
/// the request is valid, so that a mistake does not waste it.
#[derive(Debug)]
pub(crate) struct HighRisk<T>(pub(crate) VerifiedCaller, pub(crate) T);

/// An administrator and their client.
#[derive(Debug)]
pub(crate) struct VerifiedCaller {
    pub(crate) caller: ActiveUser,
    pub(crate) visitor: ClientInfo,
}

/// The path parameters, and the rest of a request.
#[derive(Debug)]
pub(crate) struct PathAnd<P, R>(pub(crate) P, pub(crate) R);

/// A request without further input.
#[derive(Debug)]
pub(crate) struct NoBody;

/// A signed-in administrator of the home corporation, who may change settings that affect all corporations.
#[derive(Debug)]
pub(crate) struct HomeAdmin(pub(crate) VerifiedCaller);

/// Input that only administrators of the home corporation may send. Others are rejected before their one-time password is used.
#[derive(Debug)]
pub(crate) struct HomeOnly<T>(pub(crate) T);

/// An existing agent, whom the path names as `{employee_id}`.
#[derive(Debug)]
pub(crate) struct ExistingAgent(pub(crate) EmployeeKey);

impl Reader {
    /// The access scope of the caller in this corporation, or in their own.
    pub(crate) async fn access_scope(&self, app: &App, corp: Option<&CorpId>) -> Result<AccessScope, ApiError> {
        match app.auth.access_scope(&self.caller.0, self.scope, corp) {
            Ok(access_scope) => Ok(access_scope),
            Err(_) => self.deny(app).await,
        }
    }

    /// Whether the caller may read records of this corporation.
    pub(crate) fn may_read(&self, app: &App, corp: &CorpId) -> bool {
        app.auth.access_scope(&self.caller.0, self.scope, Some(corp)).is_ok()
    }

    /// Refuses a caller who asks for more than they may read, and records an audit event.
    pub(crate) async fn deny<T>(&self, app: &App) -> Result<T, ApiError> {
        Ok(app.auth.refuse_administration(&self.caller.0, &self.visitor).await?)
    }
}

impl VerifiedCaller {
    /// The administrator who makes changes; the audit events name them.
    pub(crate) fn administrator<'a>(&self, app: &'a App) -> Administrator<'a> {
        app.auth.administrator(&self.caller.0, self.visitor.clone())
    }
}

impl FromRequestParts<RequestContext> for VerifiedCaller {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let TokenHolder(holder) = TokenHolder::from_request_parts(parts, context).await?;
        let RequestClient(visitor) = RequestClient::from_request_parts(parts, context).await?;
        let caller = ActiveUser(context.app.auth.authorize_administration(holder, &visitor).await?);
        Ok(Self { caller, visitor })
    }
}

impl FromRequestParts<RequestContext> for Reader {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let VerifiedCaller { caller, visitor } = VerifiedCaller::from_request_parts(parts, context).await?;
        let scope = context.app.auth.account_read_scope(&caller.0, &visitor).await?;
        Ok(Self { caller, visitor, scope })
    }
}

impl DescribeInput for Reader {
    fn describe_input(spec: &mut InputSpec) {
        spec.requires(RequiredAccess::Reader);
    }
}

impl FromRequestParts<RequestContext> for Admin {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let authority = VerifiedCaller::from_request_parts(parts, context).await?;
        let VerifiedCaller { caller, visitor } = &authority;
        if caller.session().current_role != Role::Admin {
            return Ok(context.app.auth.refuse_administration(&caller.0, visitor).await?);
        }
        Ok(Self(authority))
    }
}

impl DescribeInput for Admin {
    fn describe_input(spec: &mut InputSpec) {
        spec.requires(RequiredAccess::Admin);
    }
}

impl FromRequestParts<RequestContext> for HomeAdmin {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let Admin(authority) = Admin::from_request_parts(parts, context).await?;
        context.app.auth.require_home_admin(&authority.caller.0, &authority.visitor).await?;
        Ok(Self(authority))
    }
}

impl DescribeInput for HomeAdmin {
    fn describe_input(spec: &mut InputSpec) {
        spec.requires(RequiredAccess::Admin);
    }
}

impl<T: FromRequest<RequestContext, Rejection = ApiError> + Send> FromRequest<RequestContext> for HomeOnly<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        HomeAdmin::from_request_parts(&mut parts, context).await?;
        Ok(Self(T::from_request(Request::from_parts(parts, body), context).await?))
    }
}

impl<T: DescribeInput> DescribeInput for HomeOnly<T> {
    fn describe_input(spec: &mut InputSpec) {
        T::describe_input(spec);
    }
}

impl<T: FromRequest<RequestContext, Rejection = ApiError> + Send> FromRequest<RequestContext> for HighRisk<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let Admin(authority) = Admin::from_request_parts(&mut parts, context).await?;
        let VerifiedCaller { caller, visitor } = &authority;
        let given = otp_header(&parts.headers);
        let fresh = context.app.auth.parse_fresh_code(&caller.0, given.as_deref(), visitor).await?;
        let rest = T::from_request(Request::from_parts(parts, body), context).await?;
        context.app.auth.consume_fresh_code(&caller.0, fresh, visitor).await?;
        Ok(Self(authority, rest))
    }
}

impl<T: DescribeInput> DescribeInput for HighRisk<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.requires(RequiredAccess::HighRisk);
        T::describe_input(spec);
    }
}

impl<P, R> FromRequest<RequestContext> for PathAnd<P, R>
where
    P: FromRequestParts<RequestContext, Rejection = ApiError> + Send,
    R: FromRequest<RequestContext, Rejection = ApiError>,
{
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let place = P::from_request_parts(&mut parts, context).await?;
        Ok(Self(place, R::from_request(Request::from_parts(parts, body), context).await?))
    }
}

impl<P: DescribeInput, R: DescribeInput> DescribeInput for PathAnd<P, R> {
    fn describe_input(spec: &mut InputSpec) {
        P::describe_input(spec);
        R::describe_input(spec);
    }
}

impl FromRequest<RequestContext> for NoBody {
    type Rejection = ApiError;
    async fn from_request(_: Request, _: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self)
    }
}

impl DescribeInput for NoBody {
    fn describe_input(_: &mut InputSpec) {}
}

/// The header in which a fresh one-time password is sent.
const X_OTP_CODE: HeaderName = HeaderName::from_static("x-otp-code");

/// The one-time password of a request; `None` where the header is repeated.
fn otp_header(headers: &HeaderMap) -> Option<String> {
    let mut given = headers.get_all(X_OTP_CODE).iter();
    let (first, second) = (given.next()?, given.next());
    Some(first.to_str().ok().filter(|_| second.is_none()).unwrap_or_default().to_owned())
}

/// An employee of the home corporation, as the path names them.
#[derive(FromFields)]
pub(crate) struct AgentPath(#[field(name = "employee_id")] EmployeeId);

impl FromRequest<RequestContext> for ExistingAgent {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (mut parts, _) = request.into_parts();
        let Path(AgentPath(id)) = Path::from_request_parts(&mut parts, context).await?;
        let agent = context.app.auth.resolve_key(None, &id);
        context.app.auth.require_agent(&agent).await?;
        Ok(Self(agent))
    }
}

impl DescribeInput for ExistingAgent {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_path::<AgentPath>();
    }
}
