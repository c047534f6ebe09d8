//! Who is signed in, from where, for administrators to see and to end.

use axum::extract::{FromRequestParts, State};
use deskpass_auth::SessionsWanted;
use deskpass_core::{CorpId, Digest, EmployeeId, Role};
use deskpass_store::ListedSession;
use hyper::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Known, Onward, bad_cursor};
use crate::Desk;
use crate::http::answer::Window;
use crate::http::authority::{Authority, HighRisk, Nothing, On, Reader};
use crate::http::envelope::Reply;
use crate::http::failure::Failure;
use crate::http::fields::{Ask, Fields};
use crate::http::openapi::{Asks, Sheet};
use crate::http::query::{Path, Query};
use crate::http::sessions::{Ended, NamedSession, SessionShown};

/// Which sessions somebody wants to see.
#[derive(Debug)]
pub(in crate::http) struct SessionsAsked {
    corp: Option<CorpId>,
    wanted: SessionsWanted,
    onward: Onward,
}

impl Ask for SessionsAsked {
    fn read(fields: &mut Fields) -> Option<Self> {
        let corp = fields.maybe_id("corp_id", CorpId::parse);
        let employee = fields.maybe_id("employee_id", EmployeeId::parse);
        let (role, onward) = (fields.maybe_word("role", &Role::NAMES), Onward::read(fields));
        let wanted = SessionsWanted { employee: employee?, role: role?.and_then(Role::from_name) };
        Some(Self { corp: corp?, wanted, onward: onward? })
    }
}

/// A session, and whose it is.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct SessionOf {
    corp_id: String,
    employee_id: String,
    name: String,
    #[serde(flatten)]
    session: SessionShown,
}

impl SessionOf {
    fn of(mut listed: ListedSession, asking: Digest) -> Self {
        Self {
            corp_id: listed.session.employee.corp().to_owned(),
            employee_id: std::mem::take(&mut listed.employee_id),
            name: std::mem::take(&mut listed.name),
            session: SessionShown::of(listed, asking),
        }
    }
}

/// Some sessions.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Sessions {
    items: Vec<SessionOf>,
    next: Option<String>,
}

/// Lists the sessions of a corporation, the newest first.
pub(in crate::http) async fn list(
    State(desk): State<Desk>,
    reader: Reader,
    Query(asked): Query<SessionsAsked>,
) -> Result<Reply<Sessions>, Failure> {
    let reach = reader.reach(&desk, asked.corp.as_ref()).await?;
    let Onward { after, limit } = asked.onward;
    let found = desk.auth.sessions(&reach, &asked.wanted, after.as_deref(), limit).await?;
    let (page, asking) = (found.map_err(|_| bad_cursor())?, reader.caller.digest());
    let items = page.sessions.into_iter().map(|listed| SessionOf::of(listed, asking)).collect();
    Ok(Reply(Sessions { items, next: page.next }))
}

/// A session that is there, as the path names it.
#[derive(Debug)]
pub(in crate::http) struct KnownSession(Digest);

impl Asks for KnownSession {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_path::<NamedSession>();
    }
}

impl FromRequestParts<Window> for KnownSession {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let authority = Authority::from_request_parts(parts, window).await?;
        let Path(NamedSession(id)) = Path::from_request_parts(parts, window).await?;
        authority.at(&window.desk).expect_session(id).await?;
        Ok(Self(id))
    }
}

/// Ends a session, whoever's it is.
pub(in crate::http) async fn end(
    State(desk): State<Desk>,
    HighRisk(admin, On(KnownSession(id), Nothing)): HighRisk<On<KnownSession, Nothing>>,
) -> Result<Reply<Ended>, Failure> {
    admin.at(&desk).end_session(id).await?;
    Ok(Reply(Ended::YES))
}

/// Sessions that were ended.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct SeveralEnded {
    success: bool,
    ended: usize,
}

/// Ends all sessions of somebody.
pub(in crate::http) async fn end_all(
    State(desk): State<Desk>,
    HighRisk(admin, On(Known(employee), Nothing)): HighRisk<On<Known, Nothing>>,
) -> Result<Reply<SeveralEnded>, Failure> {
    let ended = admin.at(&desk).end_sessions_of(employee).await?;
    Ok(Reply(SeveralEnded { success: true, ended }))
}
