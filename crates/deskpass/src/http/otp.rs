//! One-time-password devices, for whoever is signed in or half-way in.

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_auth::{Bound, DeviceStatus};
use deskpass_core::SpareCode;
use deskpass_store::Device;
use serde::Serialize;

use super::agent::remember;
use super::bind::{LoginResult, iso};
use super::cookie::{Cookies, SetCookie};
use super::envelope::Reply;
use super::extract::{Body, Entrant, Guest, Reads, to_the_end};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use super::picture;
use crate::Desk;
use crate::config::Language;

/// Whom an authenticator says its codes are for.
const ISSUER: &str = "deskpass";

/// How things stand with the caller's device.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    agent: bool,
    bound: bool,
    bound_at: Option<String>,
    last_verified_at: Option<String>,
    recovery_codes: usize,
    has_password: bool,
}

impl From<DeviceStatus> for Status {
    fn from(DeviceStatus { agent }: DeviceStatus) -> Self {
        let device = agent.as_ref().and_then(|agent| agent.device.as_ref());
        Self {
            agent: agent.is_some(),
            bound: device.is_some(),
            bound_at: device.map(|device| iso(device.bound_at)),
            last_verified_at: device.and_then(|Device { verified_at, .. }| verified_at.map(iso)),
            recovery_codes: agent.as_ref().map_or(0, |agent| agent.recovery_codes),
            has_password: agent.is_some_and(|agent| agent.password.is_some()),
        }
    }
}

/// Says how things stand with the caller's device.
pub(super) async fn status(State(desk): State<Desk>, Entrant(entrant): Entrant) -> Result<Reply<Status>, Failure> {
    Ok(Reply(desk.auth.device_status(&entrant).await?.into()))
}

/// What an authenticator is to know.
#[derive(Serialize)]
pub(super) struct Setup {
    secret: String,
    otpauth_url: String,
    qrcode_png_base64: String,
    expires_in: u64,
}

/// Makes a secret for a device to be bound, to be scanned or typed.
pub(super) async fn setup(State(desk): State<Desk>, Entrant(entrant): Entrant) -> Result<Reply<Setup>, Failure> {
    let setup = desk.auth.set_up_device(&entrant).await?;
    let otpauth_url = setup.seed.address(ISSUER, entrant.employee_id());
    let picture = picture::draw(&otpauth_url).map_err(|error| Failure::unexpected(&error))?;
    let (secret, qrcode_png_base64) = (setup.seed.base32(), STANDARD.encode(picture));
    Ok(Reply(Setup { secret, otpauth_url, qrcode_png_base64, expires_in: setup.lifetime.as_secs() }))
}

/// A code of a device.
pub(super) struct Code(String);

impl Ask for Code {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(fields.text("code")?))
    }
}

/// A device that was bound, and the sign-in that this completed.
#[derive(Serialize)]
pub(super) struct BoundResult {
    recovery_codes: Vec<String>,
    bound_at: String,
    #[serde(flatten)]
    login: Option<LoginResult>,
}

/// Binds the device that shows this code.
pub(super) async fn bind(
    State(desk): State<Desk>,
    Entrant(entrant): Entrant,
    Guest(visitor): Guest,
    cookies: Cookies,
    Body(Code(code)): Body<Code>,
) -> Result<(SetCookie, Reply<BoundResult>), Failure> {
    let (at, agent) = (desk.clone(), entrant.employee().clone());
    let bound = to_the_end(async move { at.auth.bind_device(&entrant, &code, &visitor).await });
    let Bound { recovery_codes, at, signed_in } = bound.await?;
    let recovery_codes = recovery_codes.iter().map(SpareCode::text).collect();
    let bound = BoundResult { recovery_codes, bound_at: iso(at), login: signed_in.map(LoginResult::from) };
    Ok((remember(&desk, &cookies, &agent).await, Reply(bound)))
}

/// A code that was taken, and the sign-in that this completed.
#[derive(Serialize)]
pub(super) struct Verified {
    verified: bool,
    #[serde(flatten)]
    login: Option<LoginResult>,
}

/// Takes a code, which completes half a sign-in.
pub(super) async fn verify(
    State(desk): State<Desk>,
    Entrant(entrant): Entrant,
    Guest(visitor): Guest,
    cookies: Cookies,
    Body(Code(code)): Body<Code>,
) -> Result<(SetCookie, Reply<Verified>), Failure> {
    let (at, agent) = (desk.clone(), entrant.employee().clone());
    let signed_in = to_the_end(async move { at.auth.verify_device(&entrant, &code, &visitor).await }).await?;
    let verified = Verified { verified: true, login: signed_in.map(LoginResult::from) };
    Ok((remember(&desk, &cookies, &agent).await, Reply(verified)))
}

/// A device that was unbound.
#[derive(Debug, Serialize)]
pub(super) struct Unbound {
    success: bool,
    message: &'static str,
}

/// Unbinds the device that shows this code.
pub(super) async fn unbind(
    State(desk): State<Desk>,
    Entrant(entrant): Entrant,
    Guest(visitor): Guest,
    Reads(language): Reads,
    Body(Code(code)): Body<Code>,
) -> Result<Reply<Unbound>, Failure> {
    to_the_end(async move { desk.auth.unbind_device(&entrant, &code, &visitor).await }).await?;
    let message = match language {
        Language::En => "the device is unbound",
        Language::Zh => "设备已解绑",
    };
    Ok(Reply(Unbound { success: true, message }))
}
