//! What is known of an employee by now, as far as it decides whether they can sign in.

use deskpass_auth::{Auth, EmailDecision};
use deskpass_core::{AllowLists, EmailSource, EmployeeKey, Person, Role, Roles, Timestamp};
use deskpass_store::{ListedAgent, RoleOrigin, StoreError};
use jiff::tz::TimeZone;

use super::advice::{AgentSituation, Situation};
use super::describe::{agent_record, allowed_networks, effective_roles, employee_label, failure};
use super::origins::{left_words, role_origins};
use crate::config::Language;

/// An employee who exists.
pub(super) struct Known {
    pub(super) person: Person,
    roles: Roles,
    why_roles: String,
    origins: Vec<RoleOrigin>,
    agent: Option<ListedAgent>,
    lists: AllowLists,
    sessions: usize,
    email: EmailDecision,
}

impl Known {
    pub(super) async fn read(auth: &Auth, about: &EmployeeKey, language: Language) -> Result<Option<Self>, String> {
        let failed = |error: StoreError| failure(error, language);
        let Some(person) = auth.store.person(about).await.map_err(failed)? else { return Ok(None) };
        let person = Person::clone(&person);
        let now = auth.clock.now();
        let (roles, why_roles) = effective_roles(auth, &person, language).await?;
        let origins = auth.store.role_origins(about.clone()).await.map_err(failed)?;
        let agent = auth.store.listed_agent(about.clone(), now).await.map_err(failed)?;
        let sessions = auth.store.own_sessions(about.clone(), now).await.map_err(failed)?.len();
        let lists = auth.store.access_rules().await.map_err(failed)?.lists.clone();
        let email = auth.email_decision(&person).await.map_err(|error| failure(error, language))?;
        Ok(Some(Self { person, roles, why_roles, origins, agent, lists, sessions, email }))
    }

    /// The situation of an attempt from this address, in which this role was refused, by now.
    pub(super) fn situation(&self, address: &str, role: Option<Role>, signed_in_since: bool) -> Situation {
        let record = self.agent.as_ref().filter(|listed| !listed.agent.device_only);
        let agent = record.map(|listed| AgentSituation {
            disabled: listed.agent.disabled,
            shut: listed.locked || listed.shut_until.is_some(),
            has_password: listed.agent.password.is_some(),
        });
        let asked = role.map_or(self.roles, |role| Roles::NONE.with(role));
        let address_allowed = address.parse().is_ok_and(|address| !self.lists.permitted(asked, address).is_empty());
        let Person { disabled, unconfirmed, .. } = self.person;
        let left = self.person.left.is_some();
        Situation {
            exists: true,
            disabled,
            left,
            unconfirmed,
            roles: self.roles,
            role,
            agent,
            address_allowed,
            signed_in_since,
        }
    }

    /// The conditions that decide whether the employee can sign in, and with which roles. `left` is what the platform said last,
    /// if it said that they left; `typed` is the employee as typed on the command line.
    pub(super) fn rows(
        &self,
        left: Option<String>,
        typed: &str,
        now: Timestamp,
        zone: &TimeZone,
        language: Language,
    ) -> Vec<[String; 2]> {
        let lists = &self.lists;
        let label = |english: &str, chinese: &str| language.of([english, chinese]).to_owned();
        let state = if self.person.disabled {
            language.of([
                format!("disabled here; to enable: deskpass employee enable {typed}"),
                format!("已在本系统停用；如需启用：deskpass employee enable {typed}"),
            ])
        } else if let Some(why) = self.person.left {
            let [english, chinese] = left_words(why);
            language.of([
                format!("{english}; to lift it by hand: deskpass employee return {typed}"),
                format!("{chinese}；如需手动恢复：deskpass employee return {typed}"),
            ])
        } else {
            label("enabled", "已启用")
        };
        let agent = self
            .agent
            .as_ref()
            .map_or_else(|| label("no record", "无记录"), |agent| agent_record(agent, now, zone, language));
        let limited = self.roles.iter().filter(|role| !lists.list(*role).is_empty());
        let limited: Vec<_> =
            limited.map(|role| format!("{role} {}", allowed_networks(lists, role, language))).collect();
        let limited = if limited.is_empty() {
            label("none for these roles", "这些角色没有白名单")
        } else {
            limited.join("; ")
        };
        let mut rows = vec![[label("employee", "员工"), state]];
        rows.extend(left.map(|left| [label("platform", "平台"), left]));
        rows.extend(self.person.unconfirmed.then(|| [label("holder", "持有人"), unconfirmed_words(typed, language)]));
        rows.push([label("roles", "角色"), self.why_roles.clone()]);
        rows.extend(role_origins(&self.origins, zone, language).map(|origins| [label("origins", "来源"), origins]));
        rows.push([label("agent", "坐席"), agent]);
        rows.push([label("allow-lists", "白名单"), limited]);
        rows.push([label("sessions", "会话数"), self.sessions.to_string()]);
        rows.push([label("email", "邮箱"), self.told_email(language)]);
        rows
    }

