//! From where roles may be active, as administrators see it.

use std::net::IpAddr;

use axum::extract::{FromRequest, FromRequestParts as _, Request, State};
use deskpass_auth::ShutOutOf;
use deskpass_core::{AllowLists, Role};
use deskpass_store::ListedSession;
use schemars::JsonSchema;
use serde::Serialize;

use super::Done;
use crate::Desk;
use crate::http::answer::Window;
use crate::http::authority::{AtHome, Authority, HighRisk, HomeAdmin};
use crate::http::envelope::Reply;
use crate::http::extract::Body;
use crate::http::failure::Failure;
use crate::http::fields::{Ask, Fields};
use crate::http::login::iso;
use crate::http::openapi::{Asks, Moment, RoleName, Sheet};

/// The networks of each role; none means that it may be active from anywhere.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "AllowLists")]
pub(in crate::http) struct Lists {
    admin: Vec<String>,
    agent: Vec<String>,
    user: Vec<String>,
    supervisor: Vec<String>,
    security: Vec<String>,
}

impl Lists {
    fn of(lists: &AllowLists) -> Self {
        let list = |role| lists.list(role).iter().map(ToString::to_string).collect();
        Self {
            admin: list(Role::Admin),
            agent: list(Role::Agent),
            user: list(Role::User),
            supervisor: list(Role::Supervisor),
            security: list(Role::Security),
        }
    }
}

/// Says from where each role may be active.
pub(in crate::http) async fn show(
    State(desk): State<Desk>,
    HomeAdmin(admin): HomeAdmin,
) -> Result<Reply<Lists>, Failure> {
    Ok(Reply(Lists::of(&admin.at(&desk).ip_rules().await?)))
}

/// Lists for all roles. Each must be there: one that was forgotten or misspelt must not lose the list it has.
#[derive(Debug)]
pub(in crate::http) struct Proposed(AllowLists);

impl Ask for Proposed {
    fn read(fields: &mut Fields) -> Option<Self> {
        let lists = Role::ALL.map(|role| (role, fields.networks(role.name())));
        let mut entries = Vec::new();
        for (role, list) in lists {
            entries.extend(list?.into_iter().map(|network| (role, network)));
        }
        Some(Self(entries.into_iter().collect()))
    }
}

/// Lists that leave whoever sets them in, which is looked at before their one-time password is taken.
#[derive(Debug)]
pub(in crate::http) struct Survived(AllowLists);

impl Asks for Survived {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_body::<Proposed>();
    }
}

impl FromRequest<Window> for Survived {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let Authority { caller, visitor } = Authority::from_request_parts(&mut parts, window).await?;
        let Body(Proposed(lists)) = Body::from_request(Request::from_parts(parts, body), window).await?;
        window.desk.auth.expect_to_stay(&caller.0, &lists, &visitor).await?;
        Ok(Self(lists))
    }
}

/// Puts lists in the place of all there are.
pub(in crate::http) async fn replace(
    State(desk): State<Desk>,
    HighRisk(admin, AtHome(Survived(lists))): HighRisk<AtHome<Survived>>,
) -> Result<Reply<Done>, Failure> {
    admin.at(&desk).set_ip_rules(&lists).await?;
    Ok(Reply(Done::YES))
}

/// Whom lists would shut out.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct DryRun {
    you: You,
    roles: Vec<OfRole>,
}

/// Whoever asks.
#[derive(Debug, JsonSchema, Serialize)]
struct You {
    #[schemars(with = "String")]
    ip_address: IpAddr,
    #[schemars(with = "RoleName")]
    role: Role,
    shut_out: bool,
}

/// Whom a role's list would shut out.
#[derive(Debug, JsonSchema, Serialize)]
struct OfRole {
    #[schemars(with = "RoleName")]
    role: Role,
    /// How many sessions.
    sessions: u64,
    /// Some of them.
    shut_out: Vec<ShutOut>,
}

/// A session that would be shut out.
#[derive(Debug, JsonSchema, Serialize)]
struct ShutOut {
    corp_id: String,
    employee_id: String,
    name: String,
    ip_address: Option<String>,
    #[schemars(with = "Option<Moment>")]
    last_seen_at: Option<String>,
}

impl From<ListedSession> for ShutOut {
    fn from(listed: ListedSession) -> Self {
        Self {
            corp_id: listed.session.employee.corp().to_owned(),
            employee_id: listed.employee_id,
            name: listed.name,
            ip_address: listed.ip_address,
            last_seen_at: listed.seen_at.map(iso),
        }
    }
}

/// Says whom lists would shut out, and changes nothing.
pub(in crate::http) async fn dry_run(
    State(desk): State<Desk>,
    HomeAdmin(admin): HomeAdmin,
    Body(Proposed(lists)): Body<Proposed>,
) -> Result<Reply<DryRun>, Failure> {
    let tried = admin.at(&desk).try_ip_rules(&lists).await?;
    let of_role = |ShutOutOf { role, number, some }| {
        let shut_out = some.into_iter().map(ShutOut::from).collect();
        OfRole { role, sessions: number, shut_out }
    };
    let you = You { ip_address: admin.visitor.address.decided, role: Role::Admin, shut_out: tried.you };
    Ok(Reply(DryRun { you, roles: tried.roles.into_iter().map(of_role).collect() }))
}
