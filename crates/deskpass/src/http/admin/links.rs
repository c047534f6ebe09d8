//! Who of connected corporations may act as whom.

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use deskpass_core::{CorpId, EmployeeId, EmployeeKey};
use deskpass_store::Link;
use hyper::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Done, Whom};
use crate::Desk;
use crate::http::answer::Window;
use crate::http::authority::{AtHome, Authority, HighRisk, HomeAdmin, Nothing, On};
use crate::http::envelope::Reply;
use crate::http::extract::Body;
use crate::http::failure::Failure;
use crate::http::fields::{Ask, Fields};
use crate::http::login::iso;
use crate::http::openapi::{Asks, Moment, Sheet};
use crate::http::query::Path;

/// Somebody, as the platform names them.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Identity {
    corp_id: String,
    user_id: String,
}

/// An employee.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Target {
    corp_id: String,
    employee_id: String,
}

/// That somebody may act as an employee.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct LinkShown {
    identity: Identity,
    target: Target,
    #[schemars(with = "Moment")]
    approved_at: String,
    #[schemars(with = "Option<Moment>")]
    bound_at: Option<String>,
}

impl From<Link> for LinkShown {
    fn from(Link { identity, target, approved_at, bound_at }: Link) -> Self {
        let (corp_id, user_id) = (identity.corp().to_owned(), identity.id().to_owned());
        let identity = Identity { corp_id, user_id };
        let (corp_id, employee_id) = (target.corp().to_owned(), target.id().to_owned());
        let target = Target { corp_id, employee_id };
        Self { identity, target, approved_at: iso(approved_at), bound_at: bound_at.map(iso) }
    }
}

/// All links.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Links {
    items: Vec<LinkShown>,
}

/// Lists the links.
pub(in crate::http) async fn list(
    State(desk): State<Desk>,
    HomeAdmin(admin): HomeAdmin,
) -> Result<Reply<Links>, Failure> {
    let links = admin.at(&desk).links().await?;
    Ok(Reply(Links { items: links.into_iter().map(LinkShown::from).collect() }))
}

/// Somebody of a connected corporation, as the platform names them.
#[derive(Debug)]
pub(in crate::http) struct Outsider {
    corp: CorpId,
    user: EmployeeId,
}

impl Ask for Outsider {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (corp, user) = (fields.id("corp_id", CorpId::parse), fields.id("user_id", EmployeeId::parse));
        Some(Self { corp: corp?, user: user? })
    }
}

/// Who is to act as whom.
#[derive(Debug)]
pub(in crate::http) struct Approval {
    outsider: Outsider,
    target: Whom,
}

impl Ask for Approval {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (outsider, id) = (Outsider::read(fields), fields.id("employee_id", EmployeeId::parse));
        let corp = fields.maybe_id("target_corp_id", CorpId::parse);
        Some(Self { outsider: outsider?, target: Whom { corp: corp?, id: id? } })
    }
}

/// Somebody of a connected corporation, and an employee who is there.
#[derive(Debug)]
pub(in crate::http) struct Pair {
    identity: EmployeeKey,
    target: EmployeeKey,
}

impl Asks for Pair {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_body::<Approval>();
    }
}

impl FromRequest<Window> for Pair {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let authority = Authority::from_request_parts(&mut parts, window).await?;
        let asked = Body::from_request(Request::from_parts(parts, body), window).await;
        let Body(Approval { outsider, target }) = asked?;
        let (auth, target) = (&window.desk.auth, target.key(&window.desk));
        if outsider.corp == auth.policy.home {
            return Err(super::wrong("corp_id", AT_HOME));
        }
        authority.at(&window.desk).expect_employee(&target).await?;
        Ok(Self { identity: auth.key(Some(&outsider.corp), &outsider.user), target })
    }
}

/// Why somebody of the home corporation needs no link.
const AT_HOME: [&str; 2] = [
    "is the main corporation, whose people sign in by themselves; name a connected one",
    "是主企业，其员工可直接登录；请填写互联企业",
];

/// Lets somebody of a connected corporation act as an employee.
pub(in crate::http) async fn approve(
    State(desk): State<Desk>,
    HighRisk(admin, AtHome(Pair { identity, target })): HighRisk<AtHome<Pair>>,
) -> Result<Reply<Done>, Failure> {
    admin.at(&desk).approve_link(identity, target).await?;
    Ok(Reply(Done::YES))
}

/// A link that is there, as the path names it.
#[derive(Debug)]
pub(in crate::http) struct KnownLink(EmployeeKey);

impl Asks for KnownLink {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_path::<Outsider>();
    }
}

impl FromRequestParts<Window> for KnownLink {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let authority = Authority::from_request_parts(parts, window).await?;
        let Path(Outsider { corp, user }) = Path::from_request_parts(parts, window).await?;
        let identity = window.desk.auth.key(Some(&corp), &user);
        authority.at(&window.desk).expect_link(&identity).await?;
        Ok(Self(identity))
    }
}

/// Takes that back. One that somebody else took back meanwhile is gone all the same.
pub(in crate::http) async fn remove(
    State(desk): State<Desk>,
    HighRisk(admin, AtHome(On(KnownLink(identity), Nothing))): HighRisk<AtHome<On<KnownLink, Nothing>>>,
) -> Result<Reply<Done>, Failure> {
    admin.at(&desk).remove_link(identity).await?;
    Ok(Reply(Done::YES))
}
