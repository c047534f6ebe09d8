//! Agents' passwords.

use std::fmt;

use axum::extract::State;
use deskpass_auth::PasswordChange;
use deskpass_core::{EmployeeId, KnownBrowser, Password, RecoveryCode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::body::JsonBody;
use crate::http::request::client::RequestClient;
use crate::http::request::cookies::Cookies;
use crate::http::request::detached::run_to_completion;
use crate::http::request::fields::{Fields, FromFields};
use crate::http::request::language::ClientLanguage;
use crate::http::request::token::ActiveUser;
use crate::http::response::envelope::Reply;
use crate::http::response::set_cookie::{SetCookie, remember_browser};

/// The password that a signed-in agent sets.
#[derive(Debug)]
pub(crate) struct PasswordChangeBody {
    old_password: Option<Password>,
    new_password: Password,
}

impl FromFields for PasswordChangeBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let (old_password, new_password) = (fields.maybe_password("old_password"), fields.password("new_password"));
        Some(Self { old_password: old_password?, new_password: new_password? })
    }
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
    State(app): State<App>,
    caller: ActiveUser,
    RequestClient(visitor): RequestClient,
    cookies: Cookies,
    ClientLanguage(language): ClientLanguage,
    JsonBody(PasswordChangeBody { old_password: old, new_password: new }): JsonBody<PasswordChangeBody>,
) -> Result<(SetCookie, Reply<PasswordSet>), ApiError> {
    let (inside, agent) = (app.clone(), caller.session().employee.clone());
    let change = PasswordChange { old, new, browser: cookies.digest::<KnownBrowser>(), visitor };
    let ended =
        run_to_completion(async move { inside.auth.change_password(&caller.into_inner(), &change).await }).await?;
    Ok((remember_browser(&app, &cookies, Some(&agent)).await, PasswordSet::reply(ended, language)))
}

/// The password that an agent sets with an administrator's setup code.
pub(crate) struct PasswordSetupBody {
    employee_id: EmployeeId,
    /// `None` where the text cannot be a setup code.
    setup_code: Option<RecoveryCode>,
    new_password: Password,
}

impl FromFields for PasswordSetupBody {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let (employee_id, setup_code) = (fields.id("employee_id", EmployeeId::parse), fields.text("setup_code"));
        let new_password = fields.password("new_password");
        let setup_code = RecoveryCode::parse(&setup_code?);
        Some(Self { employee_id: employee_id?, setup_code, new_password: new_password? })
    }
}

impl fmt::Debug for PasswordSetupBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordSetupBody")
    }
}

/// Sets the password of an agent who has an administrator's setup code.
pub(crate) async fn set_up(
    State(app): State<App>,
    RequestClient(visitor): RequestClient,
    ClientLanguage(language): ClientLanguage,
    JsonBody(PasswordSetupBody { employee_id, setup_code, new_password: new }): JsonBody<PasswordSetupBody>,
) -> Result<Reply<PasswordSet>, ApiError> {
    let employee = app.auth.resolve_key(None, &employee_id);
    let change = PasswordChange { old: None, new, browser: None, visitor };
    let work = async move { app.auth.set_up_password(&employee, setup_code.as_ref(), &change).await };
    Ok(PasswordSet::reply(run_to_completion(work).await?, language))
}
