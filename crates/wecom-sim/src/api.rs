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

use crate::endpoint::Api;
use crate::errcode::{Refused, errmsg};
use crate::query::Query;
use crate::state::{Inner, SimulatorReply, SimulatorState};
use crate::{SimulatorConfig, reply};

/// The context of a call.
struct Call<'a> {
    config: &'a SimulatorConfig,
    entropy: Entropy,
    now: Timestamp,
    query: &'a Query,
    body: &'a [u8],
}

type Fields = Map<String, Value>;

fn dispatch(api: Api, call: &Call<'_>, state: &mut SimulatorState) -> Result<Fields, Refused> {
    match api {
        Api::GetToken => token::get(call, state),
        Api::AuthGetUserInfo => identity::auth_get_user_info(call, state),
        Api::UserGetUserInfo => identity::user_get_user_info(call, state),
        Api::UserGet => contacts::user(call),
        Api::DepartmentGet => contacts::department(call),
        Api::DepartmentList => contacts::departments(call),
        Api::AgentGet => app::get(call),
        Api::LinkedUserGet => contacts::linked_user(call),
        Api::MessageSend => message::send(call, state),
    }
}

/// Fields of a success that the platform includes, empty, in its refusals: a client must check the error code first.
fn empty_fields(api: Api) -> Fields {
    match api {
        Api::AuthGetUserInfo => fields(json!({ "userid": "" })),
        Api::UserGet => fields(json!({ "department": [], "order": [], "is_leader_in_dept": [] })),
        Api::DepartmentList => fields(json!({ "department": [] })),
        _ => Fields::new(),
    }
}

/// Handles a call, or applies a fault that is queued for it.
pub(crate) async fn handle(inner: &Inner, api: Api, peer: IpAddr, request: &Request<Bytes>) -> SimulatorReply {
    let query = Query::from_uri(request.uri());
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
fn admit(api: Api, call: &Call<'_>, peer: IpAddr, state: &mut SimulatorState) -> Result<Fields, Refused> {
    if api != Api::GetToken {
        state.tokens.check(call.query.non_empty("access_token"), call.now)?;
        if !state.switches.trust(peer) {
            return Err(60020.into());
        }
    }
    dispatch(api, call, state)
}

fn body(api: Api, done: Result<Fields, Refused>, peer: IpAddr, now: Timestamp, entropy: Entropy) -> Value {
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

fn fields(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}
