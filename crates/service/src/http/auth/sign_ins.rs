//! The caller's recent sign-ins, to list and to disown.

use deskpass_auth::TokenHolder;
use deskpass_core::{ClientInfo, Digest, LoginMethod, LoginSource};
use deskpass_store::{AuditEvent, DisownEffects, ListedSignIn};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{FromFields, Path, SignInId, user_agent};
use crate::http::response::{MethodName, Reply, SourceName};
use crate::timestamp::Rfc3339;

/// A completed or refused sign-in.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SignIn")]
pub(crate) struct SignInShown {
    id: String,
    at: Rfc3339,
    signed_in: bool,
    /// Why it was refused; null for a completed sign-in.
    reason: Option<String>,
    device: String,
    user_agent: String,
    ip_address: String,
    /// The address that rate limits and allow-lists used; `null` in rows of earlier versions.
    decided_address: Option<String>,
    login_method: Option<MethodName>,
    login_source: Option<SourceName>,
    /// The session that it started, while the session is active.
    session_id: Option<String>,
    /// Whether that is the session of this request.
    current: bool,
    disowned_at: Option<Rfc3339>,
}

impl SignInShown {
    fn of(ListedSignIn { row, session, disowned_at }: ListedSignIn, asking: Digest) -> Self {
        Self {
            id: row.id,
            at: Rfc3339(row.at),
            signed_in: row.event == AuditEvent::SignIn.name(),
            reason: row.reason,
            device: user_agent::device_name(&row.user_agent),
            user_agent: row.user_agent,
            ip_address: row.ip_address,
            decided_address: row.decided_address,
            login_method: LoginMethod::from_name(&row.method).map(MethodName),
            login_source: LoginSource::from_name(&row.source).map(SourceName),
            session_id: session.map(|session| session.to_text()),
            current: session == Some(asking),
            disowned_at: disowned_at.map(Rfc3339),
        }
    }
}

/// The caller's recent sign-ins.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct OwnSignIns {
    items: Vec<SignInShown>,
}

/// Lists the caller's completed and refused sign-ins, newest first.
pub(crate) async fn list(app: App, holder: TokenHolder) -> Result<Reply<OwnSignIns>, ApiError> {
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
    app: App,
    holder: TokenHolder,
    Path(SignInPath(SignInId(id))): Path<SignInPath>,
    visitor: ClientInfo,
) -> Result<Reply<DisownReply>, ApiError> {
    let DisownEffects { ended, told } = app.auth.disown_sign_in(&holder, id, &visitor).await?;
    Ok(Reply(DisownReply { success: true, ended, told }))
}
