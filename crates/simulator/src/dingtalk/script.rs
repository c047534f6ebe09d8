//! The script for pages inside the platform's client, and the codes that it obtains.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ORIGIN, VARY};
use http::{HeaderValue, Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::address_book::Person;
use crate::authorize::Choice;
use crate::codes::{CodeGrant, CodeKind};
use crate::directory::PersonKind;
use crate::query::QueryParams;
use crate::reply;
use crate::state::SimulatorInner;

const SOURCE: &str = include_str!("open.js");
const JAVASCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");
const CODE_LIFETIME: Duration = Duration::from_mins(5);

/// The script, with the people among whom a visitor can choose.
pub(super) fn source(inner: &SimulatorInner) -> Response<Bytes> {
    let people: Vec<_> =
        inner.state().book.listed().iter().map(|who| json!({ "id": who.id, "name": who.name })).collect();
    reply::respond(StatusCode::OK, JAVASCRIPT, SOURCE.replace("/* PEOPLE */ []", &json!(people).to_string()))
}

/// A code for the chosen user.
pub(super) fn code(inner: &SimulatorInner, request: &Request<Bytes>) -> Response<Bytes> {
    let query = QueryParams::from_uri(request.uri());
    let (status, body) = match issue(inner, &query) {
        Ok(code) => (StatusCode::OK, json!({ "code": code })),
        Err(message) => (StatusCode::FORBIDDEN, json!({ "errorCode": 3, "errorMessage": message })),
    };
    let mut response = reply::json(status, &body);
    allow_origin(inner, request, &mut response);
    response
}

fn issue(inner: &SimulatorInner, query: &QueryParams) -> Result<Value, &'static str> {
    let config = &inner.config;
    if query.non_empty("corpId") != Some(config.corp_id.as_str()) {
        return Err("corpId is not this corporation");
    }
    // The older call names no app.
    if query.non_empty("clientId").is_some_and(|client_id| client_id != config.client_id) {
        return Err("clientId is not this app");
    }
    let choice = Choice::of(query, &inner.state().book);
    let who = match choice {
        Choice::Person(who) => who,
        Choice::Refused => return Err("the user refused"),
        Choice::Open | Choice::Unknown => return Err("there is no such person"),
    };
    // The client opens the app only for people in its range.
    if who.kind != PersonKind::Member {
        return Err("the user may not use this app");
    }
    issue_code(inner, who).map(Value::from).ok_or("the system is busy")
}

fn issue_code(inner: &SimulatorInner, who: Arc<Person>) -> Option<String> {
    let grant = CodeGrant { who, kind: CodeKind::Script, redirect_uri: None, challenge: None, lifetime: CODE_LIFETIME };
    inner.state().codes.issue(grant, inner.clock.now(), inner.entropy).ok()
}

/// Lets a page of a trusted domain read the code: the script runs there, while the simulator may have another origin.
fn allow_origin(inner: &SimulatorInner, request: &Request<Bytes>, response: &mut Response<Bytes>) {
    response.headers_mut().insert(VARY, HeaderValue::from_static("origin"));
    let Some(origin) = request.headers().get(ORIGIN) else { return };
    if origin.to_str().is_ok_and(|origin| inner.config.domains.admit(origin).is_some()) {
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    }
}
