//! Admin commands in words, as the service log shows them: as typed on the command line. None contains a secret.

use std::fmt;

use super::agents::AgentAction;
use super::explain::ExplainRequest;
use super::table::plain;
use super::{
    AdminCommand, AgentAdminCommand, EmployeeSelector, IpRuleAdminCommand, KeyAdminCommand, ServiceKeyAdminCommand,
    SyncAdminCommand,
};

impl fmt::Display for AdminCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain(&self.words()))
    }
}

impl AdminCommand {
    /// Whether the command only looks at what another one started, several times a second.
    pub(crate) fn is_poll(&self) -> bool {
        matches!(self, Self::Sync(SyncAdminCommand::State { .. }))
    }

    fn words(&self) -> String {
        match self {
            Self::Add { who, roles, .. } => {
                let roles: Vec<_> = roles.iter().map(|role| format!(" --role {role}")).collect();
                format!("employee add {}{}", who.typed(), roles.concat())
            }
            Self::List => "employee list".to_owned(),
            Self::Disable(who) => format!("employee disable {}", who.typed()),
            Self::DisableEvenLastAdmin(who) => format!("employee disable {} --yes", who.typed()),
            Self::Enable(who) => format!("employee enable {}", who.typed()),
            Self::Grant(who, role) => format!("role grant {} {role}", who.typed()),
            Self::Revoke(who, role) => format!("role revoke {} {role}", who.typed()),
            Self::RevokeEvenLastAdmin(who, role) => format!("role revoke {} {role} --yes", who.typed()),
            Self::Agent(command) => agent_words(command),
            Self::ApproveLink { identity, target } => format!("link approve {identity} {}", target.typed()),
            Self::Links => "link list".to_owned(),
            Self::RemoveLink { identity } => format!("link remove {identity}"),
            Self::ServiceKey(command) => service_key_words(command),
            Self::IpRule(IpRuleAdminCommand::List) => "ip-rule list".to_owned(),
            Self::IpRule(IpRuleAdminCommand::Set { role, networks }) => {
                format!("ip-rule set {role} {}", networks.join(" ")).trim_end().to_owned()
            }
            Self::Key(KeyAdminCommand::Status) => "key status".to_owned(),
            Self::Key(KeyAdminCommand::Forget { id }) => format!("key forget {id} --yes"),
            Self::Key(KeyAdminCommand::Switch { .. } | KeyAdminCommand::Reseal { .. }) => "key rotate".to_owned(),
            Self::Explain(request) => explain_words(request),
            Self::UntrustedProxies | Self::UnlistedHosts | Self::Storage => "doctor".to_owned(),
            Self::ConfirmClock => "clock repair".to_owned(),
            Self::Reload => "reload".to_owned(),
            Self::EndAllSessions(command) => command.words(),
            Self::EndSessions(who) => format!("session end {}", who.typed()),
            Self::Oidc(command) => command.words(),
            Self::SetEmail(who, Some(_)) => format!("employee email {} ADDRESS", who.typed()),
            Self::Readmit(who) => format!("employee return {}", who.typed()),
            Self::ConfirmHolder(who) => format!("employee confirm {}", who.typed()),
            Self::NewPerson(who) => format!("employee new-person {}", who.typed()),
            Self::GrantFor { who, role, seconds, .. } => format!("role grant {} {role} --for {seconds}s", who.typed()),
            Self::Sync(command) => command.words(),
            Self::SetEmail(who, None) => format!("employee email {} --remove", who.typed()),
        }
    }
}

fn agent_words(command: &AgentAdminCommand) -> String {
    let AgentAdminCommand::To(who, action) = command else { return "agent list".to_owned() };
    let typed = who.typed();
    match action {
        AgentAction::Add(role) => format!("agent add {typed} --role {role}"),
        AgentAction::SetRole(role) => format!("agent set-role {typed} {role}"),
        AgentAction::Disable => format!("agent disable {typed}"),
        AgentAction::Enable => format!("agent enable {typed}"),
        AgentAction::Unlock => format!("agent unlock {typed}"),
        AgentAction::ResetOtp => format!("agent reset-otp {typed}"),
        AgentAction::ResetPassword => format!("agent reset-password {typed}"),
    }
}

fn service_key_words(command: &ServiceKeyAdminCommand) -> String {
    match command {
        ServiceKeyAdminCommand::Create { name, scopes, days } => {
            format!("service-key create {name} --scope {} --days {days}", scopes.join(" --scope "))
        }
        ServiceKeyAdminCommand::List => "service-key list".to_owned(),
        ServiceKeyAdminCommand::Revoke { id } => format!("service-key revoke {id}"),
    }
}

fn explain_words(request: &ExplainRequest) -> String {
    let typed = EmployeeSelector::typed;
    match request {
        ExplainRequest::Login(who) => format!("explain login {}", typed(who)),
        ExplainRequest::Access(query) => format!("explain access {}", typed(&query.who)),
        ExplainRequest::Token { .. } => "explain token".to_owned(),
        ExplainRequest::Reference { reference, .. } => format!("explain ref {reference}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_may_remove_the_last_administrator_says_so() {
        let who = |corp: Option<&str>| EmployeeSelector { employee: "boss".to_owned(), corp: corp.map(str::to_owned) };
        for (command, words) in [
            (AdminCommand::Disable(who(None)), "employee disable boss"),
            (AdminCommand::DisableEvenLastAdmin(who(None)), "employee disable boss --yes"),
            (AdminCommand::Revoke(who(None), "admin".to_owned()), "role revoke boss admin"),
            (
                AdminCommand::RevokeEvenLastAdmin(who(Some("wwother")), "admin".to_owned()),
                "role revoke boss --corp wwother admin --yes",
            ),
        ] {
            assert_eq!(command.to_string(), words);
        }
    }
}
