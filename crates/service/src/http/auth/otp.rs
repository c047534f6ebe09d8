//! One-time-password devices, for signed-in and partially signed-in users.

use deskpass_auth::{BoundDevice, DeviceStatus, PartialOrFull};
use deskpass_core::{ClientInfo, RecoveryCode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::{Cookies, FromFields, JsonBody, OptionalBody, SigningInBrowser, run_to_completion};
use crate::http::response::{LoginResult, Reply, SetCookie, qr_picture, remember_browser};
use crate::timestamp::Rfc3339;

/// The issuer that an authenticator shows.
const ISSUER: &str = "deskpass";

/// The state of the caller's device.
#[derive(Debug, JsonSchema, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "read by clients, not used for decisions")]
pub(crate) struct OtpStatus {
    agent: bool,
    may_bind: bool,
    bound: bool,
    bound_at: Option<Rfc3339>,
    last_verified_at: Option<Rfc3339>,
    proven: bool,
    confirms_changes: bool,
    recovery_codes: usize,
    has_password: bool,
    recent_sign_in: bool,
    /// Whether the caller can approve operations of high risk on the phone, instead of a one-time password.
    phone_approval: bool,
}

impl OtpStatus {
    fn new(app: &App, bearer: &PartialOrFull, status: &DeviceStatus) -> Self {
        let accepted = &app.auth.policy.questions;
        // The platform reaches members of the main corporation only.
        let is_reached = bearer.employee().corp() == app.auth.policy.home_corp.as_str();
        Self {
            agent: status.is_agent,
            may_bind: status.may_bind,
            bound: status.bound_at.is_some(),
            bound_at: status.bound_at.map(Rfc3339),
            last_verified_at: status.verified_at.map(Rfc3339),
            proven: status.proven,
            confirms_changes: status.confirms_changes && accepted.accepts_otp,
            recovery_codes: status.recovery_codes,
            has_password: status.has_password,
            recent_sign_in: status.recent_sign_in,
            phone_approval: accepted.accepts_phone && is_reached,
        }
    }
}

/// Returns the state of the caller's device.
pub(crate) async fn status(app: App, bearer: PartialOrFull) -> Result<Reply<OtpStatus>, ApiError> {
    let status = app.auth.device_status(&bearer).await?;
    Ok(Reply(OtpStatus::new(&app, &bearer, &status)))
}

/// The parameters for an authenticator.
#[derive(JsonSchema, Serialize)]
pub(crate) struct OtpSetup {
    secret: String,
    otpauth_url: String,
    qrcode_png_base64: String,
    expires_in: u64,
}

/// The setup code that replaces a recent sign-in.
#[derive(FromFields)]
pub(crate) struct OtpSetupBody {
    setup_code: Option<String>,
}

/// Creates a secret for a new device, to be scanned or typed.
pub(crate) async fn setup(
    app: App,
    bearer: PartialOrFull,
    visitor: ClientInfo,
    OptionalBody(OtpSetupBody { setup_code }): OptionalBody<OtpSetupBody>,
) -> Result<Reply<OtpSetup>, ApiError> {
    let setup = app.auth.set_up_device(&bearer, setup_code.as_deref(), &visitor).await?;
    let otpauth_url = setup.seed.otpauth_uri(ISSUER, bearer.employee_id());
    let (secret, qrcode_png_base64) = (setup.seed.base32(), qr_picture::png_base64(&otpauth_url)?);
    Ok(Reply(OtpSetup { secret, otpauth_url, qrcode_png_base64, expires_in: setup.lifetime.as_secs() }))
}

/// A one-time password.
#[derive(FromFields)]
pub(crate) struct OtpCode(#[field(name = "code")] String);

/// A bound device, and the sign-in that this completed.
#[derive(JsonSchema, Serialize)]
pub(crate) struct OtpBound {
    recovery_codes: Vec<String>,
    bound_at: Rfc3339,
    #[serde(flatten)]
    login: Option<LoginResult>,
}

/// Binds the device that shows this one-time password.
pub(crate) async fn bind(
    app: App,
    bearer: PartialOrFull,
    visitor: ClientInfo,
    cookies: Cookies,
    browser: SigningInBrowser,
    JsonBody(OtpCode(code)): JsonBody<OtpCode>,
) -> Result<(SetCookie, Reply<OtpBound>), ApiError> {
    let (inside, agent) = (app.clone(), bearer.employee().clone());
    let work = async move {
        let bound = inside.auth.bind_device(&bearer, &code, &visitor).await?;
        if let Some(signed_in) = &bound.signed_in {
            browser.signed_in(&inside, signed_in.token.digest()).await;
        }
        Ok(bound)
    };
    let BoundDevice { recovery_codes, at, signed_in } = run_to_completion(work).await?;
    let recovery_codes = recovery_codes.iter().map(RecoveryCode::text).collect();
    let bound = OtpBound { recovery_codes, bound_at: Rfc3339(at), login: signed_in.map(LoginResult::from) };
    Ok((remember_browser(&app, &cookies, Some(&agent)).await, Reply(bound)))
}

/// An accepted one-time password, and the sign-in that it completed.
#[derive(JsonSchema, Serialize)]
pub(crate) struct OtpVerified {
    verified: bool,
    #[serde(flatten)]
    login: Option<LoginResult>,
}

/// Verifies a one-time password, which completes a partial sign-in.
pub(crate) async fn verify(
    app: App,
    bearer: PartialOrFull,
    visitor: ClientInfo,
    cookies: Cookies,
    browser: SigningInBrowser,
    JsonBody(OtpCode(code)): JsonBody<OtpCode>,
) -> Result<(SetCookie, Reply<OtpVerified>), ApiError> {
    let (inside, agent) = (app.clone(), bearer.employee().clone());
    let work = async move {
        let signed_in = inside.auth.verify_otp(&bearer, &code, &visitor).await?;
        if let Some(signed_in) = &signed_in {
            browser.signed_in(&inside, signed_in.token.digest()).await;
        }
        Ok(signed_in)
    };
    let signed_in = run_to_completion(work).await?;
    let verified = OtpVerified { verified: true, login: signed_in.map(LoginResult::from) };
    Ok((remember_browser(&app, &cookies, Some(&agent)).await, Reply(verified)))
}

/// An unbound device.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct OtpUnbound {
    success: bool,
    message: &'static str,
}

/// Unbinds the device that shows this one-time password.
pub(crate) async fn unbind(
    app: App,
    bearer: PartialOrFull,
    visitor: ClientInfo,
    language: Language,
    JsonBody(OtpCode(code)): JsonBody<OtpCode>,
) -> Result<Reply<OtpUnbound>, ApiError> {
    run_to_completion(async move { app.auth.unbind_device(&bearer, &code, &visitor).await }).await?;
    let message = language.of(["the authenticator is unbound", "身份验证器已解绑"]);
    Ok(Reply(OtpUnbound { success: true, message }))
}
