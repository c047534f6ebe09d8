//! The life of a session, as clients ask for it.

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
use crate::http::request::fields::{Fields, FromFields};
use crate::http::request::language::ClientLanguage;
use crate::http::request::token;
use crate::http::request::token::{PartialOrFull, TokenHolder};
use crate::http::response::envelope::{NegativeReply, RenderedReply, Reply};
use crate::http::response::schema::RoleName;

/// A token to look at.
#[derive(Debug)]
pub(crate) struct VerifyBody {
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
pub(crate) async fn verify(
    State(app): State<App>,
    JsonBody(input): JsonBody<VerifyBody>,
) -> Result<Result<RenderedReply<token_info::Verified>, NegativeReply>, ApiError> {
    let caller = token_info::if_valid(app.auth.authenticate(&input.token, input.from).await)?;
    Ok(caller.map(|ActiveUser(holder)| token_info::verified(&holder)).ok_or(NegativeReply("{\"valid\":false}")))
}

/// Says who is calling.
pub(crate) async fn me(caller: token::ActiveUser) -> RenderedReply<token_info::Me> {
    token_info::me(&caller)
}

/// A change that was made, in a word to the person.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SessionChanged")]
pub(crate) struct SessionChanged {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RoleName>")]
    current_role: Option<Role>,
    message: &'static str,
}

/// Ends the caller's session for good, or half a sign-in.
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

/// A role to act in.
#[derive(Debug)]
pub(crate) struct SwitchRoleBody {
    role: String,
}

impl FromFields for SwitchRoleBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { role: fields.text("role")? })
    }
}

/// Makes the requested role the active one.
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
