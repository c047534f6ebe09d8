//! The agents' own way in, and their passwords.

use axum::extract::{FromRequestParts, State};
use deskpass_auth::{Change, Entry, Halved, Knock};
use deskpass_core::{EmployeeId, EmployeeKey, KnownBrowser};
use hyper::http::request::Parts;
use serde::Serialize;

use super::answer::Window;
use super::bind::{LoginResult, iso};
use super::cookie::{Cookies, SetCookie};
use super::envelope::Reply;
use super::extract::{Body, Caller, Guest, Holder, Reads, to_the_end};
use super::failure::Failure;
use super::fields::{Ask, Fields, Problem};
use crate::Desk;
use crate::config::Language;

/// Longer than any password, in bytes; whatever is longer is not worth hashing.
const LONGEST: usize = 1_024;

/// An agent who knocks.
#[derive(Debug)]
pub(super) struct Login {
    employee_id: EmployeeId,
    code: Option<String>,
    password: Option<String>,
}

impl Ask for Login {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (employee_id, code) = (fields.id("employee_id", EmployeeId::parse), fields.maybe_text("code"));
        let password = fields.maybe_text_within("password", LONGEST);
        if let (Some(None), Some(None)) = (&code, &password) {
            fields.refuse("password", Problem::CodeOrPassword);
        }
        Some(Self { employee_id: employee_id?, code: code?, password: password? })
    }
}

/// What an agent who knocked gets.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Entered {
    Whole(LoginResult),
    Half(HalfResult),
}

/// Half of a sign-in.
#[derive(Serialize)]
pub(super) struct HalfResult {
    half_authenticated: bool,
    otp: &'static str,
    token: String,
    token_type: &'static str,
    expires_in: u64,
    expires_at: String,
}

impl From<Entry> for Entered {
    fn from(entry: Entry) -> Self {
        match entry {
            Entry::Whole(signed_in) => Self::Whole(signed_in.into()),
            Entry::Half(Halved { token, has_device, lifetime, expires_at }) => Self::Half(HalfResult {
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

/// Whom the platform vouched for, as the token of a request says, where there is one.
#[derive(Debug)]
pub(super) struct Vouched(Option<EmployeeKey>);

impl FromRequestParts<Window> for Vouched {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let holder = Holder::from_request_parts(parts, window).await.ok();
        let proven = holder.filter(|holder| holder.session().proven);
        Ok(Self(proven.map(|holder| holder.session().employee.clone())))
    }
}

/// Lets an agent in by a code of the platform, or half-way in by a password.
pub(super) async fn login(
    State(desk): State<Desk>,
    Guest(visitor): Guest,
    cookies: Cookies,
    Vouched(vouched): Vouched,
    Body(Login { employee_id, code, password }): Body<Login>,
) -> Result<(SetCookie, Reply<Entered>), Failure> {
    let (employee, device) = (desk.auth.key(None, &employee_id), cookies.digest::<KnownBrowser>());
    let knock = Knock { employee, code, password, device, vouched, visitor };
    let at = desk.clone();
    let entry = to_the_end(async move { at.auth.agent_login(&knock).await }).await?;
    let cookie = match &entry {
        Entry::Whole(signed_in) => remember(&desk, &cookies, &signed_in.person.key).await,
        Entry::Half(_) => SetCookie::NONE,
    };
    Ok((cookie, Reply(entry.into())))
}

/// Has a browser remember that this agent was there, so that strangers cannot use up their guesses. Programs keep nothing. What
/// was done before stands, whether or not this can be noted.
pub(super) async fn remember(desk: &Desk, cookies: &Cookies, agent: &EmployeeKey) -> SetCookie {
    if !cookies.page {
        return SetCookie::NONE;
    }
    match desk.auth.remember(agent, cookies.digest::<KnownBrowser>()).await {
        Ok(known) => known.map_or(SetCookie::NONE, |(device, lifetime)| SetCookie::keep(desk, &device, lifetime)),
        Err(error) => {
            tracing::warn!(%error, "an agent's browser could not be noted");
            SetCookie::NONE
        }
    }
}

/// A password to be set by somebody who is signed in.
#[derive(Debug)]
pub(super) struct NewPassword {
    old_password: Option<String>,
    new_password: String,
}

impl Ask for NewPassword {
    fn read(fields: &mut Fields) -> Option<Self> {
        let old_password = fields.maybe_text_within("old_password", LONGEST);
        let new_password = fields.text_within("new_password", LONGEST);
        Some(Self { old_password: old_password?, new_password: new_password? })
    }
}

/// A password that was set.
#[derive(Debug, Serialize)]
pub(super) struct PasswordSet {
    success: bool,
    ended_sessions: usize,
    message: &'static str,
}

impl PasswordSet {
    fn told(ended_sessions: usize, language: Language) -> Reply<Self> {
        let message = match language {
            Language::En => "the password is set",
            Language::Zh => "密码已设置",
        };
        Reply(Self { success: true, ended_sessions, message })
    }
}

/// Sets the caller's password, and ends their other sessions.
pub(super) async fn password(
    State(desk): State<Desk>,
    caller: Caller,
    Guest(visitor): Guest,
    cookies: Cookies,
    Reads(language): Reads,
    Body(NewPassword { old_password: old, new_password: new }): Body<NewPassword>,
) -> Result<(SetCookie, Reply<PasswordSet>), Failure> {
    let change = Change { old, new, device: cookies.digest::<KnownBrowser>(), visitor };
    let (at, agent, caller) = (desk.clone(), caller.session().employee.clone(), caller.into_inner());
    let ended = to_the_end(async move { at.auth.change_password(&caller, &change).await }).await?;
    Ok((remember(&desk, &cookies, &agent).await, PasswordSet::told(ended, language)))
}

/// A password to be set by somebody to whom an administrator gave a code.
#[derive(Debug)]
pub(super) struct FirstPassword {
    employee_id: EmployeeId,
    setup_code: String,
    new_password: String,
}

impl Ask for FirstPassword {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (employee_id, setup_code) = (fields.id("employee_id", EmployeeId::parse), fields.text("setup_code"));
        let new_password = fields.text_within("new_password", LONGEST);
        Some(Self { employee_id: employee_id?, setup_code: setup_code?, new_password: new_password? })
    }
}

/// Sets the password of whoever brings an administrator's code.
pub(super) async fn first_password(
    State(desk): State<Desk>,
    Guest(visitor): Guest,
    Reads(language): Reads,
    Body(FirstPassword { employee_id, setup_code, new_password: new }): Body<FirstPassword>,
) -> Result<Reply<PasswordSet>, Failure> {
    let (agent, change) = (desk.auth.key(None, &employee_id), Change { old: None, new, device: None, visitor });
    let ended = to_the_end(async move { desk.auth.set_up_password(&agent, &setup_code, &change).await }).await?;
    Ok(PasswordSet::told(ended, language))
}
