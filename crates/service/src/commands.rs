//! Admin commands of the command line.
//!
//! Embedded data belongs to one process. While the service runs, the command line sends an admin command to it through
//! a socket in the data directory, which only the directory's owner can reach. Otherwise the command line runs the
//! command itself, as it always does on a database that nodes share.

mod agents;
mod describe;
mod explain;
mod identity;
mod ip_rules;
mod keys;
mod leavers;
mod oidc;
mod roles;
mod seen;
mod service_keys;
mod sessions;
mod storage;
mod sync;
mod table;
mod text;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use deskpass_auth::{Administrator, Auth, Error, Refusal};
use deskpass_core::{
    CorpId, EmployeeId, EmployeeKey, Person, Role, Roles, entered_department_id, is_invisible, is_platform_department,
};
use deskpass_store::{IdentityLink, ListedPerson};
use serde::{Deserialize, Serialize};

use crate::App;
use crate::config::{Language, Settings};
use crate::timestamp::format_utc;
use text::{describe_error, no_such_role, role_list};

pub(crate) use agents::{AgentAction, AgentAdminCommand};
pub(crate) use explain::{AccessQuery, ExplainRequest, describe_token_kind, space_before};
pub(crate) use ip_rules::IpRuleAdminCommand;
pub(crate) use keys::{KeyAdminCommand, KeyReport, ResealStep};
pub(crate) use oidc::{ClientFacts, GENERIC, NewClient, OidcAdminCommand, OidcFacts, PROGRAMS, Recipe};
pub(crate) use service_keys::ServiceKeyAdminCommand;
pub(crate) use sessions::EndAllSessions;
pub(crate) use storage::StorageReport;
pub(crate) use sync::{SyncAdminCommand, SyncResult, SyncState};

const MAX_NAME_CHARS: usize = 128;

#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum AdminCommand {
    Add {
        who: EmployeeSelector,
        name: Option<String>,
        department: String,
        #[serde(default)]
        department_id: Option<String>,
        roles: Vec<String>,
    },
    List,
    Disable(EmployeeSelector),
    Enable(EmployeeSelector),
    Grant(EmployeeSelector, String),
    Revoke(EmployeeSelector, String),
    // Commands of their own: a service of the previous version must not take the confirmation for a plain command.
    DisableEvenLastAdmin(EmployeeSelector),
    RevokeEvenLastAdmin(EmployeeSelector, String),
    Agent(AgentAdminCommand),
    ApproveLink {
        identity: String,
        target: EmployeeSelector,
    },
    Links,
    RemoveLink {
        identity: String,
    },
    ServiceKey(ServiceKeyAdminCommand),
    IpRule(IpRuleAdminCommand),
    Key(KeyAdminCommand),
    Explain(ExplainRequest),
    /// Lists the proxies whose requests were refused, one per line; the result is empty if there are none.
    UntrustedProxies,
    /// Writes to the data and looks at the disk; the result is a [`StorageReport`].
    Storage,
    /// Lists the host names under which the service answered although the settings do not list them, in the same way.
    UnlistedHosts,
    ConfirmClock,
    /// Reads the settings again. Only a running service does it.
    Reload,
    EndAllSessions(EndAllSessions),
    EndSessions(EmployeeSelector),
    Oidc(OidcAdminCommand),
    /// Sets the e-mail address of an employee, or removes it.
    SetEmail(EmployeeSelector, Option<String>),
    /// The person who has the identifier now may have what is recorded for it.
    ConfirmHolder(EmployeeSelector),
    /// Another person has the identifier now.
    NewPerson(EmployeeSelector),
    /// Grants a role that ends by itself.
    GrantFor {
        who: EmployeeSelector,
        role: String,
        seconds: u64,
        reason: String,
    },
    Sync(SyncAdminCommand),
    /// Admits an employee who left according to the platform.
    Readmit(EmployeeSelector),
}

/// An employee, as named on the command line.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct EmployeeSelector {
    pub(crate) employee: String,
    pub(crate) corp: Option<String>,
}

