//! The life of a session, as clients ask for it.

use std::net::IpAddr;

use axum::extract::State;
use deskpass_auth::Caller;
use deskpass_core::Role;
use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::{No, Rendered, Reply};
use super::extract::{self, Body, Entrant, Guest, Holder, Reads};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use super::openapi::RoleName;
use super::who;
use crate::Desk;

/// A token to look at.
#[derive(Debug)]
pub(super) struct Verify {
    token: String,
    /// Where its holder is, if whoever asks knows.
    from: Option<IpAddr>,
}

impl Ask for Verify {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (token, from) = (fields.text("token"), fields.maybe_address("ip_address"));
        Some(Self { token: token?, from: from? })
    }
}

/// Says whether a token is good, and whose it is. One that is not says nothing else, whatever is wrong with it.
pub(super) async fn verify(
    State(desk): State<Desk>,
    Body(ask): Body<Verify>,
) -> Result<Result<Rendered<who::Verified>, No>, Failure> {
    let caller = desk.auth.verify(&ask.token, ask.from).await?;
    Ok(caller.map(|Caller(holder)| who::verified(&holder)).ok_or(No("{\"valid\":false}")))
}

/// Says who is calling.
pub(super) async fn me(caller: extract::Caller) -> Rendered<who::Me> {
    who::me(&caller)
}

/// A change that was made, in a word to the person.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SessionChanged")]
pub(super) struct Done {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RoleName>")]
    current_role: Option<Role>,
    message: &'static str,
}

/// Ends the caller's session for good, or half a sign-in.
pub(super) async fn logout(
    State(desk): State<Desk>,
    Entrant(entrant): Entrant,
    Guest(visitor): Guest,
    Reads(language): Reads,
) -> Result<Reply<Done>, Failure> {
    desk.auth.leave(&entrant, &visitor).await?;
    let message = language.of(["signed out", "已退出登录"]);
    Ok(Reply(Done { success: true, current_role: None, message }))
}

/// A role to act in.
#[derive(Debug)]
pub(super) struct SwitchRole {
    role: String,
}

impl Ask for SwitchRole {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { role: fields.text("role")? })
    }
}

/// Makes the requested role the active one.
pub(super) async fn switch_role(
    State(desk): State<Desk>,
    holder: Holder,
    Guest(visitor): Guest,
    Reads(language): Reads,
    Body(ask): Body<SwitchRole>,
) -> Result<Reply<Done>, Failure> {
    let session = desk.auth.switch_role(&holder, &ask.role, &visitor).await?;
    let message = language.of(["role switched", "角色已切换"]);
    Ok(Reply(Done { success: true, current_role: Some(session.current_role), message }))
}
