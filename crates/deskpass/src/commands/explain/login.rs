//! Explains why an employee can or cannot sign in.

use deskpass_auth::Auth;
use deskpass_core::{AllowLists, EmployeeKey, Person, Role, Roles};
use deskpass_store::{AuditEvent, ListedAgent, LogFilter, LogRow, StoreError};

use super::super::table::{plain, table};
use super::super::{CommandResult, EmployeeSelector};
use super::advice::{self, AgentSituation, Situation};
use super::describe::{agent_record, allowed_networks, effective_roles, employee_label, failure, person_label};
use crate::config::Language;
use crate::timestamp::format_utc;

/// The maximum number of attempts in the output.
const MAX_ATTEMPTS_SHOWN: usize = 10;

/// The maximum number of log pages that are read to find them.
const MAX_LOG_PAGES: usize = 20;

/// The reason of a refusal because the platform says that the person left.
const LEFT_PLATFORM: &str = "left_platform";

/// What is known of an employee, and the language to say it in.
struct Explanation<'a> {
    auth: &'a Auth,
    who: &'a EmployeeSelector,
    language: Language,
    person: Option<Known>,
}

/// An employee who exists.
struct Known {
    person: Person,
    roles: Roles,
    why_roles: String,
    agent: Option<ListedAgent>,
    lists: AllowLists,
    sessions: usize,
}

pub(super) async fn explain(auth: &Auth, who: &EmployeeSelector, language: Language) -> CommandResult {
    let about = who.key(auth)?;
    let explanation = Explanation { auth, who, language, person: Known::read(auth, &about, language).await? };
    let attempts = attempts(auth, &about, language).await?;
    let status = explanation.status(&about, &attempts);
    if attempts.is_empty() {
        let none = language.of([
            "The audit log has no attempts by this employee: no request arrived, or the platform did not identify the \
             user. Run `deskpass doctor` to check the connection to the platform.",
            "审计日志中没有该员工的登录记录：请求没有到达，或企业微信未能识别该用户。请运行 `deskpass doctor` 检查与企业微信的连接。",
        ]);
        return Ok(format!("{status}\n\n{none}"));
    }
    let heading = language.of(["Last attempts, newest first:", "最近的登录尝试（最新在前）："]);
    let sign_in = attempts.iter().position(|row| row.reason.is_none()).unwrap_or(attempts.len());
    let lines: Vec<_> = attempts.iter().enumerate().map(|(at, row)| explanation.attempt(row, sign_in < at)).collect();
    Ok(format!("{status}\n\n{heading}\n\n{}", lines.join("\n")))
}

impl Known {
    async fn read(auth: &Auth, about: &EmployeeKey, language: Language) -> Result<Option<Self>, String> {
        let failed = |error: StoreError| failure(error, language);
        let Some(person) = auth.store.person(about).await.map_err(failed)? else { return Ok(None) };
        let person = Person::clone(&person);
        let now = auth.clock.now();
        let (roles, why_roles) = effective_roles(auth, &person, language).await?;
        let agent = auth.store.listed_agent(about.clone(), now).await.map_err(failed)?;
        let sessions = auth.store.own_sessions(about.clone(), now).await.map_err(failed)?.len();
        let lists = auth.store.access_rules().await.map_err(failed)?.lists.clone();
        Ok(Some(Self { person, roles, why_roles, agent, lists, sessions }))
    }

    /// The situation of an attempt from this address, by now.
    fn situation(&self, address: &str, signed_in_since: bool) -> Situation {
        let record = self.agent.as_ref().filter(|listed| !listed.agent.device_only);
        let agent = record.map(|listed| AgentSituation {
            disabled: listed.agent.disabled,
            shut: listed.locked || listed.shut_until.is_some(),
            has_password: listed.agent.password.is_some(),
        });
        let address_allowed =
            address.parse().is_ok_and(|address| !self.lists.permitted(self.roles, address).is_empty());
        let disabled = self.person.disabled;
        Situation { exists: true, disabled, roles: self.roles, agent, address_allowed, signed_in_since }
    }
}

