//! Explains why an employee can or cannot sign in.

use deskpass_auth::{Auth, explain_reason};
use deskpass_core::{EmployeeKey, Person, Role};
use deskpass_store::{AuditEvent, LogFilter, LogRow};

use super::super::agents::{password, since, state};
use super::super::table::{plain, table};
use super::super::text::describe_error;
use super::super::{CommandResult, EmployeeSelector};
use super::describe::{allowed_networks, effective_roles, employee_label, person_label};
use crate::timestamp::format_utc;

const MAX_ATTEMPTS_SHOWN: usize = 10;

/// The maximum number of log pages that are read to find them.
const MAX_LOG_PAGES: usize = 20;

pub(super) async fn explain(auth: &Auth, who: &EmployeeSelector) -> CommandResult {
    let about = who.key(auth)?;
    let person = auth.store.person(&about).await.map_err(describe_error)?;
    let sign_in_status = match &person {
        Some(person) => format!("{}\n\n{}", plain(&person_label(person)), sign_in_status(auth, who, person).await?),
        None => format!(
            "{}\n\nThere is no such employee. Employees are added at their first sign-in through the platform; to add \
             one now: deskpass employee add {}",
            employee_label(&about),
            who.typed()
        ),
    };
    let attempts = attempts(auth, &about).await?;
    if attempts.is_empty() {
        return Ok(format!(
            "{sign_in_status}\n\nThe audit log has no attempts by this employee: no request arrived, or the platform \
             did not identify the user. Run `deskpass doctor` to check the connection to the platform."
        ));
    }
    let message: Vec<_> = attempts.iter().map(|row| attempt(row, who)).collect();
    Ok(format!("{sign_in_status}\n\nLast attempts, newest first:\n\n{}", message.join("\n")))
}

/// The conditions that decide whether the person can sign in, and with which roles.
async fn sign_in_status(auth: &Auth, who: &EmployeeSelector, person: &Person) -> CommandResult {
    let now = auth.clock.now();
    let (held, message) = effective_roles(auth, person).await?;
    let agent = auth.store.listed_agent(person.key.clone(), now).await.map_err(describe_error)?;
    let sessions = auth.store.own_sessions(person.key.clone(), now).await.map_err(describe_error)?.len();
    let lists = &auth.store.access_rules().await.map_err(describe_error)?.lists;
    let employee = if person.disabled {
        format!("disabled; to enable: deskpass employee enable {}", who.typed())
    } else {
        "enabled".to_owned()
    };
    let mut rows = vec![["employee".to_owned(), employee], ["roles".to_owned(), message]];
    rows.push([
        "agent".to_owned(),
        agent.as_ref().map_or_else(
            || "no record".to_owned(),
            |agent| {
                let device = agent.agent.device.as_ref().map_or_else(|| "none".to_owned(), since);
                let role = agent.agent.role;
                format!("{role}, {}; password: {}; device: {device}", state(agent), password(&agent.agent, now))
            },
        ),
    ]);
    let limited = held.iter().filter(|role| !lists.list(*role).is_empty());
    let limited: Vec<_> = limited.map(|role| format!("{role} {}", allowed_networks(lists, role))).collect();
    let limited = if limited.is_empty() { "none for these roles".to_owned() } else { limited.join("; ") };
    rows.push(["allow-lists".to_owned(), limited]);
    rows.push(["sessions".to_owned(), sessions.to_string()]);
    Ok(table(&rows))
}

/// The employee's most recent attempts, newest first.
async fn attempts(auth: &Auth, about: &EmployeeKey) -> Result<Vec<LogRow>, String> {
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
            let page = auth.store.log_page(filter.clone(), before, 10).await.map_err(describe_error)?;
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

/// Describes an attempt, and how to fix a failed one.
fn attempt(row: &LogRow, who: &EmployeeSelector) -> String {
    let way = if row.method.is_empty() { String::new() } else { format!(" by {}", row.method) };
    let place = format!("{}{way} from {}", format_utc(row.at), row.address());
    let Some(word) = &row.reason else {
        let role = row.role.map_or_else(String::new, |role: Role| format!(" as {role}"));
        return plain(&format!("{place}: signed in{role}"));
    };
    let detail = if row.detail.is_empty() { String::new() } else { format!(" ({})", row.detail) };
    let head = plain(&format!("{place}: refused, {word}{detail}"));
    match explain_reason(word) {
        Some(explanation) => {
            let [what, next] = explanation.map(|text| text.replace("EMPLOYEE", &who.typed()));
            format!("{head}\n    {what}\n    {next}")
        }
        None => format!("{head}\n    This reason is of a later version of deskpass; use that version to explain it."),
    }
}