    /// The address that clients of OpenID Connect are told, with its source, or why they are told none.
    fn told_email(&self, language: Language) -> String {
        let [english, chinese] = match &self.email {
            EmailDecision::Recorded(email) => {
                let (address, [english, chinese]) = (&email.address, source_words(email.source));
                [format!("{address} ({english})"), format!("{address}（{chinese}）")]
            }
            EmailDecision::Derived(address) => {
                [format!("{address} (from oidc.email_domain)"), format!("{address}（由 oidc.email_domain 生成）")]
            }
            EmailDecision::Disputed { address, other } => self.dispute(address, other),
            EmailDecision::NoDomain => [
                "none: no address was entered or came from the platform, and oidc.email_domain is not set".to_owned(),
                "无：未录入，{platform}也未提供，且未设置 oidc.email_domain".to_owned(),
            ],
            EmailDecision::OtherCorporation => [
                "none: no address was entered or came from the platform, and oidc.email_domain is for the home corporation"
                    .to_owned(),
                "无：未录入，{platform}也未提供，而 oidc.email_domain 仅用于本企业".to_owned(),
            ],
            EmailDecision::NoLocalPart => [
                "none: the identifier cannot be the first part of an address at oidc.email_domain".to_owned(),
                "无：该员工标识不能作为 oidc.email_domain 邮箱地址的前半部分".to_owned(),
            ],
        };
        language.of([english, chinese])
    }

    /// Why neither of two employees is told an address, in both languages.
    fn dispute(&self, address: &str, other: &EmployeeKey) -> [String; 2] {
        let [english, chinese] = [Language::En, Language::Zh].map(|language| employee_label(other, language));
        match &self.person.email {
            Some(email) => {
                let [english_source, chinese_source] = source_words(email.source);
                [
                    format!(
                        "none: {address} ({english_source}) is also that of {english} through oidc.email_domain: neither is told it"
                    ),
                    format!(
                        "无：{address}（{chinese_source}）也是 {chinese} 由 oidc.email_domain 生成的地址，因此两人都不提供"
                    ),
                ]
            }
            None => [
                format!(
                    "none: {address} through oidc.email_domain is the recorded address of {english}: neither is told it"
                ),
                format!("无：由 oidc.email_domain 生成的 {address} 已登记为 {chinese} 的地址，因此两人都不提供"),
            ],
        }
    }
}

/// That the person who has the identifier now is to be confirmed.
fn unconfirmed_words(typed: &str, language: Language) -> String {
    language.of([
        format!("the platform says that another person has the identifier now; to confirm: deskpass employee confirm {typed}"),
        format!("{{platform}}显示该账号已属于另一人；如需确认：deskpass employee confirm {typed}"),
    ])
}

/// Where a recorded address is from, in both languages.
fn source_words(source: EmailSource) -> [&'static str; 2] {
    match source {
        EmailSource::Platform => ["from the platform", "来自{platform}"],
        EmailSource::Operator => ["entered by an operator", "由运维人员录入"],
    }
}
