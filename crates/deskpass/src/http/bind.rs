//! Binding.

use axum::extract::State;
use deskpass_core::{BindProof, CorpId, EmployeeId, Secret};

use super::cookie::{Cookies, SetCookie};
use super::envelope::Reply;
use super::extract::{Body, Guest};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use super::login::LoginResult;
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
