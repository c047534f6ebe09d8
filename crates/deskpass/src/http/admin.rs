//! What administrators do to agents: every one of these wants a fresh one-time password.

use axum::extract::State;
use deskpass_core::EmployeeKey;
use schemars::JsonSchema;
use serde::Serialize;

use super::envelope::Reply;
use super::extract::{Caller, HighRisk, NamedAgent};
use super::failure::Failure;
use super::login::iso;
use super::openapi::Moment;
use crate::Desk;

/// Who did what to whom.
fn note(admin: &Caller, agent: &EmployeeKey, what: &str) {
    tracing::info!(by = ?admin.session().employee, ?agent, what, "an administrator changed an agent's record");
}

/// A change that was made.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "AgentChanged")]
pub(super) struct Done {
    success: bool,
}

/// Forgets an agent's failed guesses.
pub(super) async fn unlock(
    State(desk): State<Desk>,
    HighRisk(admin, NamedAgent(agent)): HighRisk<NamedAgent>,
) -> Result<Reply<Done>, Failure> {
    desk.auth.unlock_agent(agent.clone()).await?;
    note(&admin, &agent, "unlock");
    Ok(Reply(Done { success: true }))
}

/// Unbinds an agent's device, for them to bind another.
pub(super) async fn reset_otp(
    State(desk): State<Desk>,
    HighRisk(admin, NamedAgent(agent)): HighRisk<NamedAgent>,
) -> Result<Reply<Done>, Failure> {
    desk.auth.reset_device(agent.clone()).await?;
    note(&admin, &agent, "reset-otp");
    Ok(Reply(Done { success: true }))
}

/// A code with which an agent sets a password.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "PasswordReset")]
pub(super) struct Reset {
    setup_code: String,
    #[schemars(with = "Moment")]
    expires_at: String,
    ended_sessions: usize,
}

/// Takes an agent's password away, and hands out a code with which they set another.
pub(super) async fn reset_password(
    State(desk): State<Desk>,
    HighRisk(admin, NamedAgent(agent)): HighRisk<NamedAgent>,
) -> Result<Reply<Reset>, Failure> {
    let reset = desk.auth.reset_password(agent.clone()).await?;
    note(&admin, &agent, "reset-password");
    let (setup_code, expires_at) = (reset.code.text(), iso(reset.until));
    Ok(Reply(Reset { setup_code, expires_at, ended_sessions: reset.ended }))
}
