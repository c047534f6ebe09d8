//! The control API with which a tester inspects and manipulates the simulator.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::calls::Calls;
use crate::faults::Faults;
use crate::json_body::read;
use crate::kind::Kind;
use crate::state::SimulatorState;
use crate::{platforms, reply};

/// An endpoint of the control API.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    Inbox,
    Faults,
    Switches,
    Calls,
    VoidTokens,
}

impl Control {
    pub(crate) fn from_name(path: &str) -> Option<Self> {
        match path {
            "inbox" => Some(Self::Inbox),
            "faults" => Some(Self::Faults),
            "switches" => Some(Self::Switches),
            "calls" => Some(Self::Calls),
            "void-tokens" => Some(Self::VoidTokens),
            _ => None,
        }
    }

    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Inbox | Self::Calls => &["GET", "DELETE"],
            Self::Faults => &["GET", "PUT", "DELETE"],
            Self::Switches => &["GET", "PUT"],
            Self::VoidTokens => &["POST"],
        }
    }
}

pub(crate) fn handle(
    kind: Kind,
    state: &mut SimulatorState,
    control: Control,
    request: &Request<Bytes>,
) -> Response<Bytes> {
    let done = match *request.method() {
        Method::PUT => put(kind, state, control, request.body()),
        Method::DELETE => {
            forget(state, control);
            Ok(())
        }
        _ => Ok(()),
    };
    match done {
        Ok(()) => reply::json(StatusCode::OK, &show(state, control)),
        Err(error) => reply::bad_request(&error),
    }
}

fn put(kind: Kind, state: &mut SimulatorState, control: Control, body: &[u8]) -> Result<(), String> {
    match control {
        Control::Faults => state.faults.add(read(body)?, kind, &platforms::api_names(kind))?,
        Control::Switches => state.switches = read(body)?,
        Control::Inbox | Control::Calls | Control::VoidTokens => {}
    }
    Ok(())
}

fn forget(state: &mut SimulatorState, control: Control) {
    match control {
        Control::Inbox => state.inbox.clear(),
        Control::Faults => state.faults = Faults::default(),
        Control::Calls => state.calls = Calls::default(),
        Control::Switches | Control::VoidTokens => {}
    }
}

fn show(state: &mut SimulatorState, control: Control) -> Value {
    match control {
        Control::Inbox => state.inbox.show(),
        Control::Faults => state.faults.show(),
        Control::Switches => json!(state.switches),
        Control::Calls => state.calls.show(),
        Control::VoidTokens => json!({ "voided": state.tokens.revoke_all() }),
    }
}
