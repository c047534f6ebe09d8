//! The server API: its calls, and the checks that all of them share.

mod app;
mod card;
mod contacts;
mod identity;
mod message;
mod tags;
mod token;
mod update;

use std::net::IpAddr;

use bytes::Bytes;
use deskpass_core::{Entropy, Timestamp};
use http::{Request, StatusCode};
use serde_json::{Map, Value, json};

use super::endpoint::Endpoint;
use super::errcode::{Refused, errmsg};
use crate::call::{ApiCall, Recorded, apply_fault};
use crate::faults::FaultCode;
use crate::query::QueryParams;
use crate::reply;
use crate::state::{SimulatorInner, SimulatorReply, SimulatorState};
use crate::tokens::TokenFailure;

type JsonFields = Map<String, Value>;

fn dispatch(api: Endpoint, call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    match api {
        Endpoint::GetToken => token::get(call, state),
        Endpoint::AuthGetUserInfo => identity::auth_get_user_info(call, state),
        Endpoint::UserGetUserInfo => identity::user_get_user_info(call, state),
        Endpoint::GetCallbackIp => Ok(app::callback_addresses()),
        Endpoint::UserGet => contacts::user(call, state),
        Endpoint::UserList => contacts::users(call, state),
        Endpoint::UserSimpleList => contacts::simple_users(call, state),
        Endpoint::UserConvertToOpenid => identity::convert_to_openid(call, state),
        Endpoint::DepartmentGet => contacts::department(call, &state.book),
        Endpoint::DepartmentList => contacts::departments(call, &state.book),
        Endpoint::DepartmentSimpleList => contacts::simple_departments(call, &state.book),
        Endpoint::AgentGet => app::get(call, &state.book),
        Endpoint::TagList => Ok(tags::list(&state.book)),
        Endpoint::TagGet => tags::get(call, &state.book),
        Endpoint::LinkedUserGet => contacts::linked_user(call, &state.book),
        Endpoint::MessageSend => message::send(call, state),
        Endpoint::MessageUpdateTemplateCard => update::update(call, state),
        // Calls that exist on the platform, but not here, mostly need another credential or another right.
        Endpoint::Unknown => Err(48002.into()),
    }
}

/// Fields of a success that the platform includes, empty, in its refusals: a client must check the error code first.
fn empty_fields(api: Endpoint) -> JsonFields {
    match api {
        Endpoint::AuthGetUserInfo => fields(json!({ "userid": "" })),
        Endpoint::UserGet => fields(json!({ "department": [], "order": [], "is_leader_in_dept": [] })),
        Endpoint::UserList | Endpoint::UserSimpleList => fields(json!({ "userlist": [] })),
        Endpoint::DepartmentList => fields(json!({ "department": [] })),
        Endpoint::DepartmentSimpleList => fields(json!({ "department_id": [] })),
        _ => JsonFields::new(),
    }
}

/// Handles a call, or applies a fault that is queued for it.
pub(crate) async fn handle(
    inner: &SimulatorInner,
    api: Endpoint,
    peer: IpAddr,
    request: &Request<Bytes>,
) -> SimulatorReply {
    let query = QueryParams::from_uri(request.uri());
    let recorded = match api {
        Endpoint::AuthGetUserInfo | Endpoint::UserGetUserInfo => Recorded::Values,
        _ => Recorded::Names,
    };
    let (config, entropy) = (&inner.config, inner.entropy);
    let answer = |done, now| reply::json(StatusCode::OK, &body(api, done, peer, now, entropy));
    let refusal = |code: &FaultCode| answer(Err(code.number().into()), inner.clock.now());
    if let Some(faulty) = apply_fault(inner, api.name(), &query, recorded, refusal).await {
        return faulty;
    }
    let (now, headers) = (inner.clock.now(), request.headers());
    let call = ApiCall { config, entropy, now, peer, query: &query, headers, body: request.body() };
    let done = admit(api, &call, &mut inner.state());
    SimulatorReply::Response(answer(done, now))
}

/// Admits a call with a valid token from an allowed address.
fn admit(api: Endpoint, call: &ApiCall<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    if api != Endpoint::GetToken {
        state.tokens.check(call.query.non_empty("access_token"), call.now).map_err(token_errcode)?;
        if !state.switches.trust(call.peer) {
            return Err(60020.into());
        }
        if state.is_over_rate(api.name(), call.now) {
            return Err(45009.into());
        }
    }
    dispatch(api, call, state)
}

fn token_errcode(failure: TokenFailure) -> Refused {
    match failure {
        TokenFailure::Missing => 41001,
        TokenFailure::Unknown => 40014,
        TokenFailure::Expired => 42001,
    }
    .into()
}

fn body(api: Endpoint, done: Result<JsonFields, Refused>, peer: IpAddr, now: Timestamp, entropy: Entropy) -> Value {
    let (errcode, mut body) = match done {
        Ok(fields) => (0, fields),
        Err(refused) => {
            let mut fields = empty_fields(api);
            fields.extend(refused.fields);
            (refused.errcode, fields)
        }
    };
    tracing::debug!(api = api.name(), errcode, "the simulated platform was called");
    body.insert("errcode".to_owned(), errcode.into());
    body.insert("errmsg".to_owned(), errmsg(errcode, peer, now, entropy).into());
    Value::Object(body)
}

fn fields(value: Value) -> JsonFields {
    match value {
        Value::Object(fields) => fields,
        _ => JsonFields::new(),
    }
}
