//! Agents' passwords.

use std::fmt;

use axum::extract::State;
use deskpass_auth::PasswordChange;
use deskpass_core::{EmployeeId, KnownBrowser, Password, SpareCode};
use schemars::JsonSchema;
use serde::Serialize;

use super::cookie::{Cookies, SetCookie, remember};
use super::envelope::Reply;
use super::extract::{Body, Caller, Guest, Reads, to_the_end};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use crate::Desk;
use crate::config::Language;

/// A password to be set by somebody who is signed in.
#[derive(Debug)]
pub(super) struct Change {
    old_password: Option<Password>,
    new_password: Password,
}

impl Ask for Change {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (old_password, new_password) = (fields.maybe_password("old_password"), fields.password("new_password"));
        Some(Self { old_password: old_password?, new_password: new_password? })
    }
}

/// A password that was set.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct PasswordSet {
    success: bool,
    ended_sessions: usize,
    message: &'static str,
}

impl PasswordSet {
    fn told(ended_sessions: usize, language: Language) -> Reply<Self> {
        let message = language.of(["the password is set", "密码已设置"]);
        Reply(Self { success: true, ended_sessions, message })
    }
}

/// Sets the caller's password, and ends their other sessions.
pub(super) async fn change(
    State(desk): State<Desk>,
    caller: Caller,
    Guest(visitor): Guest,
    cookies: Cookies,
    Reads(language): Reads,
    Body(Change { old_password: old, new_password: new }): Body<Change>,
) -> Result<(SetCookie, Reply<PasswordSet>), Failure> {
    let (inside, agent) = (desk.clone(), caller.session().employee.clone());
    let change = PasswordChange { old, new, browser: cookies.digest::<KnownBrowser>(), visitor };
    let ended = to_the_end(async move { inside.auth.change_password(&caller.into_inner(), &change).await }).await?;
    Ok((remember(&desk, &cookies, Some(&agent)).await, PasswordSet::told(ended, language)))
}

/// A password to be set by somebody to whom an administrator gave a code.
pub(super) struct SetUp {
    employee_id: EmployeeId,
    /// None where it cannot be one.
    setup_code: Option<SpareCode>,
    new_password: Password,
}

impl Ask for SetUp {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (employee_id, setup_code) = (fields.id("employee_id", EmployeeId::parse), fields.text("setup_code"));
        let new_password = fields.password("new_password");
        let setup_code = SpareCode::parse(&setup_code?);
        Some(Self { employee_id: employee_id?, setup_code, new_password: new_password? })
    }
}

impl fmt::Debug for SetUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SetUp")
    }
}

/// Sets the password of whoever brings an administrator's code.
pub(super) async fn set_up(
    State(desk): State<Desk>,
    Guest(visitor): Guest,
    Reads(language): Reads,
    Body(SetUp { employee_id, setup_code, new_password: new }): Body<SetUp>,
) -> Result<Reply<PasswordSet>, Failure> {
    let employee = desk.auth.key(None, &employee_id);
    let change = PasswordChange { old: None, new, browser: None, visitor };
    let work = async move { desk.auth.set_up_password(&employee, setup_code.as_ref(), &change).await };
    Ok(PasswordSet::told(to_the_end(work).await?, language))
}
