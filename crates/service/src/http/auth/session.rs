//! The state of a session: verification, introspection, role switch and logout.

use std::net::IpAddr;

use deskpass_auth::{ActiveUser, PartialOrFull, TokenHolder};
use deskpass_core::ClientInfo;
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::config::Language;
use crate::http::auth::token_info::{self, Introspected, Verified};
use crate::http::error::ApiError;
use crate::http::request::{FormOrJson, FromFields, IntrospectScope, JsonBody, Service};
use crate::http::response::{FlatReply, NegativeReply, Reply, RoleName};

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
    app: App,
    JsonBody(input): JsonBody<VerifyBody>,
) -> Result<Result<Reply<Verified>, NegativeReply<Verified>>, ApiError> {
    let caller = token_info::if_valid(app.auth.authenticate(&input.token, input.from).await)?;
    Ok(caller
        .map(|ActiveUser(holder)| Reply(token_info::verified(&holder)))
        .ok_or(NegativeReply(Verified::Bad { valid: false })))
}

/// The token to inspect.
#[derive(FromFields)]
pub(crate) struct IntrospectBody {
    token: String,
    /// Ignored: services see one kind of token only.
    #[field(name = "token_type_hint")]
    _hint: Option<String>,
    /// The address of the token's holder, if the service knows it.
    #[field(name = "ip_address")]
    from: Option<IpAddr>,
}

/// Introspects a token for another service (RFC 7662). For an invalid token the response does not say why.
pub(crate) async fn introspect(
    app: App,
    Service(_, FormOrJson(input)): Service<IntrospectScope, FormOrJson<IntrospectBody>>,
) -> Result<FlatReply<Introspected>, ApiError> {
    let caller = token_info::if_valid(app.auth.authenticate(&input.token, input.from).await)?;
    let Some(ActiveUser(holder)) = caller else { return Ok(FlatReply(Introspected::Other { active: false })) };
    let subject = app.auth.subject_of(holder.person()).await?;
    Ok(FlatReply(token_info::introspected(&holder, subject, &app.auth.clock)))
}

/// Returns the current user.
pub(crate) async fn me(ActiveUser(holder): ActiveUser) -> Reply<token_info::Me> {
    Reply(token_info::me(&holder))
}

/// A change that was made, with a message for the user.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct SessionChanged {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_role: Option<RoleName>,
    message: &'static str,
}

/// Ends the caller's session or partial session.
pub(crate) async fn logout(
    app: App,
    bearer: PartialOrFull,
    visitor: ClientInfo,
    language: Language,
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
    app: App,
    holder: TokenHolder,
    visitor: ClientInfo,
    language: Language,
    JsonBody(input): JsonBody<SwitchRoleBody>,
) -> Result<Reply<SessionChanged>, ApiError> {
    let session = app.auth.switch_role(&holder, &input.role, &visitor).await?;
    let message = language.of(["role switched", "角色已切换"]);
    Ok(Reply(SessionChanged { success: true, current_role: Some(RoleName(session.current_role)), message }))
}
