//! Tells the story of the request with a reference: what was attempted, by whom, what the person saw, and what to do now.

use deskpass_auth::{Refusal, logged_refusal};
use deskpass_core::{EmployeeKey, Person, Reference, Role};
use deskpass_store::{AuditEvent, LogFilter, LogRow, StoreError};
use jiff::tz::TimeZone;

use super::super::CommandResult;
use super::super::table::plain;
use super::absent;
use super::advice;
use super::describe::failure;
use super::known::Known;
use super::refused_client::{admitted_role, name_client};
use super::request_rows::rows_of;
use super::request_words::{attempt, page_title};
use super::story::{Answer, Story, StoryEvent, Who};
use crate::App;
use crate::config::Language;
use crate::http::{device_names, refusal_word};
use crate::timestamp::{Rfc3339, local_time};

/// The maximum number of later events in the output.
const MAX_LATER_EVENTS: usize = 5;

pub(super) async fn explain(app: &App, reference: &str, json: bool, language: Language) -> CommandResult {
    let Some(reference) = Reference::parse(reference) else {
        return Err(language
            .of(["a reference has eight digits, 0-9 and a-f", "参考编号为八位，由 0-9 和 a-f 组成"])
            .to_owned());
    };
    let rows = rows_of(app, &[reference], language).await?;
    if rows.is_empty() {
        return absent::explain(app, reference, json, language).await;
    }
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        events.push(event(app, row, language).await?);
    }
    let story = Story { reference: reference.to_string(), found: true, events };
    if json { story.json() } else { Ok(story.text(language)) }
}

/// What came after a row about the same employee.
#[derive(Default)]
struct Later {
    lines: Vec<String>,
    signed_in: bool,
}

async fn event(app: &App, row: &LogRow, language: Language) -> Result<StoryEvent, String> {
    let (auth, zone) = (&app.auth, app.settings.notices.zone());
    let about = Some(&row.about).filter(|about| !about.id().is_empty());
    let (known, later) = match about {
        Some(about) => (Known::read(auth, about, language).await?, later(app, row, &zone, language).await?),
        None => (None, Later::default()),
    };
    let typed = about.map_or_else(|| "EMPLOYEE".to_owned(), |about| typed(app, about, known.as_ref()));
    let role = refused_role(row).or(admitted_role(auth, row, language).await?);
    let refusal = row.reason.as_deref().and_then(|reason| logged_refusal(reason, role));
    let situation = known.as_ref().map(|known| known.situation(row.address(), role, later.signed_in));
    let explained = row.reason.as_deref().map(|reason| {
        advice::explain(reason, &situation.unwrap_or_default(), &typed, language).unwrap_or_else(|| {
            let later = ["This reason is of another version of deskpass.", "该原因来自其他版本的 deskpass。"];
            [language.of(later).to_owned(), String::new()]
        })
    });
    let [what, next] = explained.unwrap_or_default();
    let kind = AuditEvent::from_name(&row.event);
    let event = kind.map_or_else(|| row.event.clone(), |kind| language.of(kind.label()).to_owned());
    let now = known.as_ref().filter(|_| row.reason.is_some());
    Ok(StoryEvent {
        at: Rfc3339(row.at),
        local_time: local_time(&zone, row.at),
        event: row.event.clone(),
        attempted: attempt(kind, &row.method, &row.source, language).map_or_else(
            || event.clone(),
            |attempted| language.of([format!("{event}: {attempted}"), format!("{event}：{attempted}")]),
        ),
        employee: about.map(|about| who(about, known.as_ref().map(|known| &known.person))),
        exists: known.is_some(),
        actor: row.actor.as_ref().map(|actor| who(actor, None)),
        address: row.address().to_owned(),
        client: plain(&language.of(device_names(&row.user_agent))),
        reason: row.reason.clone(),
        detail: plain(&row.detail),
        page: refusal.as_ref().and_then(|refusal| page(row, refusal, language)),
        answer: refusal.as_ref().map(|refusal| answer(refusal, language)),
        what,
        state: now.map(|now| now.rows(None, &typed, auth.clock.now(), &zone, language)).unwrap_or_default(),
        since: later.lines,
        next: name_client(next, row),
        verified: row.verified.unwrap_or(false),
    })
}

/// The role that the row says was refused.
fn refused_role(row: &LogRow) -> Option<Role> {
    let name = row.detail.strip_prefix("role ")?;
    Role::from_name(name.split(';').next()?.trim())
}

fn who(key: &EmployeeKey, person: Option<&Person>) -> Who {
    Who {
        corp_id: key.corp().to_owned(),
        employee_id: plain(person.map_or(key.id(), |person| &*person.employee_id)),
        name: person.map(|person| plain(&person.name)),
    }
}

/// The employee as typed on the command line.
fn typed(app: &App, about: &EmployeeKey, known: Option<&Known>) -> String {
    let id = plain(known.map_or(about.id(), |known| &*known.person.employee_id));
    if about.corp() == app.auth.policy.home_corp.as_str() { id } else { format!("{id} --corp {}", about.corp()) }
}

/// The title of the page that showed the refusal, if it is a sign-in through the platform.
fn page(row: &LogRow, refusal: &Refusal, language: Language) -> Option<String> {
    let through_platform = row.event == AuditEvent::SignInRefused.name()
        && ["qrcode", "oauth2"].contains(&&*row.method)
        // The user's own press.
        && *refusal != Refusal::Cancelled;
    through_platform.then(|| language.of(page_title(refusal_word(refusal))).to_owned())
}

/// The answer that a program gets.
fn answer(refusal: &Refusal, language: Language) -> Answer {
    let info = refusal.info();
    let message = match refusal {
        // The log does not say for how long.
        Refusal::TooManyFailures(_) => language
            .of(["too many wrong attempts; try again in some minutes", "错误次数过多，请在几分钟后重试"])
            .to_owned(),
        _ => language.of(info.texts).into_owned(),
    };
    Answer { code: info.code.number, reason: info.reason, message }
}

/// The events about the same employee after a row: changes and sign-ins, newest first.
async fn later(app: &App, row: &LogRow, zone: &TimeZone, language: Language) -> Result<Later, String> {
    let failed = |error: StoreError| failure(error, language);
    let since = LogFilter {
        corp: row.about.corp().to_owned(),
        employee: Some(row.about.id().to_owned()),
        from: Some(row.at),
        ..LogFilter::default()
    };
    let sign_ins = LogFilter { event: Some(AuditEvent::SignIn), ..since.clone() };
    let is_later = |other: &LogRow| other.id > row.id && other.reference != row.reference;
    let page = app.auth.store.log_page(sign_ins, None, 10).await.map_err(failed)?;
    let signed_in = page.rows.iter().any(is_later);
    let page = app.auth.store.log_page(since, None, 200).await.map_err(failed)?;
    let rows = page.rows.iter().filter(|other| is_later(other) && other.reason.is_none());
    let lines = rows.take(MAX_LATER_EVENTS).map(|row| later_line(row, zone, language)).collect();
    Ok(Later { lines, signed_in })
}

fn later_line(row: &LogRow, zone: &TimeZone, language: Language) -> String {
    let kind = AuditEvent::from_name(&row.event);
    let event = kind.map_or(&*row.event, |kind| language.of(kind.label()));
    let actor = row.actor.as_ref().map_or_else(String::new, |actor| {
        let id = actor.id();
        language.of([format!(" by {id}"), format!("，操作人 {id}")])
    });
    let detail = if row.detail.is_empty() { String::new() } else { format!(" ({})", row.detail) };
    plain(&format!("{} {event}{actor}{detail}", local_time(zone, row.at)))
}
