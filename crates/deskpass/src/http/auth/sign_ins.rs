//! The caller's recent sign-ins, to list and to disown.

use axum::extract::State;
use deskpass_core::{Digest, LoginMethod, LoginSource};
use deskpass_store::{AuditEvent, DisownEffects, ListedSignIn};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::client::RequestClient;
use crate::http::request::fields::{FromFields, SignInId};
use crate::http::request::query::Path;
use crate::http::request::token::TokenHolder;
use crate::http::request::user_agent;
use crate::http::response::envelope::Reply;
use crate::http::response::schema::{MethodName, SourceName};
use crate::timestamp::Rfc3339;
use crate::timestamp::rfc3339;

/// A completed or refused sign-in.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SignIn")]
pub(crate) struct SignInShown {
    id: String,
    #[schemars(with = "Rfc3339")]
    at: String,
    signed_in: bool,
    /// Why it was refused; null for a completed sign-in.
    reason: Option<String>,
    device: String,
    user_agent: String,
    ip_address: String,
    /// The address that rate limits and allow-lists used; `null` in rows of earlier versions.
    decided_address: Option<String>,
    #[schemars(with = "Option<MethodName>")]
    login_method: Option<LoginMethod>,
    #[schemars(with = "Option<SourceName>")]
    login_source: Option<LoginSource>,
    /// The session that it started, while the session is active.
    session_id: Option<String>,
    /// Whether that is the session of this request.
    current: bool,
    #[schemars(with = "Option<Rfc3339>")]
    disowned_at: Option<String>,
}

impl SignInShown {
    fn of(ListedSignIn { row, session, disowned_at }: ListedSignIn, asking: Digest) -> Self {
        Self {
            id: row.id,
            at: rfc3339(row.at),
            signed_in: row.event == AuditEvent::SignIn.name(),
            reason: row.reason,
            device: user_agent::device_name(&row.user_agent),
            user_agent: row.user_agent,
            ip_address: row.ip_address,
            decided_address: row.decided_address,
            login_method: LoginMethod::from_name(&row.method),
            login_source: LoginSource::from_name(&row.source),
            session_id: session.map(|session| session.to_text()),
            current: session == Some(asking),
            disowned_at: disowned_at.map(rfc3339),
        }
    }
}

/// The caller's recent sign-ins.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct OwnSignIns {
    items: Vec<SignInShown>,
}

/// Lists the caller's completed and refused sign-ins, newest first.
pub(crate) async fn list(State(app): State<App>, holder: TokenHolder) -> Result<Reply<OwnSignIns>, ApiError> {
    let (asking, sign_ins) = (holder.digest(), app.auth.sign_ins(&holder).await?);
    Ok(Reply(OwnSignIns { items: sign_ins.into_iter().map(|sign_in| SignInShown::of(sign_in, asking)).collect() }))
}

/// The id of a sign-in in the path.
#[derive(Debug, FromFields)]
pub(crate) struct SignInPath(#[field(name = "id")] SignInId);

/// The sign-in was disowned.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Disowned")]
pub(crate) struct DisownReply {
    success: bool,
    ended: usize,
    /// The number of administrators who are notified.
    told: usize,
}

/// Disowns a sign-in: the caller reports that it was not theirs.
pub(crate) async fn not_me(
    State(app): State<App>,
    holder: TokenHolder,
    Path(SignInPath(SignInId(id))): Path<SignInPath>,
    RequestClient(visitor): RequestClient,
) -> Result<Reply<DisownReply>, ApiError> {
    let DisownEffects { ended, told } = app.auth.disown_sign_in(&holder, id, &visitor).await?;
    Ok(Reply(DisownReply { success: true, ended, told }))
}
