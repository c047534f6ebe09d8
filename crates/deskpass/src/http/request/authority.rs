//! Extractors for administrators. A handler has the authority that it takes as an argument, and no other.

use axum::extract::FromRequestParts;
use deskpass_auth::{AccessScope, ActiveUser, Administrator, TokenHolder};
use deskpass_core::{ClientInfo, CorpId, PermissionScope, Role};
use hyper::http::request::Parts;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, InputSpec, RequestContext, RequiredAccess};

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
    fn describe_input(spec: &mut InputSpec) {
        spec.access = Some(RequiredAccess::Reader);
    }
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

impl FromRequestParts<RequestContext> for HomeAdmin {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let admin = Admin::from_request_parts(parts, context).await?;
        context.app.auth.require_home_admin(&admin.caller, &admin.visitor).await?;
        Ok(Self(admin))
    }
}

impl DescribeInput for HomeAdmin {
    fn describe_input(spec: &mut InputSpec) {
        spec.access = Some(RequiredAccess::Admin);
    }
}
