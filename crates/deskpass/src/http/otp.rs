//! One-time-password devices, for whoever is signed in or half-way in.

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_auth::{BoundDevice, DeviceStatus};
use deskpass_core::SpareCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::cookie::{Cookies, SetCookie, remember};
use super::envelope::Reply;
use super::extract::{Body, Entrant, Guest, Perhaps, Reads, to_the_end};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use super::login::{LoginResult, iso};
use super::openapi::Moment;
use super::picture;
use crate::Desk;

/// Whom an authenticator says its codes are for.
const ISSUER: &str = "deskpass";

/// How things stand with the caller's device.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "OtpStatus")]
#[expect(clippy::struct_excessive_bools, reason = "what clients read, and not what we decide by")]
pub(super) struct Status {
    agent: bool,
    bound: bool,
    #[schemars(with = "Option<Moment>")]
    bound_at: Option<String>,
    #[schemars(with = "Option<Moment>")]
    last_verified_at: Option<String>,
    proven: bool,
    recovery_codes: usize,
    has_password: bool,
    recent_sign_in: bool,
}

impl From<DeviceStatus> for Status {
    fn from(status: DeviceStatus) -> Self {
        Self {
            agent: status.is_agent,
            bound: status.bound_at.is_some(),
            bound_at: status.bound_at.map(iso),
            last_verified_at: status.verified_at.map(iso),
            proven: status.proven,
            recovery_codes: status.recovery_codes,
            has_password: status.has_password,
            recent_sign_in: status.recent_sign_in,
        }
    }
}

/// Says how things stand with the caller's device.
pub(super) async fn status(State(desk): State<Desk>, Entrant(entrant): Entrant) -> Result<Reply<Status>, Failure> {
    Ok(Reply(desk.auth.device_status(&entrant).await?.into()))
}

/// What an authenticator is to know.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "OtpSetup")]
pub(super) struct Setup {
    secret: String,
    otpauth_url: String,
    qrcode_png_base64: String,
    expires_in: u64,
}

/// What a setup may begin with instead of a recent sign-in.
pub(super) struct SetupWanted {
    setup_code: Option<String>,
}

impl Ask for SetupWanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { setup_code: fields.maybe_text("setup_code")? })
    }
}

/// Makes a secret for a device to be bound, to be scanned or typed.
pub(super) async fn setup(
    State(desk): State<Desk>,
    Entrant(entrant): Entrant,
    Guest(visitor): Guest,
    Perhaps(SetupWanted { setup_code }): Perhaps<SetupWanted>,
) -> Result<Reply<Setup>, Failure> {
    let setup = desk.auth.set_up_device(&entrant, setup_code.as_deref(), &visitor).await?;
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
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "OtpBound")]
pub(super) struct BoundResult {
    recovery_codes: Vec<String>,
    #[schemars(with = "Moment")]
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
    let (inside, agent) = (desk.clone(), entrant.employee().clone());
    let bound = to_the_end(async move { inside.auth.bind_device(&entrant, &code, &visitor).await });
    let BoundDevice { recovery_codes, at, signed_in } = bound.await?;
    let recovery_codes = recovery_codes.iter().map(SpareCode::text).collect();
    let bound = BoundResult { recovery_codes, bound_at: iso(at), login: signed_in.map(LoginResult::from) };
    Ok((remember(&desk, &cookies, Some(&agent)).await, Reply(bound)))
}

/// A code that was taken, and the sign-in that this completed.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "OtpVerified")]
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
    let (inside, agent) = (desk.clone(), entrant.employee().clone());
    let signed_in = to_the_end(async move { inside.auth.verify_device(&entrant, &code, &visitor).await }).await?;
    let verified = Verified { verified: true, login: signed_in.map(LoginResult::from) };
    Ok((remember(&desk, &cookies, Some(&agent)).await, Reply(verified)))
}

/// A device that was unbound.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "OtpUnbound")]
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
    Ok(Reply(Unbound { success: true, message: language.of(["the device is unbound", "设备已解绑"]) }))
}
