//! Agents' passwords.

use deskpass_auth::{ActiveUser, PasswordChange};
use deskpass_core::{ClientInfo, EmployeeId, KnownBrowser, Password, RecoveryCode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::{Cookies, FromFields, JsonBody, RequestTrace, run_to_completion};
use crate::http::response::{Reply, SetCookie, remember_browser};

/// The password that a signed-in agent sets.
#[derive(Debug, FromFields)]
pub(crate) struct PasswordChangeBody {
    old_password: Option<Password>,
    new_password: Password,
}

/// A password that was set.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct PasswordSet {
    success: bool,
    ended_sessions: usize,
    message: &'static str,
}

impl PasswordSet {
    fn reply(ended_sessions: usize, language: Language) -> Reply<Self> {
        let message = language.of(["the password is set", "密码已设置"]);
        Reply(Self { success: true, ended_sessions, message })
    }
}

/// Sets the caller's password, and ends their other sessions.
pub(crate) async fn change(
    app: App,
    caller: ActiveUser,
    visitor: ClientInfo,
    cookies: Cookies,
    language: Language,
    JsonBody(PasswordChangeBody { old_password: old, new_password: new }): JsonBody<PasswordChangeBody>,
) -> Result<(SetCookie, Reply<PasswordSet>), ApiError> {
    let (inside, agent) = (app.clone(), caller.0.session().employee.clone());
    let change = PasswordChange { old, new, browser: cookies.digest::<KnownBrowser>(), visitor };
    let ended = run_to_completion(async move { inside.auth.change_password(&caller, &change).await }).await?;
    Ok((remember_browser(&app, &cookies, Some(&agent)).await, PasswordSet::reply(ended, language)))
}

/// The password that an agent sets with an administrator's setup code.
#[derive(FromFields)]
pub(crate) struct PasswordSetupBody {
    employee_id: EmployeeId,
    setup_code: String,
    new_password: Password,
}

/// Sets the password of an agent who has an administrator's setup code.
pub(crate) async fn set_up(
    app: App,
    visitor: ClientInfo,
    trace: RequestTrace,
    language: Language,
    JsonBody(PasswordSetupBody { employee_id, setup_code, new_password: new }): JsonBody<PasswordSetupBody>,
) -> Result<Reply<PasswordSet>, ApiError> {
    let (employee, setup_code) = (app.auth.resolve_key(None, &employee_id), RecoveryCode::parse(&setup_code));
    trace.set_employee(&employee);
    let change = PasswordChange { old: None, new, browser: None, visitor };
    let work = async move { app.auth.set_up_password(&employee, setup_code.as_ref(), &change).await };
    Ok(PasswordSet::reply(run_to_completion(work).await?, language))
}
