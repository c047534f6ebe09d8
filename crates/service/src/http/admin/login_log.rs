//! The login log: page by page, or as one file.

mod accept;
mod export;

use std::net::IpAddr;

use axum::response::IntoResponse as _;
use deskpass_auth::LogQuery;
use deskpass_core::{CorpId, EmployeeId, LoginMethod, Reference, Timestamp};
use deskpass_store::{AuditEvent, ListedPerson, LogRow};
use export::LogExport;
use hyper::header::{HeaderName, VARY};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

pub(crate) use accept::AcceptedFormat;

use super::{CursorPaging, bad_cursor};
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{FormattedText, FromFields, Query, Reader, TextFormat, is_hexadecimal};
use crate::http::response::{Reply, described_responses};
use crate::log_export::LogLine;

/// The query of the login log.
#[derive(Debug, FromFields)]
pub(crate) struct LogPageQuery {
    /// The corporation of the events; the caller's own unless given.
    #[field(name = "corp_id")]
    corp: Option<CorpId>,
    #[field(flatten)]
    wanted: LogQuery,
    #[field(flatten)]
    paging: CursorPaging,
}

/// The events that the query selects.
#[derive(FromFields)]
#[field(into = LogQuery)]
struct LogFilter {
    /// The employee whom the event is about.
    employee_id: Option<EmployeeId>,
    event: Option<AuditEvent>,
    /// Why the sign-in was refused.
    reason: Option<Reason>,
    method: Option<LoginMethod>,
    /// The address of the client.
    ip_address: Option<IpAddr>,
    /// The reference that a page showed with an error.
    reference: Option<Reference>,
    /// The earliest time, inclusive.
    from: Option<Timestamp>,
    /// The latest time, exclusive.
    to: Option<Timestamp>,
}

impl From<LogFilter> for LogQuery {
    fn from(LogFilter { employee_id, event, reason, method, ip_address, reference, from, to }: LogFilter) -> Self {
        let reason = reason.map(|Reason(word)| word);
        Self { employee: employee_id, event, reason, method, ip_address, reference, from, to }
    }
}

/// The reason of a refusal.
struct Reason(String);

impl FormattedText for Reason {
    const FORMAT: &'static TextFormat = &TextFormat {
        name: "reason",
        pattern: Some("^[a-z_]{1,40}$"),
        example: "disabled",
        rule: ["must be a word such as disabled", "必须是原因代码，例如 disabled"],
    };

    fn from_text(text: String) -> Option<Self> {
        let fits = (1..=40).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
        fits.then_some(Self(text))
    }
}

impl FormattedText for Reference {
    const FORMAT: &'static TextFormat = &TextFormat {
        name: "reference",
        pattern: Some("^[0-9A-Fa-f]{8}$"),
        example: "1a2b3c4d",
        rule: ["must be the eight characters of a reference, such as 1a2b3c4d", "必须是 8 位参考编号，例如 1a2b3c4d"],
    };

    fn from_text(text: String) -> Option<Self> {
        Self::parse(&text)
    }
}

/// A page of the log.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Log {
    #[serde(serialize_with = "as_lines")]
    #[schemars(with = "Vec<LogLine<'_>>")]
    items: Vec<LogRow>,
    /// The people that the items name and whom the caller may list, as they are called now.
    people: Vec<NamedPerson>,
    next: Option<String>,
}

/// A person with their name.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct NamedPerson {
    corp_id: String,
    employee_id: String,
    name: String,
}

impl From<ListedPerson> for NamedPerson {
    fn from(ListedPerson { person, .. }: ListedPerson) -> Self {
        // The entries name people by their key.
        Self { corp_id: person.key.corp().to_owned(), employee_id: person.key.id().to_owned(), name: person.name }
    }
}

fn as_lines<S: Serializer>(rows: &[LogRow], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(LogLine::of))
}

/// The response depends on the format that the client accepts.
const BY_FORMAT: [(HeaderName, &str); 1] = [(VARY, "accept")];

described_responses! {
    /// The log in the requested format.
    LogResponse: |spec| {
        Reply::<Log>::describe_output(spec);
        for kind in ["text/csv", "application/x-ndjson", "application/jsonl"] {
            spec.replies_plain(kind);
        }
    };
}

/// Lists the events of a corporation, newest first; as a file, all of them.
pub(crate) async fn list(
    app: App,
    reader: Reader,
    accepts: AcceptedFormat,
    Query(LogPageQuery { corp, wanted, paging }): Query<LogPageQuery>,
) -> Result<LogResponse, ApiError> {
    let scope = reader.access_scope(&app, corp.as_ref()).await?;
    let (limit, after) = (paging.limit(), paging.after);
    if !after.as_deref().is_none_or(is_hexadecimal) {
        return Err(bad_cursor());
    }
    if let AcceptedFormat::File(format, media_type) = accepts {
        let export = LogExport::begin(app, reader, scope, wanted, after, (format, media_type)).await?;
        return Ok(LogResponse((BY_FORMAT, export).into_response()));
    }
    let page = app.auth.log(&scope, &wanted, after, limit).await?;
    let people = app.auth.people_in_log(&scope, &page.rows).await?.into_iter().map(NamedPerson::from).collect();
    Ok(LogResponse((BY_FORMAT, Reply(Log { items: page.rows, people, next: page.next })).into_response()))
}
