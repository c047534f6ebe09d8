//! The server API: its calls, and the checks that all of them share.

mod app;
mod contacts;
mod identity;
mod message;
mod token;

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use deskpass_core::{Entropy, Timestamp};
use http::{Request, StatusCode};
use serde_json::{Map, Value, json};

use crate::endpoint::Endpoint;
use crate::errcode::{Refused, errmsg};
use crate::query::QueryParams;
use crate::state::{SimulatorInner, SimulatorReply, SimulatorState};
use crate::{SimulatorConfig, reply};

struct Call<'a> {
    config: &'a SimulatorConfig,
    entropy: Entropy,
    now: Timestamp,
    query: &'a QueryParams,
    body: &'a [u8],
}

type JsonFields = Map<String, Value>;

fn dispatch(api: Endpoint, call: &Call<'_>, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    match api {
        Endpoint::GetToken => token::get(call, state),
        Endpoint::AuthGetUserInfo => identity::auth_get_user_info(call, state),
        Endpoint::UserGetUserInfo => identity::user_get_user_info(call, state),
        Endpoint::UserGet => contacts::user(call),
        Endpoint::DepartmentGet => contacts::department(call),
        Endpoint::DepartmentList => contacts::departments(call),
        Endpoint::AgentGet => app::get(call),
        Endpoint::LinkedUserGet => contacts::linked_user(call),
        Endpoint::MessageSend => message::send(call, state),
    }
}

/// Fields of a success that the platform includes, empty, in its refusals: a client must check the error code first.
fn empty_fields(api: Endpoint) -> JsonFields {
    match api {
        Endpoint::AuthGetUserInfo => fields(json!({ "userid": "" })),
        Endpoint::UserGet => fields(json!({ "department": [], "order": [], "is_leader_in_dept": [] })),
        Endpoint::DepartmentList => fields(json!({ "department": [] })),
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
    let fault = {
        let mut state = inner.state();
        state.calls.count(api, &query);
        state.faults.take(api)
    };
    let (config, entropy) = (&inner.config, inner.entropy);
    if let Some(fault) = fault {
        tokio::time::sleep(Duration::from_millis(fault.delay_ms)).await;
        if fault.drop {
            return SimulatorReply::HangUp;
        }
        if fault.answers() {
            let refusal = fault.errcode.map(|errcode| body(api, Err(errcode.into()), peer, inner.clock.now(), entropy));
            return SimulatorReply::Response(fault.answer(refusal));
        }
    }
    let call = Call { config, entropy, now: inner.clock.now(), query: &query, body: request.body() };
    let done = admit(api, &call, peer, &mut inner.state());
    SimulatorReply::Response(reply::json(StatusCode::OK, &body(api, done, peer, call.now, entropy)))
}

/// Admits a call with a valid token from an allowed address.
fn admit(api: Endpoint, call: &Call<'_>, peer: IpAddr, state: &mut SimulatorState) -> Result<JsonFields, Refused> {
    if api != Endpoint::GetToken {
        state.tokens.check(call.query.non_empty("access_token"), call.now)?;
        if !state.switches.trust(peer) {
            return Err(60020.into());
        }
    }
    dispatch(api, call, state)
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
