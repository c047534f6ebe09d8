//! Sessions of all users, for administrators to list and to end.

use deskpass_auth::SessionQuery;
use deskpass_core::{CorpId, Digest, EmployeeId, Role};
use deskpass_store::ListedSession;
use schemars::JsonSchema;
use serde::Serialize;

use super::{CursorPaging, ExistingEmployee, bad_cursor};
use crate::App;
use crate::http::auth::sessions::{SessionClients, SessionEnded, SessionPath, SessionShown};
use crate::http::error::ApiError;
use crate::http::request::{Admin, CheckedInput, FromFields, HighRisk, InPath, Query, Reader};
use crate::http::response::Reply;

/// The query of the list of sessions.
#[derive(Debug, FromFields)]
pub(crate) struct SessionsQuery {
    /// The corporation of the sessions; the caller's own unless given.
    #[field(name = "corp_id")]
    corp: Option<CorpId>,
    employee_id: Option<EmployeeId>,
    /// The active role.
    role: Option<Role>,
    #[field(flatten)]
    paging: CursorPaging,
}

/// A session and its user.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct SessionOf {
    corp_id: String,
    employee_id: String,
    name: String,
    #[serde(flatten)]
    session: SessionShown,
}

impl SessionOf {
    fn of(mut listed: ListedSession, asking: Digest, clients: &mut SessionClients) -> Self {
        Self {
            corp_id: listed.session.employee.corp().to_owned(),
            employee_id: std::mem::take(&mut listed.employee_id),
            name: std::mem::take(&mut listed.name),
            session: SessionShown::of(listed, asking, clients),
        }
    }
}

/// A page of sessions.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Sessions {
    items: Vec<SessionOf>,
    next: Option<String>,
}

/// Lists the sessions of a corporation, newest first.
pub(crate) async fn list(
    app: App,
    reader: Reader,
    Query(query): Query<SessionsQuery>,
) -> Result<Reply<Sessions>, ApiError> {
    let scope = reader.access_scope(&app, query.corp.as_ref()).await?;
    let (wanted, paging) = (SessionQuery { employee: query.employee_id, role: query.role }, query.paging);
    let found = app.auth.sessions(&scope, &wanted, paging.after.as_deref(), paging.limit()).await?;
    let (page, asking) = (found.map_err(|_| bad_cursor())?, reader.caller.0.digest());
    let mut clients = SessionClients::of(&app, &page.sessions).await?;
    let items = page.sessions.into_iter().map(|listed| SessionOf::of(listed, asking, &mut clients)).collect();
    Ok(Reply(Sessions { items, next: page.next }))
}

/// An existing session, as the path names it.
#[derive(Debug)]
pub(crate) struct ExistingSession(Digest);

impl CheckedInput for ExistingSession {
    type Fields = SessionPath;
    async fn check(SessionPath(id): SessionPath, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        admin.administrator(app).require_session(id).await?;
        Ok(Self(id))
    }
}

/// Ends a session of any user.
pub(crate) async fn end(
    app: App,
    HighRisk(admin, InPath(ExistingSession(id))): HighRisk<InPath<ExistingSession>>,
) -> Result<Reply<SessionEnded>, ApiError> {
    admin.administrator(&app).end_session(id).await?;
    Ok(Reply(SessionEnded::YES))
}

/// The number of sessions that were ended.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct SeveralEnded {
    success: bool,
    ended: usize,
}

/// Ends all sessions of an employee.
pub(crate) async fn end_all(
    app: App,
    HighRisk(admin, InPath(ExistingEmployee(employee))): HighRisk<InPath<ExistingEmployee>>,
) -> Result<Reply<SeveralEnded>, ApiError> {
    let ended = admin.administrator(&app).end_sessions_of(employee).await?;
    Ok(Reply(SeveralEnded { success: true, ended }))
}
