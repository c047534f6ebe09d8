//! The login log: page by page, or as one file.

mod accept;
mod export;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use deskpass_auth::LogQuery;
use deskpass_core::{CorpId, EmployeeId, LoginMethod};
use deskpass_store::{AuditEvent, LogRow};
use export::LogExport;
use hyper::header::VARY;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

pub(crate) use accept::AcceptedFormat;

use super::{CursorPaging, bad_cursor};
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::authority::Reader;
use crate::http::request::fields::{Fields, FromFields, TextFormat};
use crate::http::request::query::Query;
use crate::http::response::describe::{DescribeOutput, OutputSpec};
use crate::http::response::envelope::Reply;
use crate::log_export::LogLine;

static REASON: TextFormat = TextFormat {
    name: "reason",
    pattern: Some("^[a-z_]{1,40}$"),
    example: "disabled",
    rule: ["must be a word such as disabled", "必须是原因代码，例如 disabled"],
};

/// The query of the login log.
#[derive(Debug)]
pub(crate) struct LogPageQuery {
    corp: Option<CorpId>,
    wanted: LogQuery,
    paging: CursorPaging,
}

impl FromFields for LogPageQuery {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let corp = fields.maybe_id("corp_id", CorpId::parse);
        let employee = fields.maybe_id("employee_id", EmployeeId::parse);
        let event = fields.maybe_choice("event", AuditEvent::NAMES);
        let reason = fields.maybe_formatted("reason", &REASON, reason);
        let method = fields.maybe_choice("method", LoginMethod::NAMES);
        let ip_address = fields.maybe_address("ip_address");
        let (from, to, paging) =
            (fields.maybe_timestamp("from"), fields.maybe_timestamp("to"), CursorPaging::from_fields(fields));
        let wanted = LogQuery {
            employee: employee?,
            event: event?.and_then(AuditEvent::from_name),
            reason: reason?,
            method: method?.and_then(LoginMethod::from_name),
            ip_address: ip_address?,
            from: from?,
            to: to?,
        };
        Some(Self { corp: corp?, wanted, paging: paging? })
    }
}

fn reason(text: &str) -> Option<String> {
    let fits = (1..=40).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
    fits.then(|| text.to_owned())
}

/// Whether a text is the id of a row, which is all that a cursor consists of.
fn is_row_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
}

/// A page of the log.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct Log {
    #[serde(serialize_with = "as_lines")]
    #[schemars(with = "Vec<LogLine<'_>>")]
    items: Vec<LogRow>,
    next: Option<String>,
}

fn as_lines<S: Serializer>(rows: &[LogRow], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(rows.iter().map(LogLine::of))
}

/// The log in the requested format.
#[derive(Debug)]
pub(crate) enum LogResponse {
    Page(Reply<Log>),
    File(Box<LogExport>),
}

impl DescribeOutput for LogResponse {
    fn describe_output(spec: &mut OutputSpec) {
        Reply::<Log>::describe_output(spec);
        spec.replies_plain("text/csv");
        spec.replies_plain("application/x-ndjson");
        spec.replies_plain("application/jsonl");
    }
}

impl IntoResponse for LogResponse {
    fn into_response(self) -> Response {
        let answer = match self {
            Self::Page(page) => page.into_response(),
            Self::File(export) => export.into_response(),
        };
        ([(VARY, "accept")], answer).into_response()
    }
}

/// Lists the events of a corporation, newest first; as a file, all of them.
pub(crate) async fn list(
    State(app): State<App>,
    reader: Reader,
    accepts: AcceptedFormat,
    Query(LogPageQuery { corp, wanted, paging: CursorPaging { after, limit } }): Query<LogPageQuery>,
) -> Result<LogResponse, ApiError> {
    let scope = reader.access_scope(&app, corp.as_ref()).await?;
    if !after.as_deref().is_none_or(is_row_id) {
        return Err(bad_cursor());
    }
    if let AcceptedFormat::File(format, media_type) = accepts {
        let export = LogExport::begin(app, reader, scope, wanted, after, (format, media_type)).await?;
        return Ok(LogResponse::File(Box::new(export)));
    }
    let page = app.auth.log(&scope, &wanted, after, limit).await?;
    Ok(LogResponse::Page(Reply(Log { items: page.rows, next: page.next })))
}