/// An admin command on its way to the service. The service rejects a command of the other mode, or of another corporation: it would
/// mean other people.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct CommandRequest<E = AdminCommand> {
    pub(crate) development: bool,
    /// The language of the result. A command line of the previous version sends none.
    #[serde(default)]
    pub(crate) language: Language,
    /// The corporation of the command's settings, if the command is about its people.
    #[serde(default)]
    pub(crate) corporation: Option<String>,
    #[serde(rename = "errand")]
    pub(crate) command: E,
}

/// The settings that say whose people a command means.
pub(crate) fn corporation(settings: &Settings) -> String {
    let (kind, corp_id) = (settings.platform.kind.name(), &*settings.platform.corp_id);
    format!("platform.kind = {kind:?} and platform.corp_id = {corp_id:?}")
}

/// The text for the operator: the result, or the reason for a failure and the fix.
pub(crate) type CommandResult = Result<String, String>;

/// The socket on which a running service accepts admin commands.
pub(crate) fn socket_path(data: &Path) -> PathBuf {
    data.join("deskpass.sock")
}

impl AdminCommand {
    pub(crate) async fn run(&self, app: &App, language: Language) -> CommandResult {
        let auth = &app.auth;
        match self {
            Self::Add { who, name, department, department_id, roles } => {
                add(auth, who, name.as_deref(), (department, department_id.as_deref()), roles).await
            }
            Self::List => list(auth).await,
            Self::Disable(who) => disable(auth.operator().keeping_last_admin(), who, auth).await,
            Self::DisableEvenLastAdmin(who) => disable(auth.operator(), who, auth).await,
            Self::Enable(who) => leavers::enable(auth, who).await,
            Self::Grant(who, role) => roles::grant(auth, who, role).await,
            Self::GrantFor { who, role, seconds, reason } => {
                roles::grant_for(auth, who, role, Duration::from_secs(*seconds), reason).await
            }
            Self::Revoke(who, role) => roles::revoke(auth.operator().keeping_last_admin(), who, role, auth).await,
            Self::RevokeEvenLastAdmin(who, role) => roles::revoke(auth.operator(), who, role, auth).await,
            Self::Sync(command) => command.run(app),
            Self::Agent(command) => command.run(app).await,
            Self::ServiceKey(command) => command.run(app).await,
            Self::IpRule(command) => command.run(app).await,
            Self::Key(command) => command.run(app).await,
            Self::Explain(question) => question.answer(app, language).await,
            Self::UntrustedProxies => Ok(seen::untrusted_proxies(app, language)),
            Self::Storage => storage::report(app).await,
            Self::UnlistedHosts => Ok(seen::unlisted_hosts(app, language)),
            Self::ApproveLink { identity, target } => {
                let approved =
                    auth.operator().approve_link(parse_external_identity(auth, identity)?, target.key(auth)?).await;
                approved.map_err(|error| target.explain(error))?;
                Ok(format!(
                    "{identity} may act as {}; the user enters that employee's identifier once, at the next sign-in",
                    target.employee
                ))
            }
            Self::Links => links(auth).await,
            Self::ConfirmClock => confirm_clock(app).await,
            Self::Reload => Err("only a running service can reload its settings".to_owned()),
            Self::EndAllSessions(command) => command.run(app).await,
            Self::EndSessions(who) => sessions::end(auth, who).await,
            Self::Oidc(command) => command.run(app, language).await,
            Self::SetEmail(who, address) => identity::set_email(auth, who, address.as_deref()).await,
            Self::Readmit(who) => leavers::readmit(auth, who).await,
            Self::ConfirmHolder(who) => identity::confirm_holder(auth, who).await,
            Self::NewPerson(who) => identity::new_person(auth, who).await,
            Self::RemoveLink { identity } => {
                let removed = auth.operator().remove_link(parse_external_identity(auth, identity)?).await;
                let removed = removed.map_err(describe_error)?;
                let could = if removed { "may no longer act as an employee" } else { "had no link" };
                Ok(format!("{identity} {could}"))
            }
        }
    }

