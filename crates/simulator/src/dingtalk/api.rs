//! The server API: its calls, and the checks that all of them share.

mod contacts;
mod identity;
mod message;
mod roles;
mod token;

use std::net::IpAddr;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde_json::{Map, Value, json};

use super::endpoint::Endpoint;
use super::refusal::{self, Refused};
use crate::call::{ApiCall, Recorded, apply_fault};
use crate::faults::FaultCode;
use crate::query::QueryParams;
use crate::reply;
use crate::state::{SimulatorInner, SimulatorReply, SimulatorState};
use crate::switches::DingtalkLimit;
use crate::tokens::TokenFailure;

type JsonFields = Map<String, Value>;

/// Parameters that the platform does not accept.
const BAD_PARAMETER: i64 = 40035;

fn dispatch(api: Endpoint, path: &str, call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    match api {
        Endpoint::CorpToken => token::of_corp(call, path, state),
        Endpoint::AppToken => token::of_app(call, state),
        Endpoint::GetToken => token::older(call, state),
        Endpoint::UserToken => identity::user_token(call, state),
        Endpoint::Me => identity::me(call, state),
        Endpoint::GetByUnionId => identity::by_union_id(call, &state.book),
        Endpoint::GetUserInfo => identity::user_info(call, state),
        Endpoint::UserGet => contacts::user(call, &state.book),
        Endpoint::UserList => contacts::users(call, &state.book),
        Endpoint::DepartmentGet => contacts::department(call, &state.book),
        Endpoint::DepartmentListSub => contacts::departments(call, &state.book),
        Endpoint::RoleList => roles::list(call, &state.book),
        Endpoint::RoleMembers => roles::members(call, &state.book),
        Endpoint::MessageSend => message::send(call, state),
        Endpoint::MessageResult => message::result(call, state),
    }
}

/// Handles a call, or applies a fault that is queued for it.
pub(super) async fn handle(
    inner: &SimulatorInner,
    api: Endpoint,
    peer: IpAddr,
    request: &Request<Bytes>,
) -> SimulatorReply {
    let query = QueryParams::from_uri(request.uri());
    let body = if request.method() == Method::POST { QueryParams::from_json(request.body()) } else { None };
    let recorded = match api {
        Endpoint::UserToken | Endpoint::GetUserInfo => Recorded::Values,
        _ => Recorded::Names,
    };
    let refuse = |refused: &Refused| refusal::render(refused, api.is_newer(), peer, inner.entropy);
    let faulty = |code: &FaultCode| refuse(&Refused::from(code));
    let parameters = body.as_ref().unwrap_or(&query);
    if let Some(replaced) = apply_fault(inner, api.name(), parameters, recorded, faulty).await {
        return replaced;
    }
    if inner.state().switches.dingtalk_limit == Some(DingtalkLimit::Blocked) {
        return SimulatorReply::Response(block_page(api));
    }
    let (config, entropy, now) = (&inner.config, inner.entropy, inner.clock.now());
    let call = ApiCall { config, entropy, now, peer, query: &query, headers: request.headers(), body: request.body() };
    let path = request.uri().path();
    let path = path.strip_prefix(config.base.as_str()).unwrap_or(path).trim_start_matches('/');
    let done = admit(api, path, &call, &mut inner.state());
    SimulatorReply::Response(done.map_or_else(|refused| refuse(&refused), |fields| success(inner, api, fields)))
}

/// The answer of the older API to a path that it does not have.
pub(super) fn unknown_method(inner: &SimulatorInner, peer: IpAddr) -> Response<Bytes> {
    refusal::render(&Refused::Number(22), false, peer, inner.entropy)
}

/// Admits a call with a valid token from an allowed address.
fn admit(api: Endpoint, path: &str, call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    if !api.issues_token() {
        if !api.is_newer() {
            state.tokens.check(call.query.non_empty("access_token"), call.now).map_err(app_token_refusal)?;
        }
        let refuse = |number: i64, word: &str| -> Refused { if api.is_newer() { word.into() } else { number.into() } };
        if !state.switches.trust(call.peer) {
            return Err(refuse(60020, "Forbidden.AccessDenied.IpNotInWhiteList"));
        }
        if state.switches.dingtalk_limit == Some(DingtalkLimit::Quota) {
            return Err(refuse(90020, "Forbidden.AccessDenied.ApiCountLimitForOrg"));
        }
        if state.is_over_rate(api.name(), call.now) {
            return Err(refuse(90018, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi"));
        }
    }
    dispatch(api, path, call, state)
}

fn app_token_refusal(failure: TokenFailure) -> Refused {
    Refused::authentication(match failure {
        TokenFailure::Missing | TokenFailure::Unknown => 40014,
        TokenFailure::Expired => 42001,
    })
}

fn success(inner: &SimulatorInner, api: Endpoint, mut fields: JsonFields) -> Response<Bytes> {
    if !api.is_newer() {
        fields.insert("errcode".to_owned(), 0.into());
        fields.insert("errmsg".to_owned(), "ok".into());
        fields.insert("request_id".to_owned(), refusal::request_id(inner.entropy).into());
    }
    reply::json(StatusCode::OK, &Value::Object(fields))
}

/// The answer to an address that made too many calls: a page, or JSON of another shape. Its status is not documented.
fn block_page(api: Endpoint) -> Response<Bytes> {
    if api.is_newer() {
        return reply::respond(StatusCode::OK, reply::HTML, "<!doctype html>\n<html><body>访问被拒绝</body></html>");
    }
    let body = json!({ "status": 1111, "wait": 5, "source": "x5", "punish": "deny", "uuid": "simulated" });
    reply::json(StatusCode::OK, &body)
}

/// The body of a call.
fn body(call: &ApiCall<'_>) -> Result<JsonFields, Refused> {
    serde_json::from_slice(call.body).map_err(|_| BAD_PARAMETER.into())
}

/// A text of the body that is not empty.
fn text<'a>(body: &'a JsonFields, name: &str) -> Option<&'a str> {
    body.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// A number of the body, or a text that is one.
fn number(body: &JsonFields, name: &str) -> Option<u64> {
    let value = body.get(name)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn fields(value: Value) -> JsonFields {
    match value {
        Value::Object(fields) => fields,
        _ => JsonFields::new(),
    }
}
