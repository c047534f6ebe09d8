//! The life of a session, as clients ask for it.

use std::net::IpAddr;

use axum::extract::State;
use deskpass_auth::ActiveUser;
use deskpass_core::Role;
use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{NegativeReply, RenderedReply, Reply};
use super::extract::{self, ClientLanguage, JsonBody, PartialOrFull, RequestClient, TokenHolder};
use super::failure::ApiError;
use super::fields::{Fields, FromFields};
use super::openapi::RoleName;
use super::who;
use crate::App;

/// A token to look at.
#[derive(Debug)]
pub(super) struct VerifyBody {
    token: String,
    /// Where its holder is, if whoever asks knows.
    from: Option<IpAddr>,
}

impl FromFields for VerifyBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let (token, from) = (fields.text("token"), fields.maybe_address("ip_address"));
        Some(Self { token: token?, from: from? })
    }
}

/// Says whether a token is good, and whose it is. One that is not says nothing else, whatever is wrong with it.
pub(super) async fn verify(
    State(app): State<App>,
    JsonBody(input): JsonBody<VerifyBody>,
) -> Result<Result<RenderedReply<who::Verified>, NegativeReply>, ApiError> {
    let caller = app.auth.authenticate_active(&input.token, input.from).await?;
    Ok(caller.map(|ActiveUser(holder)| who::verified(&holder)).ok_or(NegativeReply("{\"valid\":false}")))
}

/// Says who is calling.
pub(super) async fn me(caller: extract::ActiveUser) -> RenderedReply<who::Me> {
    who::me(&caller)
}

/// A change that was made, in a word to the person.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SessionChanged")]
pub(super) struct SessionChanged {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RoleName>")]
    current_role: Option<Role>,
    message: &'static str,
}

/// Ends the caller's session for good, or half a sign-in.
pub(super) async fn logout(
    State(app): State<App>,
    PartialOrFull(bearer): PartialOrFull,
    RequestClient(visitor): RequestClient,
    ClientLanguage(language): ClientLanguage,
) -> Result<Reply<SessionChanged>, ApiError> {
    app.auth.sign_out(&bearer, &visitor).await?;
    let message = language.of(["signed out", "已退出登录"]);
    Ok(Reply(SessionChanged { success: true, current_role: None, message }))
}

/// A role to act in.
#[derive(Debug)]
pub(super) struct SwitchRoleBody {
    role: String,
}

impl FromFields for SwitchRoleBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { role: fields.text("role")? })
    }
}

/// Makes the requested role the active one.
pub(super) async fn switch_role(
    State(app): State<App>,
    holder: TokenHolder,
    RequestClient(visitor): RequestClient,
    ClientLanguage(language): ClientLanguage,
    JsonBody(input): JsonBody<SwitchRoleBody>,
) -> Result<Reply<SessionChanged>, ApiError> {
    let session = app.auth.switch_role(&holder, &input.role, &visitor).await?;
    let message = language.of(["role switched", "角色已切换"]);
    Ok(Reply(SessionChanged { success: true, current_role: Some(session.current_role), message }))
}
