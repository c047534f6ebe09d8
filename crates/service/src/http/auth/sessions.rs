//! The caller's sessions, to list and to end.

use std::collections::HashMap;

use deskpass_auth::{Error, TokenHolder};
use deskpass_core::{ClientInfo, Digest};
use deskpass_store::ListedSession;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::{FromFields, OptionalBody, Path, user_agent};
use crate::http::response::{MethodName, Reply, RoleName, SourceName};
use crate::timestamp::Rfc3339;

/// A session as a list shows it.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct SessionShown {
    id: String,
    /// Whether it is the session of this request.
    current: bool,
    device: String,
    user_agent: Option<String>,
    ip_address: Option<String>,
    login_method: MethodName,
    login_source: SourceName,
    current_role: RoleName,
    created_at: Rfc3339,
    /// Accurate to a few minutes.
    last_seen_at: Option<Rfc3339>,
    expires_at: Rfc3339,
    /// The OpenID Connect clients that the user is signed in to with it. They are signed out when it ends.
    clients: Vec<SessionClient>,
}

/// An OpenID Connect client that depends on a session.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct SessionClient {
    client_id: String,
    /// Empty for a client that is no longer registered.
    name: String,
}

/// The OpenID Connect clients that depend on each of several sessions.
#[derive(Debug)]
pub(crate) struct SessionClients(HashMap<Digest, Vec<SessionClient>>);

impl SessionClients {
    pub(crate) async fn of(app: &App, sessions: &[ListedSession]) -> Result<Self, ApiError> {
        let ids = sessions.iter().map(|listed| listed.id).collect();
        let found = app.auth.store.clients_of_sessions(ids).await.map_err(Error::from)?;
        let mut all = HashMap::with_capacity(found.len());
        for (session, ids) in found {
            let mut clients = Vec::with_capacity(ids.len());
            for client_id in ids {
                let known = app.auth.oidc_client(&client_id).await?;
                let name = known.map(|client| client.registration.name.clone()).unwrap_or_default();
                clients.push(SessionClient { client_id, name });
            }
            all.insert(session, clients);
        }
        Ok(Self(all))
    }

    fn take(&mut self, session: Digest) -> Vec<SessionClient> {
        self.0.remove(&session).unwrap_or_default()
    }
}

impl SessionShown {
    /// Describes a session to a caller whose own session is `asking`.
    pub(crate) fn of(listed: ListedSession, asking: Digest, clients: &mut SessionClients) -> Self {
        let session = listed.session;
        Self {
            id: listed.id.to_text(),
            current: listed.id == asking,
            device: listed.user_agent.as_deref().map(user_agent::device_name).unwrap_or_default(),
            user_agent: listed.user_agent,
            ip_address: listed.ip_address,
            login_method: MethodName(session.method),
            login_source: SourceName(session.source),
            current_role: RoleName(session.current_role),
            created_at: Rfc3339(session.created_at),
            last_seen_at: listed.seen_at.map(Rfc3339),
            expires_at: Rfc3339(session.expires_at),
            clients: clients.take(listed.id),
        }
    }
}

/// The caller's sessions.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct OwnSessions {
    items: Vec<SessionShown>,
}

/// Lists the caller's sessions, newest first.
pub(crate) async fn list(app: App, holder: TokenHolder) -> Result<Reply<OwnSessions>, ApiError> {
    let (asking, sessions) = (holder.digest(), app.auth.own_sessions(&holder).await?);
    let mut clients = SessionClients::of(&app, &sessions).await?;
    let items = sessions.into_iter().map(|listed| SessionShown::of(listed, asking, &mut clients));
    Ok(Reply(OwnSessions { items: items.collect() }))
}

/// The id of a session in the path.
#[derive(Debug, FromFields)]
pub(crate) struct SessionPath(#[field(name = "id")] pub(crate) Digest);

/// The session was ended.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Ended")]
pub(crate) struct SessionEnded {
    success: bool,
}

impl SessionEnded {
    pub(crate) const YES: Self = Self { success: true };
}

/// Ends one of the caller's sessions.
pub(crate) async fn end(
    app: App,
    holder: TokenHolder,
    Path(SessionPath(id)): Path<SessionPath>,
    visitor: ClientInfo,
) -> Result<Reply<SessionEnded>, ApiError> {
    app.auth.end_own_session(&holder, id, &visitor).await?;
    Ok(Reply(SessionEnded::YES))
}

/// The sessions to end.
#[derive(Debug, FromFields)]
pub(crate) struct LogoutAllBody {
    /// Whether the session of this request stays; `false` unless given.
    #[field(default = false)]
    except_current: bool,
}

/// The number of sessions that were ended.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AllEnded {
    success: bool,
    ended: usize,
    message: &'static str,
}

const EVERYWHERE: [&str; 2] = ["signed out everywhere", "已结束所有会话"];
const ELSEWHERE: [&str; 2] = ["signed out everywhere else", "已结束所有其他会话"];

/// Ends all of the caller's sessions, or all except the current one.
pub(crate) async fn logout_all(
    app: App,
    holder: TokenHolder,
    visitor: ClientInfo,
    language: Language,
    OptionalBody(input): OptionalBody<LogoutAllBody>,
) -> Result<Reply<AllEnded>, ApiError> {
    let ended = app.auth.logout_all(&holder, input.except_current, &visitor).await?;
    let words = if input.except_current { ELSEWHERE } else { EVERYWHERE };
    Ok(Reply(AllEnded { success: true, ended, message: language.of(words) }))
}
