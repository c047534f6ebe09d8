//! The agents' own way in.

use std::fmt;

use axum::extract::State;
use deskpass_auth::{AgentEntry, Evidence, HalfSignIn, Knock};
use deskpass_core::{EmployeeId, KnownBrowser};
use schemars::JsonSchema;
use serde::Serialize;

use super::cookie::{Cookies, SetCookie, remember};
use super::envelope::Reply;
use super::extract::{Besides, Body, Guest, to_the_end};
use super::failure::Failure;
use super::fields::{Ask, Fields, Problem};
use super::login::{LoginResult, iso};
use super::openapi::Moment;
use crate::Desk;

/// An agent who knocks.
#[derive(Debug)]
pub(super) struct Login {
    employee_id: EmployeeId,
    evidence: Evidence,
}

impl Ask for Login {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (employee_id, code) = (fields.id("employee_id", EmployeeId::parse), fields.maybe_text("code"));
        let evidence = match (code, fields.maybe_password("password")) {
            (Some(Some(code)), Some(None)) => Some(Evidence::Code(code)),
            (Some(None), Some(Some(password))) => Some(Evidence::Password(password)),
            (Some(Some(code)), Some(Some(password))) => Some(Evidence::Either(code, password)),
            (Some(None), Some(None)) => {
                fields.refuse("password", Problem::CodeOrPassword);
                None
            }
            (None, _) | (_, None) => None,
        };
        Some(Self { employee_id: employee_id?, evidence: evidence? })
    }
}

/// What an agent who knocked gets.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "AgentEntered")]
#[serde(untagged)]
pub(super) enum Entered {
    Whole(LoginResult),
    Half(HalfResult),
}

/// Half of a sign-in.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "HalfLoginResult")]
pub(super) struct HalfResult {
    half_authenticated: bool,
    #[schemars(extend("enum" = ["bind", "verify"]))]
    otp: &'static str,
    token: String,
    token_type: &'static str,
    expires_in: u64,
    #[schemars(with = "Moment")]
    expires_at: String,
}

impl From<AgentEntry> for Entered {
    fn from(entry: AgentEntry) -> Self {
        match entry {
            AgentEntry::Whole(signed_in) => Self::Whole(signed_in.into()),
            AgentEntry::Half(HalfSignIn { token, has_device, lifetime, expires_at }) => Self::Half(HalfResult {
                half_authenticated: true,
                otp: if has_device { "verify" } else { "bind" },
                token: token.expose().to_owned(),
                token_type: "Bearer",
                expires_in: lifetime.as_secs(),
                expires_at: iso(expires_at),
            }),
        }
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entered")
    }
}

/// Lets an agent in by a code of the platform, or half-way in by a password.
pub(super) async fn login(
    State(desk): State<Desk>,
    Guest(visitor): Guest,
    cookies: Cookies,
    Besides(shown): Besides,
    Body(Login { employee_id, evidence }): Body<Login>,
) -> Result<(SetCookie, Reply<Entered>), Failure> {
    let (employee, browser) = (desk.auth.key(None, &employee_id), cookies.digest::<KnownBrowser>());
    let (knock, inside) = (Knock { employee, evidence, browser, shown, visitor }, desk.clone());
    let entry = to_the_end(async move { inside.auth.agent_login(&knock).await }).await?;
    let cookie = remember(&desk, &cookies, entry.signed_in()).await;
    Ok((cookie, Reply(entry.into())))
}
