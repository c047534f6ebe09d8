//! Admin commands about agents.

use deskpass_auth::{Auth, Error, Refusal};
use deskpass_core::{EmployeeKey, Timestamp};
use deskpass_store::{Agent, AgentSelection, Device, ListedAgent};
use serde::{Deserialize, Serialize};

use super::table::table;
use super::text::describe_error;
use super::{CommandResult, EmployeeSelector};
use crate::App;
use crate::timestamp::format_utc;

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum AgentAdminCommand {
    List,
    To(EmployeeSelector, AgentAction),
}

/// A change to an agent. It contains no secrets, because it is logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum AgentAction {
    Add(String),
    SetRole(String),
    Disable,
    Enable,
    Unlock,
    ResetOtp,
    ResetPassword,
}

impl AgentAdminCommand {
    pub(super) async fn run(&self, app: &App) -> CommandResult {
        let auth = &app.auth;
        let Self::To(who, action) = self else { return list(auth).await };
        let key = who.key(auth)?;
        if matches!(action, AgentAction::ResetPassword) && key.corp() != auth.policy.home_corp.as_str() {
            return Err(format!(
                "agents of {} have no password: only agents of the main corporation can sign in with one",
                key.corp()
            ));
        }
        match action.run(app, &who.employee, key.clone()).await {
            Ok(message) => Ok(message),
            Err(error) => Err(explain(auth, who, &key, error).await),
        }
    }
}

impl AgentAction {
    async fn run(&self, app: &App, name: &str, key: EmployeeKey) -> Result<String, Error> {
        let auth = &app.auth;
        Ok(match self {
            Self::Add(role) => {
                auth.operator().add_agent(key, role).await?;
                format!(
                    "{name} is now an agent; the default role is {role}, unless roles are assigned\nto sign in while \
                     the platform is down, the agent needs a password and an authenticator; see `deskpass agent list`"
                )
            }
            Self::SetRole(role) => {
                let ended = auth.operator().set_agent_role(key, role).await?;
                format!("the default role of {name} is now {role}, unless roles are assigned; {ended} session(s) ended")
            }
            Self::Disable => {
                let ended = auth.operator().disable_agent(key).await?;
                format!(
                    "{name} is disabled as an agent; {ended} session(s) ended\n{name} can still sign in through the \
                     platform as an employee; to prevent that: deskpass employee disable"
                )
            }
            Self::Enable => {
                auth.operator().enable_agent(key).await?;
                format!("{name} is enabled as an agent")
            }
            Self::Unlock => {
                let had = if auth.operator().unlock_agent(key).await? { "is unlocked" } else { "was not locked" };
                format!("{name} {had}; failed attempts are cleared")
            }
            Self::ResetOtp => reset_device(app, name, key).await?,
            Self::ResetPassword => reset_password(app, name, key).await?,
        })
    }
}

/// Only the return value contains the code.
async fn reset_password(app: &App, name: &str, key: EmployeeKey) -> Result<String, Error> {
    let reset = app.auth.operator().reset_password(key).await?;
    let (code, until, url) = (reset.code.text(), format_utc(reset.until), &app.settings.public_url);
    Ok(format!(
        "the password of {name} is removed; {} session(s) ended\n\n  setup code: {code}\n\nThe code is valid once, \
         until {until}. Give it only to {name}, to set a new password:\n\n  POST {url}/api/agents/password/setup\n  \
         {{\"employee_id\":\"{name}\",\"setup_code\":\"…\",\"new_password\":\"…\"}}",
        reset.ended
    ))
}

/// Only the return value contains the code.
async fn reset_device(app: &App, name: &str, key: EmployeeKey) -> Result<String, Error> {
    let reset = app.auth.operator().reset_device(key).await?;
    let had = if reset.was_bound { "no longer has an authenticator" } else { "had no authenticator" };
    let (code, until) = (reset.code.text(), format_utc(reset.until));
    Ok(format!(
        "{name} {had}; a new one can be bound within 5 minutes of a sign-in through the platform or by password\n\n  \
         setup code: {code}\n\nThe code is valid once, until {until}, and is only needed for an older session. Give \
         it only to {name}."
    ))
}

