//! The simulated Feishu.

use std::net::IpAddr;

use bytes::Bytes;
use http::Request;

use crate::SimulatorConfig;
use crate::page::IndexExamples;
use crate::state::{SimulatorInner, SimulatorReply};

/// A path of the platform.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route {}

impl Route {
    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {}
    }
}

/// The route for a path without its first slash.
pub(crate) fn route(_path: &str) -> Option<Route> {
    None
}

pub(crate) async fn handle(
    _inner: &SimulatorInner,
    route: Route,
    _peer: IpAddr,
    _request: &Request<Bytes>,
) -> SimulatorReply {
    match route {}
}

/// The names of the APIs.
pub(crate) fn api_names() -> Vec<&'static str> {
    Vec::new()
}

/// What the index page shows.
pub(crate) fn examples(_config: &SimulatorConfig, _origin: &str) -> IndexExamples {
    IndexExamples { authorize: String::new(), faults: &[] }
}
