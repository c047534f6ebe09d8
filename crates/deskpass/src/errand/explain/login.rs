//! Why somebody can or cannot sign in.

use deskpass_auth::{Auth, Reason};
use deskpass_core::{EmployeeKey, Person, Role};
use deskpass_store::{Event, LogFilter, LogRow};

use super::super::agents::{password, since, state};
use super::super::table::{plain, table};
use super::super::text::{second, trouble};
use super::super::{Told, Who};
use super::describe::{called, from_where, key, roles};
use super::reason;

/// How many attempts are told.
const TOLD: usize = 10;

/// How often the log is asked on for more of them.
const PATIENCE: usize = 20;

pub(super) async fn explain(auth: &Auth, who: &Who) -> Told {
    let about = who.key(auth)?;
    let person = auth.store.person(&about).await.map_err(|error| trouble(&error.into()))?;
    let standing = match &person {
        Some(person) => format!("{}\n\n{}", plain(&called(person)), standing(auth, who, person).await?),
        None => format!(
            "{}\n\nNobody here is called that. Whoever the platform names is added at their first sign-in; \
             `deskpass employee add {}` adds them by hand.",
            key(&about),
            who.typed()
        ),
    };
    let attempts = attempts(auth, &about).await?;
    if attempts.is_empty() {
        return Ok(format!(
            "{standing}\n\nThe log has no attempt of theirs: they did not get here, or the platform did not say who they were. \
             `deskpass doctor` looks at what stands in between."
        ));
    }
    let told: Vec<_> = attempts.iter().map(|row| attempt(row, who)).collect();
    Ok(format!("{standing}\n\nLast attempts, the newest first:\n\n{}", told.join("\n")))
}

/// What decides whether they get in, and as what.
async fn standing(auth: &Auth, who: &Who, person: &Person) -> Told {
    let failed = |error: deskpass_store::StoreError| trouble(&error.into());
    let now = auth.clock.now();
    let (held, told) = roles(auth, person).await?;
    let agent = auth.store.listed_agent(person.key.clone(), now).await.map_err(failed)?;
    let sessions = auth.store.own_sessions(person.key.clone(), now).await.map_err(failed)?.len();
    let lists = &auth.store.rulebook().await.map_err(failed)?.lists;
    let employee = if person.disabled {
        format!("disabled; `deskpass employee enable {}` lets them in again", who.typed())
    } else {
        "enabled".to_owned()
    };
    let mut rows = vec![["employee".to_owned(), employee], ["roles".to_owned(), told]];
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
    let limited: Vec<_> = limited.map(|role| format!("{role} {}", from_where(lists, role))).collect();
    let limited = if limited.is_empty() { "no list for any of their roles".to_owned() } else { limited.join("; ") };
    rows.push(["allow-lists".to_owned(), limited]);
    rows.push(["sessions".to_owned(), sessions.to_string()]);
    Ok(table(&rows))
}

/// The last of their attempts, the newest first.
async fn attempts(auth: &Auth, about: &EmployeeKey) -> Result<Vec<LogRow>, String> {
    let mut rows = Vec::new();
    for event in [Event::SignIn, Event::SignInRefused] {
        let filter = LogFilter {
            corp: about.corp().to_owned(),
            employee: Some(about.id().to_owned()),
            event: Some(event),
            ..LogFilter::default()
        };
        let (mut before, mut found) = (None, Vec::new());
        for _ in 0..PATIENCE {
            let page = auth.store.log_page(filter.clone(), before, 10).await.map_err(|error| trouble(&error.into()))?;
            found.extend(page.rows);
            before = page.next;
            if found.len() >= TOLD || before.is_none() {
                break;
            }
        }
        rows.extend(found);
    }
    rows.sort_by(|one, other| other.id.cmp(&one.id));
    rows.truncate(TOLD);
    Ok(rows)
}

/// What happened, in words, and what to do about it.
fn attempt(row: &LogRow, who: &Who) -> String {
    let way = if row.method.is_empty() { String::new() } else { format!(" by {}", row.method) };
    let place = format!("{}{way} from {}", second(row.at), row.address());
    let Some(word) = &row.reason else {
        let role = row.role.map_or_else(String::new, |role: Role| format!(" as {role}"));
        return plain(&format!("{place}: signed in{role}"));
    };
    let detail = if row.detail.is_empty() { String::new() } else { format!(" ({})", row.detail) };
    let head = plain(&format!("{place}: refused, {word}{detail}"));
    match Reason::from_word(word) {
        Some(reason) => {
            let [what, next] = reason::told(reason).map(|text| text.replace("EMPLOYEE", &who.typed()));
            format!("{head}\n    {what}\n    {next}")
        }
        None => format!("{head}\n    A word of a later version; that one explains it."),
    }
}
