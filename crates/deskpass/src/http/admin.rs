//! What administrators do to agents: every one of these wants a fresh one-time password.

use axum::extract::{FromRequest, Request, State};
use deskpass_core::EmployeeId;
use percent_encoding::percent_decode_str;
use serde::Serialize;

use super::answer::Window;
use super::bind::iso;
use super::envelope::Reply;
use super::extract::{Caller, HighRisk};
use super::failure::{BadRequest, Failure};
use super::fields::{Problem, Problems};
use crate::Desk;

/// The employee whom a path names, in its fifth piece: `/api/admin/agents/{employee_id}/…`.
#[derive(Debug)]
pub(super) struct Named(EmployeeId);

impl FromRequest<Window> for Named {
    type Rejection = Failure;
    async fn from_request(request: Request, _: &Window) -> Result<Self, Failure> {
        let piece = request.uri().path().split('/').nth(4).unwrap_or_default();
        let name = percent_decode_str(piece).decode_utf8_lossy();
        let wrong = |rule| BadRequest::Fields(Problems::from([("employee_id", Problem::Id(rule))]));
        Ok(Self(EmployeeId::parse(&name).map_err(wrong)?))
    }
}

/// Who did what to whom.
fn note(admin: &Caller, agent: &EmployeeId, what: &str) {
    tracing::info!(by = ?admin.session().employee, agent = agent.as_str(), what, "an administrator was here");
}

/// A change that was made.
#[derive(Debug, Serialize)]
pub(super) struct Done {
    success: bool,
}

/// Forgets an agent's failed guesses.
pub(super) async fn unlock(
    State(desk): State<Desk>,
    HighRisk(admin, Named(agent)): HighRisk<Named>,
) -> Result<Reply<Done>, Failure> {
    desk.auth.unlock_agent(desk.auth.key(None, &agent)).await?;
    note(&admin, &agent, "unlocked an agent");
    Ok(Reply(Done { success: true }))
}

/// Unbinds an agent's device, for them to bind another.
pub(super) async fn reset_otp(
    State(desk): State<Desk>,
    HighRisk(admin, Named(agent)): HighRisk<Named>,
) -> Result<Reply<Done>, Failure> {
    desk.auth.reset_device(desk.auth.key(None, &agent)).await?;
    note(&admin, &agent, "reset an agent's device");
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
    HighRisk(admin, Named(agent)): HighRisk<Named>,
) -> Result<Reply<Reset>, Failure> {
    let reset = desk.auth.reset_password(desk.auth.key(None, &agent)).await?;
    note(&admin, &agent, "reset an agent's password");
    let (setup_code, expires_at) = (reset.code.text(), iso(reset.until));
    Ok(Reply(Reset { setup_code, expires_at, ended_sessions: reset.ended }))
}
