//! Links: which users of connected corporations may act as which employees.

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use deskpass_core::{CorpId, EmployeeId, EmployeeKey};
use deskpass_store::IdentityLink;
use hyper::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;

use super::Done;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::authority::{HighRisk, HomeAdmin, HomeOnly, NoBody, PathAnd, VerifiedCaller};
use crate::http::request::body::JsonBody;
use crate::http::request::context::RequestContext;
use crate::http::request::describe::{DescribeInput, InputSpec};
use crate::http::request::fields::FromFields;
use crate::http::request::query::Path;
use crate::http::response::envelope::Reply;
use crate::timestamp::{Rfc3339, rfc3339};

/// A user, as the platform identifies them.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Identity {
    corp_id: String,
    user_id: String,
}

/// An employee.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Target {
    corp_id: String,
    employee_id: String,
}

/// A link: a user of a connected corporation may act as an employee.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct LinkShown {
    identity: Identity,
    target: Target,
    #[schemars(with = "Rfc3339")]
    approved_at: String,
    #[schemars(with = "Option<Rfc3339>")]
    bound_at: Option<String>,
}

impl From<IdentityLink> for LinkShown {
    fn from(IdentityLink { identity, target, approved_at, bound_at }: IdentityLink) -> Self {
        let (corp_id, user_id) = (identity.corp().to_owned(), identity.id().to_owned());
        let identity = Identity { corp_id, user_id };
        let (corp_id, employee_id) = (target.corp().to_owned(), target.id().to_owned());
        let target = Target { corp_id, employee_id };
        Self { identity, target, approved_at: rfc3339(approved_at), bound_at: bound_at.map(rfc3339) }
    }
}

/// All links.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Links {
    items: Vec<LinkShown>,
}

/// Lists the links.
pub(crate) async fn list(State(app): State<App>, HomeAdmin(admin): HomeAdmin) -> Result<Reply<Links>, ApiError> {
    let links = admin.administrator(&app).links().await?;
    Ok(Reply(Links { items: links.into_iter().map(LinkShown::from).collect() }))
}

/// A user of a connected corporation, as the platform identifies them.
#[derive(Debug, FromFields)]
pub(crate) struct PartnerUser {
    /// The connected corporation.
    #[field(name = "corp_id")]
    corp: CorpId,
    /// The user's id in the connected corporation.
    #[field(name = "user_id")]
    user: EmployeeId,
}

/// The user and the employee to link.
#[derive(Debug, FromFields)]
pub(crate) struct LinkBody {
    #[field(flatten)]
    partner: PartnerUser,
    /// The employee as whom the user may act.
    employee_id: EmployeeId,
    /// The corporation of the employee; the main one unless given.
    target_corp_id: Option<CorpId>,
}

/// A user of a connected corporation, and an existing employee.
#[derive(Debug)]
pub(crate) struct NewLink {
    identity: EmployeeKey,
    target: EmployeeKey,
}

impl DescribeInput for NewLink {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_body::<LinkBody>();
    }
}

impl FromRequest<RequestContext> for NewLink {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let authority = VerifiedCaller::from_request_parts(&mut parts, context).await?;
        let asked = JsonBody::from_request(Request::from_parts(parts, body), context).await;
        let (auth, JsonBody(LinkBody { partner, employee_id, target_corp_id })) = (&context.app.auth, asked?);
        let target = auth.resolve_key(target_corp_id.as_ref(), &employee_id);
        if partner.corp == auth.policy.home_corp {
            return Err(super::field_error("corp_id", HOME_CORP_MESSAGE));
        }
        authority.administrator(&context.app).require_employee(&target).await?;
        Ok(Self { identity: auth.resolve_key(Some(&partner.corp), &partner.user), target })
    }
}

/// The error of a link for a user of the home corporation, who needs none.
const HOME_CORP_MESSAGE: [&str; 2] = [
    "is the main corporation, whose people sign in by themselves; name a connected one",
    "是主企业，其员工可直接登录；请填写互联企业",
];

/// Allows a user of a connected corporation to act as an employee.
pub(crate) async fn approve(
    State(app): State<App>,
    HighRisk(admin, HomeOnly(NewLink { identity, target })): HighRisk<HomeOnly<NewLink>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).approve_link(identity, target).await?;
    Ok(Reply(Done::YES))
}

/// An existing link, as the path names it.
#[derive(Debug)]
pub(crate) struct ExistingLink(EmployeeKey);

impl DescribeInput for ExistingLink {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_path::<PartnerUser>();
    }
}

impl FromRequestParts<RequestContext> for ExistingLink {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let authority = VerifiedCaller::from_request_parts(parts, context).await?;
        let Path(PartnerUser { corp, user }) = Path::from_request_parts(parts, context).await?;
        let identity = context.app.auth.resolve_key(Some(&corp), &user);
        authority.administrator(&context.app).require_link(&identity).await?;
        Ok(Self(identity))
    }
}

/// Removes a link. Succeeds as well when it was removed in the meantime.
pub(crate) async fn remove(
    State(app): State<App>,
    HighRisk(admin, HomeOnly(PathAnd(ExistingLink(identity), NoBody))): HighRisk<
        HomeOnly<PathAnd<ExistingLink, NoBody>>,
    >,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).remove_link(identity).await?;
    Ok(Reply(Done::YES))
}
