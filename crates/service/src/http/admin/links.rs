//! Links: which users of connected corporations may act as which employees.

use deskpass_core::{CorpId, EmployeeId, EmployeeKey};
use deskpass_store::IdentityLink;
use schemars::JsonSchema;
use serde::Serialize;

use super::Done;
use crate::App;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{Admin, CheckedInput, FromFields, HighRisk, HomeAdmin, HomeOnly, InBody, InPath};
use crate::http::response::Reply;
use crate::timestamp::Rfc3339;

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
    approved_at: Rfc3339,
    bound_at: Option<Rfc3339>,
}

impl From<IdentityLink> for LinkShown {
    fn from(IdentityLink { identity, target, approved_at, bound_at }: IdentityLink) -> Self {
        let (corp_id, user_id) = (identity.corp().to_owned(), identity.id().to_owned());
        let identity = Identity { corp_id, user_id };
        let (corp_id, employee_id) = (target.corp().to_owned(), target.id().to_owned());
        let target = Target { corp_id, employee_id };
        Self { identity, target, approved_at: Rfc3339(approved_at), bound_at: bound_at.map(Rfc3339) }
    }
}

/// All links.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Links {
    items: Vec<LinkShown>,
}

/// Lists the links.
pub(crate) async fn list(app: App, HomeAdmin(admin): HomeAdmin) -> Result<Reply<Links>, ApiError> {
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

impl CheckedInput for NewLink {
    type Fields = LinkBody;
    async fn check(link: LinkBody, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        let LinkBody { partner, employee_id, target_corp_id } = link;
        if partner.corp == app.auth.policy.home_corp {
            return Err(ApiError::field("corp_id", FieldError::Format(HOME_CORP_MESSAGE)));
        }
        let target = app.auth.resolve_key(target_corp_id.as_ref(), &employee_id);
        admin.administrator(app).require_employee(&target).await?;
        Ok(Self { identity: app.auth.resolve_key(Some(&partner.corp), &partner.user), target })
    }
}

/// The error of a link for a user of the home corporation, who needs none.
const HOME_CORP_MESSAGE: [&str; 2] = [
    "is the main corporation, whose employees sign in directly; name a connected corporation",
    "是主企业，其员工可直接登录；请填写互联企业",
];

/// Allows a user of a connected corporation to act as an employee.
pub(crate) async fn approve(
    app: App,
    HighRisk(admin, HomeOnly(InBody(NewLink { identity, target }))): HighRisk<HomeOnly<InBody<NewLink>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).approve_link(identity, target).await?;
    Ok(Reply(Done::YES))
}

/// An existing link, as the path names it.
#[derive(Debug)]
pub(crate) struct ExistingLink(EmployeeKey);

impl CheckedInput for ExistingLink {
    type Fields = PartnerUser;
    async fn check(partner: PartnerUser, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        let identity = app.auth.resolve_key(Some(&partner.corp), &partner.user);
        admin.administrator(app).require_link(&identity).await?;
        Ok(Self(identity))
    }
}

/// Removes a link. Succeeds as well when it was removed in the meantime.
pub(crate) async fn remove(
    app: App,
    HighRisk(admin, HomeOnly(InPath(ExistingLink(identity)))): HighRisk<HomeOnly<InPath<ExistingLink>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).remove_link(identity).await?;
    Ok(Reply(Done::YES))
}
