//! The server API: its calls, and the checks that all of them share.

mod contacts;
mod departments;
mod groups;
mod message;
mod pages;
mod token;
mod user_token;

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, Request, StatusCode};
use serde_json::{Map, Value, json};

use super::endpoint::{Credential, Endpoint};
use super::refusal::{self, Refused};
use crate::address_book::Person;
use crate::call::{ApiCall, Recorded, apply_fault};
use crate::faults::FaultCode;
use crate::query::QueryParams;
use crate::reply;
use crate::state::{SimulatorInner, SimulatorReply, SimulatorState};
use crate::tokens::TokenFailure;

/// The platform has a fault.
const SERVER_ERROR: i64 = 20_050;

/// A call, and what its path and its body say.
struct FeishuCall<'a> {
    call: &'a ApiCall<'a>,
    api: Endpoint,
    /// The parameter in the path.
    id: &'a str,
    /// The fields of the body.
    fields: &'a QueryParams,
}

/// Handles a call, or applies a fault that is queued for it.
pub(super) async fn handle(
    inner: &SimulatorInner,
    api: Endpoint,
    peer: IpAddr,
    request: &Request<Bytes>,
) -> SimulatorReply {
    let query = QueryParams::from_uri(request.uri());
    let fields = fields(api, request.headers(), request.body());
    let recorded = if api == Endpoint::MessageSend { Recorded::Names } else { Recorded::Values };
    let parameters = if api.method() == "GET" { &query } else { &fields };
    let refusal = |code: &FaultCode| refusal::render(api, code.number().into(), peer);
    if let Some(faulty) = apply_fault(inner, api.name(), parameters, recorded, refusal).await {
        return faulty;
    }
    let (config, entropy, now) = (&inner.config, inner.entropy, inner.clock.now());
    let call = ApiCall { config, entropy, now, peer, query: &query, headers: request.headers(), body: request.body() };
    let path = request.uri().path();
    let path = path.strip_prefix(config.base.as_str()).unwrap_or(path).trim_start_matches('/');
    let call = FeishuCall { call: &call, api, id: api.parameter(path), fields: &fields };
    let done = admit(&call, &mut inner.state());
    SimulatorReply::Response(match done {
        Ok(body) => reply::json(StatusCode::OK, &body),
        Err(refused) => refusal::render(api, refused, peer),
    })
}

/// The fields of a body: only the newest call for a user's token also takes a form.
fn fields(api: Endpoint, headers: &HeaderMap, body: &[u8]) -> QueryParams {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if api == Endpoint::UserTokenV3 && kind.starts_with("application/x-www-form-urlencoded") {
        return QueryParams::from_form(body);
    }
    QueryParams::from_json(body).unwrap_or_default()
}

/// Admits a call with a valid token from an allowed address.
fn admit(ask: &FeishuCall<'_>, state: &mut SimulatorState) -> Result<Value, Refused> {
    if let Some(seconds) = state.switches.feishu.rate_limit {
        return Err(Refused::limited(seconds));
    }
    if state.is_over_rate(ask.api.name(), ask.call.now) {
        return Err(Refused::limited(1));
    }
    let (call, token) = (ask.call, bearer(ask.call.headers));
    let user = match ask.api.credential() {
        Credential::Nobody => return without_token(ask, state),
        Credential::App => {
            check_form(token)?;
            state.tokens.check(token, call.now).map_err(app_token_refusal)?;
            None
        }
        Credential::User => Some(state.user_tokens.check(token, call.now).map_err(user_token_refusal)?),
    };
    // The list of addresses does not cover the calls above, which have no token.
    if !state.switches.trust(call.peer) {
        return Err(99_991_401.into());
    }
    match user {
        Some(who) => Ok(user_token::info(ask, &who, &state.switches.feishu)),
        None => with_app_token(ask, state),
    }
}

fn without_token(ask: &FeishuCall<'_>, state: &mut SimulatorState) -> Result<Value, Refused> {
    if ask.api.exchanges_code() { user_token::flat(ask, state) } else { token::get(ask, state) }
}

fn with_app_token(ask: &FeishuCall<'_>, state: &mut SimulatorState) -> Result<Value, Refused> {
    let (switches, book) = (&state.switches.feishu, &state.book);
    match ask.api {
        Endpoint::UserTokenV1 | Endpoint::UserTokenOidc => user_token::nested(ask, state),
        Endpoint::User => contacts::user(ask, book, switches),
        Endpoint::Members => contacts::members(ask, book, switches),
        Endpoint::Scopes => contacts::scopes(ask, book, switches),
        Endpoint::Department => departments::one(ask, book),
        Endpoint::Children => departments::children(ask, book),
        Endpoint::Groups => groups::list(ask, book),
        Endpoint::GroupMembers => groups::members(ask, book, switches),
        Endpoint::MessageSend => message::send(ask, state),
        Endpoint::MessageUpdate => message::update(ask, state),
        // These are called without the app's token.
        Endpoint::TenantToken
        | Endpoint::AppToken
        | Endpoint::UserTokenV3
        | Endpoint::UserTokenV2
        | Endpoint::UserInfo => Err(SERVER_ERROR.into()),
    }
}

/// The token of a call; none if the header does not say that it is one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").filter(|token| !token.is_empty())
}

/// Refuses what cannot be a token of any kind.
fn check_form(token: Option<&str>) -> Result<(), Refused> {
    let is_token = |token: &str| ["t-", "u-", "eyJ"].iter().any(|prefix| token.starts_with(prefix));
    if token.is_none_or(is_token) { Ok(()) } else { Err(99_991_671.into()) }
}

fn app_token_refusal(failure: TokenFailure) -> Refused {
    match failure {
        TokenFailure::Missing => 99_991_661,
        TokenFailure::Unknown | TokenFailure::Expired => 99_991_663,
    }
    .into()
}

fn user_token_refusal(failure: TokenFailure) -> Refused {
    match failure {
        TokenFailure::Missing => 99_991_661,
        TokenFailure::Unknown => 99_991_668,
        TokenFailure::Expired => 99_991_677,
    }
    .into()
}

/// A success with what was asked for.
fn success(data: &Value) -> Value {
    json!({ "code": 0, "msg": "success", "data": data })
}

/// The fields of a profile that depend on a permission, added to the others.
fn with_user_id(mut profile: Value, who: &Person, hidden: bool) -> Value {
    if let Value::Object(fields) = &mut profile
        && !hidden
    {
        insert(fields, "user_id", super::people::user_id(who));
    }
    profile
}

fn insert(fields: &mut Map<String, Value>, name: &str, value: &str) {
    fields.insert(name.to_owned(), value.into());
}
