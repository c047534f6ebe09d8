//! Explains why an employee can or cannot sign in.

use deskpass_auth::Auth;
use deskpass_core::{EmployeeKey, Role};
use deskpass_store::{AuditEvent, LogFilter, LogRow};
use jiff::tz::TimeZone;

use super::super::table::{plain, table};
use super::super::{CommandResult, EmployeeSelector};
use super::advice;
use super::describe::{employee_label, failure, person_label};
use super::known::Known;
use super::refused_client::{admitted_role, name_client};
use crate::App;
use crate::config::Language;
use crate::timestamp::local_time;

/// The maximum number of attempts in the output.
const MAX_ATTEMPTS_SHOWN: usize = 10;

/// The maximum number of log pages that are read to find them.
const MAX_LOG_PAGES: usize = 20;

/// The reason of a refusal because the platform says that the person left.
const LEFT_PLATFORM: &str = "left_platform";

/// What is known of an employee, and the language and the time zone to say it in.
struct Explanation<'a> {
    auth: &'a Auth,
    who: &'a EmployeeSelector,
    language: Language,
    zone: TimeZone,
    person: Option<Known>,
}

pub(super) async fn explain(app: &App, who: &EmployeeSelector, language: Language) -> CommandResult {
    let (auth, zone) = (&app.auth, app.settings.notices.zone());
    let about = who.key(auth)?;
    let explanation = Explanation { auth, who, language, zone, person: Known::read(auth, &about, language).await? };
    let attempts = attempts(auth, &about, language).await?;
    let left = match &explanation.person {
        Some(known) if known.person.left.is_some() => last_leaving(auth, &about, language).await?,
        _ => None,
    };
    let status = explanation.status(&about, left.as_ref().or(left_attempt(&attempts)));
    if attempts.is_empty() {
        let none = language.of([
            "The audit log has no attempts by this employee: no request arrived, or the platform did not identify the \
             user. Run `deskpass doctor` to check the connection to the platform.",
            "审计日志中没有该员工的登录记录：请求没有到达，或{platform}未能识别该用户。请运行 `deskpass doctor` 检查与{platform}的连接。",
        ]);
        return Ok(format!("{status}\n\n{none}"));
    }
    let heading = language.of(["Last attempts, newest first:", "最近的登录尝试（最新在前）："]);
    let sign_in = attempts.iter().position(|row| row.reason.is_none()).unwrap_or(attempts.len());
    let mut lines = Vec::with_capacity(attempts.len());
    for (at, row) in attempts.iter().enumerate() {
        let role = admitted_role(auth, row, language).await?;
        lines.push(explanation.attempt(row, role, sign_in < at));
    }
    Ok(format!("{status}\n\n{heading}\n\n{}", lines.join("\n")))
}

impl Explanation<'_> {
    /// The conditions that decide whether the person can sign in, and with which roles.
    /// `left` is the row that says that they left, if that is what the platform said last.
    fn status(&self, about: &EmployeeKey, left: Option<&LogRow>) -> String {
        let language = self.language;
        let (left, typed) = (left.map(|row| left_at(row, &self.zone, language)), self.who.typed());
        let Some(known) = &self.person else {
            let absent = language.of(["There is no such employee. ", "没有该员工。"]);
            // Somebody who left is not to be added.
            let next = left.unwrap_or_else(|| {
                language.of([
                    format!(
                        "Employees are added at their first sign-in through the platform; to add one now: deskpass \
                         employee add {typed}"
                    ),
                    format!("员工首次通过{{platform}}登录时会自动添加；如需现在添加：deskpass employee add {typed}"),
                ])
            });
            return format!("{}\n\n{absent}{next}", employee_label(about, language));
        };
        let rows = known.rows(left, &typed, self.auth.clock.now(), &self.zone, language);
        format!("{}\n\n{}", plain(&person_label(&known.person, language)), table(&rows))
    }

    /// Describes an attempt, and how to fix a failed one; `role` is one that would have been admitted.
    fn attempt(&self, row: &LogRow, role: Option<Role>, signed_in_since: bool) -> String {
        let language = self.language;
        let (at, from, method) = (local_time(&self.zone, row.at), row.address(), row.method.as_str());
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
        let situation =
            self.person.as_ref().map(|known| known.situation(from, role, signed_in_since)).unwrap_or_default();
        let [what, next] = advice::explain(word, &situation, &self.who.typed(), language).unwrap_or_else(|| {
            let later = language.of([
                "This reason is of a later version of deskpass; use that version to explain it.",
                "该原因来自更高版本的 deskpass，请用该版本解释。",
            ]);
            [later.to_owned(), String::new()]
        });
        format!("{head}\n    {what}\n    {}", name_client(next, row)).trim_end().to_owned()
    }
}

/// The newest attempt, if it was refused because the person left.
fn left_attempt(attempts: &[LogRow]) -> Option<&LogRow> {
    attempts.first().filter(|row| row.reason.as_deref() == Some(LEFT_PLATFORM))
}

/// The newest row that says that the person was locked out because of the platform.
async fn last_leaving(auth: &Auth, about: &EmployeeKey, language: Language) -> Result<Option<LogRow>, String> {
    let filter = LogFilter {
        corp: about.corp().to_owned(),
        employee: Some(about.id().to_owned()),
        event: Some(AuditEvent::EmployeeLeft),
        ..LogFilter::default()
    };
    let page = auth.store.log_page(filter, None, 1).await.map_err(|error| failure(error, language))?;
    Ok(page.rows.into_iter().next())
}

/// What the platform said of a person who left, and when.
fn left_at(row: &LogRow, zone: &TimeZone, language: Language) -> String {
    let at = local_time(zone, row.at);
    language.of([
        format!("The platform said at {at} that they have left or are disabled there."),
        format!("{{platform}}于 {at} 显示该成员已离职或已被禁用。"),
    ])
}

/// The employee's most recent attempts, newest first.
async fn attempts(auth: &Auth, about: &EmployeeKey, language: Language) -> Result<Vec<LogRow>, String> {
    let mut rows = Vec::new();
    for event in [AuditEvent::SignIn, AuditEvent::SignInRefused, AuditEvent::OidcRefused] {
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
            // A row about a program that has no reason is about its credentials, not about this employee.
            found.extend(page.rows.into_iter().filter(|row| event == AuditEvent::SignIn || row.reason.is_some()));
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