    /// Sends the command to the service that runs on `data`, whatever its corporation is.
    pub(crate) fn send_to_service(
        &self,
        data: &Path,
        development: bool,
        language: Language,
    ) -> io::Result<CommandResult> {
        self.send_to_service_of(None, data, development, language)
    }

    /// Sends the command to the service that runs on `data`, which rejects it if it has another corporation.
    pub(crate) fn send_to_service_of(
        &self,
        corporation: Option<String>,
        data: &Path,
        development: bool,
        language: Language,
    ) -> io::Result<CommandResult> {
        let mut stream = UnixStream::connect(socket_path(data))?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let request = CommandRequest { development, language, corporation, command: self };
        writeln!(stream, "{}", serde_json::to_string(&request)?)?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl EmployeeSelector {
    fn key(&self, auth: &Auth) -> Result<EmployeeKey, String> {
        let id = EmployeeId::parse(&self.employee).map_err(|rule| format!("EMPLOYEE {rule}"))?;
        let corp = self.corp.as_deref().map(CorpId::parse).transpose();
        let corp = corp.map_err(|rule| format!("--corp {rule}"))?;
        Ok(auth.resolve_key(corp.as_ref(), &id))
    }

    /// The employee as the operator types it on the command line.
    fn typed(&self) -> String {
        let corp = self.corp.as_ref().map(|corp| format!(" --corp {corp}")).unwrap_or_default();
        format!("{}{corp}", self.employee)
    }

    /// Turns an error of the service into a message that says how to fix it.
    fn explain(&self, error: Error) -> String {
        let (name, typed) = (&self.employee, self.typed());
        match error {
            Error::Refused(Refusal::NoSuchEmployee) => {
                format!("there is no employee {name}; to add one: deskpass employee add {typed}")
            }
            Error::Refused(Refusal::Exists) => {
                format!("{name} already exists; to grant a role: deskpass role grant {typed} ROLE")
            }
            Error::Refused(Refusal::NoSuchRole(role)) => no_such_role(&role),
            Error::Refused(Refusal::LastAdmin) => format!(
                "{name} is the last administrator, nothing was changed; to appoint another first: deskpass role grant \
                 EMPLOYEE admin. To do it anyway, add --yes: then only this command line can appoint one"
            ),
            Error::Refused(Refusal::RoleFromRule(role)) => format!(
                "{name} holds the role {role} by a rule; to take it away, change the rule, or take {name} out of its department \
                 or tag at the platform. What was granted besides the rule is revoked"
            ),
            other => describe_error(other),
        }
    }
}

async fn disable(operator: Administrator<'_>, who: &EmployeeSelector, auth: &Auth) -> CommandResult {
    let ended = operator.disable(who.key(auth)?).await.map_err(|error| who.explain(error))?;
    Ok(format!("{} is disabled; {ended} session(s) ended", who.employee))
}

/// Parses `CORP/USER`: a user of a connected corporation, as the platform names them.
fn parse_external_identity(auth: &Auth, identity: &str) -> Result<EmployeeKey, String> {
    let Some((corp, user)) = identity.split_once('/') else {
        return Err(format!(
            "{identity} has no slash; CORP/USER is written as on the platform, such as wwpartner/lisi"
        ));
    };
    let corp = CorpId::parse(corp).map_err(|rule| format!("CORP in CORP/USER {rule}"))?;
    let user = EmployeeId::parse(user).map_err(|rule| format!("USER in CORP/USER {rule}"))?;
    if corp == auth.policy.home_corp {
        let corp = corp.as_str();
        return Err(format!(
            "{corp} is the main corporation, whose employees sign in directly; name a user of a connected corporation"
        ));
    }
    Ok(auth.resolve_key(Some(&corp), &user))
}

async fn add(
    auth: &Auth,
    who: &EmployeeSelector,
    name: Option<&str>,
    (department, department_id): (&str, Option<&str>),
    roles: &[String],
) -> CommandResult {
    let parse = |name: &String| Role::from_name(name).ok_or_else(|| no_such_role(name));
    let roles = roles.iter().map(parse).collect::<Result<Roles, _>>()?;
    let name = name.unwrap_or(&who.employee);
    for (option, text, least) in [("--name", name, 1), ("--department", department, 0)] {
        if !(least..=MAX_NAME_CHARS).contains(&text.chars().count()) || text.chars().any(is_invisible) {
            return Err(format!("{option} must be {least} to {MAX_NAME_CHARS} visible characters"));
        }
    }
    if department_id.is_some_and(|id| !is_platform_department(id)) {
        return Err("--department-id must be the number that the platform gave the department, such as 7".to_owned());
    }
    let person = Person {
        name: name.to_owned(),
        department: department.to_owned(),
        department_id: department_id.map_or_else(|| entered_department_id(department), str::to_owned),
        roles,
        ..Person::new(who.key(auth)?, &who.employee)
    };
    auth.operator().add_employee(person).await.map_err(|error| who.explain(error))?;
    Ok(format!("{} was added with {}", who.employee, role_list(roles)))
}

async fn list(auth: &Auth) -> CommandResult {
    let mut lines =
        vec![format!("{:<20} {:<20} {:<20} {:<10} {:<40} EMAIL", "CORPORATION", "EMPLOYEE", "NAME", "STATE", "ROLES")];
    let mut after = None;
    loop {
        let page = auth.employees(after, 500).await.map_err(|error| error.to_string())?;
        for listed in &page {
            lines.push(line(auth, listed).await?);
        }
        match page.last() {
            Some(last) => after = Some(last.person.key.clone()),
            None => return Ok(lines.join("\n")),
        }
    }
}

async fn line(auth: &Auth, ListedPerson { person, .. }: &ListedPerson) -> CommandResult {
    let state = match person.left {
        _ if person.disabled => "disabled",
        Some(_) => "left",
        None => "enabled",
    };
    let (_, default_role) = auth.platform_sign_in_roles(person).await.map_err(describe_error)?;
    let roles = match default_role.filter(|_| person.roles.is_empty()) {
        Some(granted) => format!("{} (default)", granted.role),
        None => role_list(person.roles),
    };
    let (corp, email) = (person.key.corp(), person.email.as_ref().map_or("", |email| email.address.as_str()));
    let (employee, name) = (&person.employee_id, table::plain(&person.name));
    let line = format!("{corp:<20} {employee:<20} {name:<20} {state:<10} {roles:<40} {email}");
    Ok(line.trim_end().to_owned())
}

/// The running service cannot go back in time, because its state in memory contains times too.
async fn confirm_clock(app: &App) -> CommandResult {
    if app.confirm_machine_clock().await {
        return Ok(format!("the service now uses this machine's time: {}", format_utc(app.auth.clock.now())));
    }
    Err("the service is ahead of this machine's time and cannot go back while it runs; stop it, run `deskpass clock \
         repair --yes` again, and start it"
        .to_owned())
}

async fn links(auth: &Auth) -> CommandResult {
    let approved = auth.operator().links().await.map_err(describe_error)?;
    if approved.is_empty() {
        return Ok("no links; to approve one: deskpass link approve CORP/USER EMPLOYEE".to_owned());
    }
    let heading = format!("{:<40} {:<20} {:<22} BOUND", "IDENTITY", "EMPLOYEE", "APPROVED");
    let lines: Vec<_> = std::iter::once(heading).chain(approved.iter().map(|link| link_line(auth, link))).collect();
    Ok(lines.join("\n"))
}

fn link_line(auth: &Auth, IdentityLink { identity, target, approved_at, bound_at }: &IdentityLink) -> String {
    let identity = format!("{}/{}", identity.corp(), identity.id());
    let at_home = target.corp() == auth.policy.home_corp.as_str();
    let target = if at_home { target.id().to_owned() } else { format!("{}/{}", target.corp(), target.id()) };
    let bound = bound_at.map_or_else(|| "not yet".to_owned(), format_utc);
    format!("{identity:<40} {target:<20} {:<22} {bound}", format_utc(*approved_at))
}
