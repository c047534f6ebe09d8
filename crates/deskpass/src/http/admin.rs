//! What administrators do to agents: every one of these wants a fresh one-time password.

pub(super) mod keys;
pub(super) mod rules;

use axum::extract::State;
use serde::Serialize;

use super::authority::{HighRisk, NamedAgent};
use super::envelope::Reply;
use super::failure::Failure;
use super::login::iso;
use crate::Desk;

/// A change that was made.
#[derive(Debug, Serialize)]
pub(super) struct Done {
    success: bool,
}

/// Forgets an agent's failed guesses.
pub(super) async fn unlock(
    State(desk): State<Desk>,
    HighRisk(admin, NamedAgent(agent)): HighRisk<NamedAgent>,
) -> Result<Reply<Done>, Failure> {
    admin.at(&desk).unlock_agent(agent).await?;
    Ok(Reply(Done { success: true }))
}

/// Unbinds an agent's device, for them to bind another.
pub(super) async fn reset_otp(
    State(desk): State<Desk>,
    HighRisk(admin, NamedAgent(agent)): HighRisk<NamedAgent>,
) -> Result<Reply<Done>, Failure> {
    admin.at(&desk).reset_device(agent).await?;
    Ok(Reply(Done { success: true }))
}

/// A code with which an agent sets a password.
#[derive(Serialize)]
pub(super) struct Reset {
    setup_code: String,
    expires_at: String,
    ended_sessions: usize,
}

/// Takes an agent's password away, and hands out a code with which they set another.
pub(super) async fn reset_password(
    State(desk): State<Desk>,
    HighRisk(admin, NamedAgent(agent)): HighRisk<NamedAgent>,
) -> Result<Reply<Reset>, Failure> {
    let reset = admin.at(&desk).reset_password(agent).await?;
    let (setup_code, expires_at) = (reset.code.text(), iso(reset.until));
    Ok(Reply(Reset { setup_code, expires_at, ended_sessions: reset.ended }))
}
