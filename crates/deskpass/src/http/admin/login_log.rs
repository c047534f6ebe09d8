//! What happened: a page at a time, or all of it as a file.

mod accept;
mod export;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use deskpass_auth::LogWanted;
use deskpass_core::{CorpId, EmployeeId, LoginMethod};
use deskpass_store::{Event, LogRow};
use hyper::header::VARY;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Onward, bad_cursor};
use crate::Desk;
use crate::http::authority::Reader;
use crate::http::envelope::Reply;
use crate::http::failure::Failure;
use crate::http::fields::{Ask, Fields, Form};
use crate::http::openapi::{Answers, Sheet};
use crate::http::query::Query;
use crate::log_export::Line;
pub(in crate::http) use accept::Accepts;
use export::Export;

static REASON: Form = Form {
    name: "reason",
    pattern: Some("^[a-z_]{1,40}$"),
    example: "disabled",
    rule: ["must be a word such as disabled", "必须是原因代码，例如 disabled"],
};

/// Which rows somebody wants to see.
#[derive(Debug)]
pub(in crate::http) struct LogAsked {
    corp: Option<CorpId>,
    wanted: LogWanted,
    onward: Onward,
}

impl Ask for LogAsked {
    fn read(fields: &mut Fields) -> Option<Self> {
        let corp = fields.maybe_id("corp_id", CorpId::parse);
        let employee = fields.maybe_id("employee_id", EmployeeId::parse);
        let event = fields.maybe_word("event", Event::WORDS);
        let reason = fields.maybe_form("reason", &REASON, reason);
        let method = fields.maybe_word("method", LoginMethod::NAMES);
        let ip_address = fields.maybe_address("ip_address");
        let (from, to, onward) = (fields.maybe_moment("from"), fields.maybe_moment("to"), Onward::read(fields));
        let wanted = LogWanted {
            employee: employee?,
            event: event?.and_then(Event::from_name),
            reason: reason?,
            method: method?.and_then(LoginMethod::from_name),
            ip_address: ip_address?,
            from: from?,
            to: to?,
        };
        Some(Self { corp: corp?, wanted, onward: onward? })
    }
}

fn reason(text: &str) -> Option<String> {
    let fits = (1..=40).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    fits.then(|| text.to_owned())
}

/// A row's identifier, which is all that a place in the log takes.
fn is_place(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
}

/// A page of the log.
#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::http) struct Log {
    #[serde(serialize_with = "as_lines")]
    #[schemars(with = "Vec<Line<'_>>")]
    items: Vec<LogRow>,
    next: Option<String>,
}

fn as_lines<S: Serializer>(rows: &[LogRow], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(Line::of))
}

/// The log, in the form that was asked for.
#[derive(Debug)]
pub(in crate::http) enum LogAnswer {
    Page(Reply<Log>),
    File(Box<Export>),
}

impl Answers for LogAnswer {
    fn answers(sheet: &mut Sheet) {
        Reply::<Log>::answers(sheet);
        sheet.answers_plainly("text/csv");
        sheet.answers_plainly("application/x-ndjson");
        sheet.answers_plainly("application/jsonl");
    }
}

impl IntoResponse for LogAnswer {
    fn into_response(self) -> Response {
        let answer = match self {
            Self::Page(page) => page.into_response(),
            Self::File(export) => export.into_response(),
        };
        ([(VARY, "accept")], answer).into_response()
    }
}

/// Lists what happened in a corporation, the newest first; as a file, all of it.
pub(in crate::http) async fn list(
    State(desk): State<Desk>,
    reader: Reader,
    accepts: Accepts,
    Query(LogAsked { corp, wanted, onward: Onward { after, limit } }): Query<LogAsked>,
) -> Result<LogAnswer, Failure> {
    let reach = reader.reach(&desk, corp.as_ref()).await?;
    if !after.as_deref().is_none_or(is_place) {
        return Err(bad_cursor());
    }
    if let Accepts::File(format, media_type) = accepts {
        let export = Export::begin(desk, reader, reach, wanted, after, (format, media_type)).await?;
        return Ok(LogAnswer::File(Box::new(export)));
    }
    let page = desk.auth.log(&reach, &wanted, after, limit).await?;
    Ok(LogAnswer::Page(Reply(Log { items: page.rows, next: page.next })))
}
