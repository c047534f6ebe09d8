//! The caller's session: verification, role switch and logout.

use std::net::IpAddr;

use axum::extract::State;
use deskpass_auth::ActiveUser;
use deskpass_core::Role;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::http::auth::token_info;
use crate::http::error::ApiError;
use crate::http::request::body::JsonBody;
use crate::http::request::client::RequestClient;
use crate::http::request::fields::FromFields;
use crate::http::request::language::ClientLanguage;
use crate::http::request::token;
use crate::http::request::token::{PartialOrFull, TokenHolder};
use crate::http::response::envelope::{NegativeReply, RenderedReply, Reply};
use crate::http::response::schema::RoleName;

/// The token to verify.
#[derive(Debug, FromFields)]
pub(crate) struct VerifyBody {
    token: String,
    /// The address of the token's holder, if the caller knows it.
    #[field(name = "ip_address")]
    from: Option<IpAddr>,
}

/// Returns whether a token is valid, and its user. For an invalid token the response does not say why.
pub(crate) async fn verify(
    State(app): State<App>,
    JsonBody(input): JsonBody<VerifyBody>,
) -> Result<Result<RenderedReply<token_info::Verified>, NegativeReply>, ApiError> {
    let caller = token_info::if_valid(app.auth.authenticate(&input.token, input.from).await)?;
    Ok(caller.map(|ActiveUser(holder)| token_info::verified(&holder)).ok_or(NegativeReply("{\"valid\":false}")))
}

/// Returns the current user.
pub(crate) async fn me(caller: token::ActiveUser) -> RenderedReply<token_info::Me> {
    token_info::me(&caller)
}

/// A change that was made, with a message for the user.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SessionChanged")]
pub(crate) struct SessionChanged {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RoleName>")]
    current_role: Option<Role>,
    message: &'static str,
}

/// Ends the caller's session or partial session.
pub(crate) async fn logout(
    State(app): State<App>,
    PartialOrFull(bearer): PartialOrFull,
    RequestClient(visitor): RequestClient,
    ClientLanguage(language): ClientLanguage,
) -> Result<Reply<SessionChanged>, ApiError> {
    app.auth.sign_out(&bearer, &visitor).await?;
    let message = language.of(["signed out", "已退出登录"]);
    Ok(Reply(SessionChanged { success: true, current_role: None, message }))
}

/// The role to switch to.
#[derive(Debug, FromFields)]
pub(crate) struct SwitchRoleBody {
    role: String,
}

/// Switches the active role.
pub(crate) async fn switch_role(
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
