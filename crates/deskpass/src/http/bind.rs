//! Binding, and the answer to every sign-in.

use axum::extract::State;
use deskpass_auth::SignedIn;
use deskpass_core::{BindProof, CorpId, EmployeeId, LoginMethod, LoginSource, Role, Roles, Secret, Timestamp};
use serde::Serialize;

use super::cookie::{Cookies, SetCookie};
use super::envelope::Reply;
use super::extract::{Body, Guest};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use crate::Desk;

/// The employee to be bound to.
#[derive(Debug)]
pub(super) struct Bind {
    corp_id: Option<CorpId>,
    employee_id: EmployeeId,
    proof: Option<String>,
}

impl Ask for Bind {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (corp_id, employee_id) =
            (fields.maybe_id("corp_id", CorpId::parse), fields.id("employee_id", EmployeeId::parse));
        let proof = fields.maybe_text("bind_ticket");
        Some(Self { corp_id: corp_id?, employee_id: employee_id?, proof: proof? })
    }
}

/// The unified login result.
#[derive(Serialize)]
pub(super) struct LoginResult {
    token: String,
    token_type: &'static str,
    expires_in: u64,
    expires_at: String,
    employee_id: String,
    corp_id: String,
    name: String,
    department: String,
    avatar: String,
    roles: Roles,
    current_role: Role,
    login_method: LoginMethod,
    login_source: LoginSource,
}

impl From<SignedIn> for LoginResult {
    fn from(signed_in: SignedIn) -> Self {
        let SignedIn { token, session, person, roles } = signed_in;
        Self {
            token: token.expose().to_owned(),
            token_type: "Bearer",
            expires_in: session.expires_at.since(session.created_at).as_secs(),
            expires_at: iso(session.expires_at),
            employee_id: person.employee_id.clone(),
            corp_id: person.key.corp().to_owned(),
            name: person.name.clone(),
            department: person.department.clone(),
            avatar: person.avatar.clone(),
            roles,
            current_role: session.current_role,
            login_method: session.method,
            login_source: session.source,
        }
    }
}

/// A moment in ISO 8601.
pub(super) fn iso(moment: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(moment.millis()).unwrap_or_default().to_string()
}

/// Signs a person of a connected corporation in as an employee.
pub(super) async fn bind(
    State(desk): State<Desk>,
    Guest(visitor): Guest,
    cookies: Cookies,
    Body(ask): Body<Bind>,
) -> Result<(SetCookie, Reply<LoginResult>), Failure> {
    let employee = desk.auth.key(ask.corp_id.as_ref(), &ask.employee_id);
    let kept = cookies.get::<BindProof>();
    let proof = ask.proof.as_deref().or(kept.as_ref().map(Secret::expose));
    let signed_in = desk.auth.bind(&employee, proof, &visitor).await?;
    let forget = if kept.is_some() { SetCookie::forget::<BindProof>(&desk) } else { SetCookie::NONE };
    Ok((forget, Reply(signed_in.into())))
}