/// Turns an error of the service into a message that says how to fix it.
async fn explain(auth: &Auth, who: &EmployeeSelector, key: &EmployeeKey, error: Error) -> String {
    let (name, typed) = (&who.employee, who.typed());
    match error {
        Error::Refused(Refusal::NoSuchAgent) => match auth.store.person(key).await {
            Ok(None) => who.explain(Refusal::NoSuchEmployee.into()),
            _ => format!("{name} is not an agent; to add one: deskpass agent add {typed}"),
        },
        Error::Refused(Refusal::Exists) => {
            format!("{name} is already an agent; to change the role: deskpass agent set-role {typed} ROLE")
        }
        error => who.explain(error),
    }
}

const HEADING: [&str; 8] =
    ["CORPORATION", "EMPLOYEE", "NAME", "ROLE", "STATE", "PASSWORD", "AUTHENTICATOR", "VERIFIED"];

async fn list(auth: &Auth) -> CommandResult {
    let (mut rows, mut after, now) = (vec![HEADING.map(str::to_owned)], None, auth.clock.now());
    loop {
        let page = auth.agents(AgentSelection::AgentsAndDevices, after, 500).await.map_err(describe_error)?;
        rows.extend(page.agents.iter().map(|listed| row(listed, now)));
        match page.next {
            Some(next) => after = Some(next),
            None if rows.len() == 1 => {
                return Ok("no agents; to add one: deskpass agent add EMPLOYEE".to_owned());
            }
            None => return Ok(table(&rows)),
        }
    }
}

fn row(listed: &ListedAgent, now: Timestamp) -> [String; 8] {
    let agent = &listed.agent;
    let verified_at = agent.device.as_ref().and_then(|device| device.verified_at);
    [
        agent.key.corp().to_owned(),
        listed.employee_id.clone(),
        listed.name.clone(),
        if agent.device_only { "-".to_owned() } else { agent.role.name().to_owned() },
        state(listed),
        password(agent, now),
        device(agent, now),
        verified_at.map_or_else(|| "never".to_owned(), format_utc),
    ]
}

pub(super) fn state(listed: &ListedAgent) -> String {
    let states = [
        (listed.agent.disabled && !listed.agent.device_only).then(|| "disabled".to_owned()),
        listed.employee_disabled.then(|| "employee disabled".to_owned()),
        listed.locked.then(|| "locked".to_owned()),
        listed.shut_until.map(|until| format!("paused until {}", format_utc(until))),
    ];
    let states: Vec<_> = states.into_iter().flatten().collect();
    let otherwise = if listed.agent.device_only { "no agent" } else { "enabled" };
    if states.is_empty() { otherwise.to_owned() } else { states.join(", ") }
}

pub(super) fn password(agent: &Agent, now: Timestamp) -> String {
    if agent.device_only {
        return "-".to_owned();
    }
    match agent.setup_code_until.filter(|until| now < *until) {
        _ if agent.password.is_some() => "set".to_owned(),
        Some(until) => format!("code until {}", format_utc(until)),
        None => "not set".to_owned(),
    }
}

/// When the device was bound, or when a setup code expires.
pub(super) fn device(agent: &Agent, now: Timestamp) -> String {
    match (&agent.device, agent.device_code_until.filter(|until| now < *until)) {
        (Some(device), _) => since(device),
        (None, Some(until)) => format!("none, code until {}", format_utc(until)),
        (None, None) => "none".to_owned(),
    }
}

/// When the device was bound. An unproven device, bound without platform vouching, gives no access to the admin role.
pub(super) fn since(device: &Device) -> String {
    format!("since {}{}", format_utc(device.bound_at), if device.proven { "" } else { ", unproven" })
}
