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
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::errcode::{Refused, errmsg};
use crate::query::Query;
use crate::simulator::{Inner, SimulatorState};
use crate::{SimulatorConfig, SimulatorReply, reply};

/// A call of the API, named after its path.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(try_from = "String", into = "&'static str")]
pub(crate) enum Api {
    GetToken,
    AuthGetUserInfo,
    UserGetUserInfo,
    UserGet,
    DepartmentGet,
    DepartmentList,
    AgentGet,
    LinkedUserGet,
    MessageSend,
}

/// The context of a call.
struct Call<'a> {
    config: &'a SimulatorConfig,
    entropy: Entropy,
    now: Timestamp,
    query: &'a Query,
    body: &'a [u8],
}

type Fields = Map<String, Value>;

impl Api {
    const ALL: [Self; 9] = [
        Self::GetToken,
        Self::AuthGetUserInfo,
        Self::UserGetUserInfo,
        Self::UserGet,
        Self::DepartmentGet,
        Self::DepartmentList,
        Self::AgentGet,
        Self::LinkedUserGet,
        Self::MessageSend,
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|api| api.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GetToken => "gettoken",
            Self::AuthGetUserInfo => "auth/getuserinfo",
            Self::UserGetUserInfo => "user/getuserinfo",
            Self::UserGet => "user/get",
            Self::DepartmentGet => "department/get",
            Self::DepartmentList => "department/list",
            Self::AgentGet => "agent/get",
            Self::LinkedUserGet => "linkedcorp/user/get",
            Self::MessageSend => "message/send",
        }
    }

    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::LinkedUserGet | Self::MessageSend => &["POST"],
            _ => &["GET"],
        }
    }

    fn dispatch(self, call: &Call<'_>, state: &mut SimulatorState) -> Result<Fields, Refused> {
        match self {
            Self::GetToken => token::get(call, state),
            Self::AuthGetUserInfo => identity::auth_get_user_info(call, state),
            Self::UserGetUserInfo => identity::user_get_user_info(call, state),
            Self::UserGet => contacts::user(call),
            Self::DepartmentGet => contacts::department(call),
            Self::DepartmentList => contacts::departments(call),
            Self::AgentGet => app::get(call),
            Self::LinkedUserGet => contacts::linked_user(call),
            Self::MessageSend => message::send(call, state),
        }
    }

    /// Fields of a success that the platform includes, empty, in its refusals: a client must check the error code first.
    fn empty_fields(self) -> Fields {
        match self {
            Self::AuthGetUserInfo => fields(json!({ "userid": "" })),
            Self::UserGet => fields(json!({ "department": [], "order": [], "is_leader_in_dept": [] })),
            Self::DepartmentList => fields(json!({ "department": [] })),
            _ => Fields::new(),
        }
    }
}

impl TryFrom<String> for Api {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::from_name(&name).ok_or_else(|| format!("unknown api {name:?}, expected one of {}", names()))
    }
}

impl From<Api> for &'static str {
    fn from(api: Api) -> Self {
        api.name()
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
    api.dispatch(call, state)
}

fn body(api: Api, done: Result<Fields, Refused>, peer: IpAddr, now: Timestamp, entropy: Entropy) -> Value {
    let (errcode, mut body) = match done {
        Ok(fields) => (0, fields),
        Err(refused) => {
            let mut fields = api.empty_fields();
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