impl Explanation<'_> {
    /// The conditions that decide whether the person can sign in, and with which roles.
    fn status(&self, about: &EmployeeKey, attempts: &[LogRow]) -> String {
        let language = self.language;
        let left = left_at(attempts, language);
        let Some(known) = &self.person else {
            let typed = self.who.typed();
            let absent = language.of(["There is no such employee. ", "没有该员工。"]);
            // Somebody who left is not to be added.
            let next = left.unwrap_or_else(|| {
                language.of([
                    format!(
                        "Employees are added at their first sign-in through the platform; to add one now: deskpass \
                         employee add {typed}"
                    ),
                    format!("员工首次通过企业微信登录时会自动添加；如需现在添加：deskpass employee add {typed}"),
                ])
            });
            return format!("{}\n\n{absent}{next}", employee_label(about, language));
        };
        let rows = self.rows(known, left);
        format!("{}\n\n{}", plain(&person_label(&known.person, language)), table(&rows))
    }

    fn rows(&self, known: &Known, left: Option<String>) -> Vec<[String; 2]> {
        let (language, lists) = (self.language, &known.lists);
        let label = |english: &str, chinese: &str| language.of([english, chinese]).to_owned();
        let typed = self.who.typed();
        let state = if known.person.disabled {
            language.of([
                format!("disabled here; to enable: deskpass employee enable {typed}"),
                format!("已在本系统停用；如需启用：deskpass employee enable {typed}"),
            ])
        } else {
            label("enabled", "已启用")
        };
        let agent = known
            .agent
            .as_ref()
            .map_or_else(|| label("no record", "无记录"), |agent| agent_record(agent, self.auth.clock.now(), language));
        let limited = known.roles.iter().filter(|role| !lists.list(*role).is_empty());
        let limited: Vec<_> =
            limited.map(|role| format!("{role} {}", allowed_networks(lists, role, language))).collect();
        let limited = if limited.is_empty() {
            label("none for these roles", "这些角色没有白名单")
        } else {
            limited.join("; ")
        };
        let mut rows = vec![[label("employee", "员工"), state]];
        rows.extend(left.map(|left| [label("platform", "企业微信"), left]));
        rows.push([label("roles", "角色"), known.why_roles.clone()]);
        rows.push([label("agent", "坐席"), agent]);
        rows.push([label("allow-lists", "白名单"), limited]);
        rows.push([label("sessions", "会话数"), known.sessions.to_string()]);
        rows
    }

    /// Describes an attempt, and how to fix a failed one.
    fn attempt(&self, row: &LogRow, signed_in_since: bool) -> String {
        let language = self.language;
        let (at, from, method) = (format_utc(row.at), row.address(), row.method.as_str());
        let [by, method] = if method.is_empty() { [""; 2] } else { [" by ", method] };
        let place = language
            .of([format!("{at}{by}{method} from {from}"), format!("{at} {method} 来自 {from}").replace("  ", " ")]);
        let Some(word) = &row.reason else {
            let role = row.role.map_or("", Role::name);
            return plain(
                &language.of([format!("{place}: signed in as {role}"), format!("{place}：已登录，角色 {role}")]),
            );
        };
        let detail = if row.detail.is_empty() { String::new() } else { format!(" ({})", row.detail) };
        let reference = row.reference.as_ref().map_or_else(String::new, |reference| format!(" (ref {reference})"));
        let head = plain(&language.of([
            format!("{place}: refused, {word}{detail}{reference}"),
            format!("{place}：被拒绝，{word}{detail}{reference}"),
        ]));
        let situation = self.person.as_ref().map(|known| known.situation(from, signed_in_since)).unwrap_or_default();
        let [what, next] = advice::explain(word, &situation, &self.who.typed(), language).unwrap_or_else(|| {
            let later = language.of([
                "This reason is of a later version of deskpass; use that version to explain it.",
                "该原因来自更高版本的 deskpass，请用该版本解释。",
            ]);
            [later.to_owned(), String::new()]
        });
        format!("{head}\n    {what}\n    {next}").trim_end().to_owned()
    }
}

/// What the platform says of a person whose newest attempt was refused because they left.
fn left_at(attempts: &[LogRow], language: Language) -> Option<String> {
    let newest = attempts.first().filter(|row| row.reason.as_deref() == Some(LEFT_PLATFORM))?;
    let at = format_utc(newest.at);
    Some(language.of([
        format!("The platform said at {at} that they have left or are disabled there."),
        format!("企业微信于 {at} 显示该成员已离职或已被禁用。"),
    ]))
}

/// The employee's most recent attempts, newest first.
async fn attempts(auth: &Auth, about: &EmployeeKey, language: Language) -> Result<Vec<LogRow>, String> {
    let mut rows = Vec::new();
    for event in [AuditEvent::SignIn, AuditEvent::SignInRefused] {
        let filter = LogFilter {
            corp: about.corp().to_owned(),
            employee: Some(about.id().to_owned()),
            event: Some(event),
            ..LogFilter::default()
        };
        let (mut before, mut found) = (None, Vec::new());
        for _ in 0..MAX_LOG_PAGES {
            let page = auth.store.log_page(filter.clone(), before, 10).await;
            let page = page.map_err(|error| failure(error, language))?;
            found.extend(page.rows);
            before = page.next;
            if found.len() >= MAX_ATTEMPTS_SHOWN || before.is_none() {
                break;
            }
        }
        rows.extend(found);
    }
    rows.sort_by(|one, other| other.id.cmp(&one.id));
    rows.truncate(MAX_ATTEMPTS_SHOWN);
    Ok(rows)
}
