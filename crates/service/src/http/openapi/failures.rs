//! The error responses of a route: those that follow from its row and its input, and those that the row names.

use std::collections::{BTreeMap, BTreeSet};

use deskpass_auth::ErrorCode;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::app::readiness::ReadinessReport;
use crate::http::admission;
use crate::http::handler::OperationSpec;
use crate::http::request::RequiredAccess;
use crate::http::route::{RateLimit, Route};

/// Codes by status.
type ErrorCodes = BTreeMap<u16, BTreeSet<u16>>;

/// The error responses of a route, by status.
pub(super) fn responses(route: &Route, spec: &OperationSpec) -> BTreeMap<u16, Value> {
    let mut failures = ErrorCodes::new();
    let mut may = |status, code| {
        failures.entry(status).or_default().insert(code);
    };
    may(500, 1005);
    may(503, 1005);
    if !admission::allows_untrusted_proxy(route.path) {
        may(403, 1003);
    }
    for code in by_authority(route.access) {
        may(usual_status(*code), *code);
    }
    if route.access.needs_token()
        || spec.input.accepts_token
        || route.has_side_effects
        || spec.input.body.is_some()
        || !(spec.input.query.is_empty() && spec.input.path.is_empty())
    {
        may(400, 1002);
    }
    if spec.input.body.is_some() {
        may(413, 1002);
        may(415, 1002);
    }
    if !spec.input.path.is_empty() {
        may(404, 1004);
    }
    if spec.output.switches {
        may(426, 1002);
        may(429, 1006);
    }
    if route.limit != RateLimit::Unlimited {
        may(429, 1006);
    }
    for code in route.refusals {
        match code {
            1005 => [502, 504].into_iter().for_each(|status| may(status, 1005)),
            code => may(usual_status(*code), *code),
        }
    }
    failures.into_iter().map(|(status, codes)| (status, response(status, &codes))).collect()
}

/// The error codes for callers who do not have the required access.
fn by_authority(access: RequiredAccess) -> &'static [u16] {
    match access {
        RequiredAccess::Anyone => &[],
        RequiredAccess::PartialOrFull | RequiredAccess::TokenHolder => &[1001],
        RequiredAccess::ActiveUser => &[1001, 1003, 1017],
        RequiredAccess::Reader | RequiredAccess::Admin => &[1001, 1003, 1006, 1017],
        RequiredAccess::Service(_) => &[1001, 1003],
        RequiredAccess::HighRisk => &[1001, 1003, 1006, 1007, 1008, 1009, 1013, 1017],
        RequiredAccess::Developer => &[1018],
        RequiredAccess::Operator => &[1003],
    }
}

fn usual_status(code: u16) -> u16 {
    ErrorCode::find(code).map_or(500, |code| code.status)
}

fn response(status: u16, codes: &BTreeSet<u16>) -> Value {
    let told = ErrorCode::ALL.iter().filter(|code| codes.contains(&code.number));
    let told: Vec<_> = told.map(|ErrorCode { number, meaning: [when, _], .. }| format!("{number}: {when}")).collect();
    let mut headers = Map::from_iter([header("X-Request-Id")]);
    match status {
        401 => headers.extend([header("WWW-Authenticate")]),
        429 => headers.extend([header("Retry-After")]),
        _ => {}
    }
    json!({
        "description": told.join(". "),
        "headers": headers,
        // One schema for all failures, so that a generated client has one type for them.
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Failure" } } },
        "x-codes": codes,
    })
}

/// A header of a response, by reference.
pub(super) fn header(name: &str) -> (String, Value) {
    (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }))
}

/// The meaning of each code, in English and Chinese.
pub(super) fn codes() -> Map<String, Value> {
    ErrorCode::ALL.iter().map(|code| (code.number.to_string(), json!(code.meaning))).collect()
}

/// The headers of responses, for the responses to refer to.
pub(super) fn headers() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "X-Request-Id": {
            "description": "The name of the request: the client's own, where it is 1 to 64 of A-Z a-z 0-9 . _ -",
            "required": true, "schema": text,
        },
        "WWW-Authenticate": { "description": "How to make oneself known", "required": true, "schema": text },
        "Retry-After": {
            "description": "Seconds after which it is worth trying again",
            "required": true, "schema": { "type": "integer", "minimum": 1 },
        },
        "Set-Cookie": { "description": "None of the cookies opens the API", "schema": text },
        "Location": { "description": "Where to go on", "required": true, "schema": { "type": "string", "format": "uri" } },
    })
}

/// An error response.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its form is wanted")]
pub(super) struct Failure {
    /// The error code, for programs.
    code: u16,
    /// The error message, for people, in English or Chinese as `Accept-Language` prefers.
    message: String,
    data: Option<Detail>,
    request_id: String,
}

/// Details of an error.
#[derive(JsonSchema)]
#[schemars(rename = "FailureDetail")]
#[serde(untagged)]
#[expect(dead_code, reason = "only its form is wanted")]
enum Detail {
    Reason(FailureReason),
    Fields(FailureFields),
    /// Why the service is not ready.
    NotReady(ReadinessReport),
}

/// The reason of an error, as one word.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its form is wanted")]
struct FailureReason {
    reason: String,
}

/// The error of each invalid field.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its form is wanted")]
struct FailureFields {
    fields: BTreeMap<String, String>,
}
