//! The simulated platforms behind one interface: each has its own paths, its own checks and its own errors.

use std::net::IpAddr;

use bytes::Bytes;
use http::Request;

use crate::kind::Kind;
use crate::page::IndexExamples;
use crate::state::{SimulatorInner, SimulatorReply};
use crate::{SimulatorConfig, dingtalk, feishu, wecom};

/// A path of one platform.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlatformRoute {
    Wecom(wecom::Route),
    Dingtalk(dingtalk::Route),
    Feishu(feishu::Route),
}

/// The platform's route for a path below the base, without the first slash.
pub(crate) fn route(kind: Kind, path: &str) -> Option<PlatformRoute> {
    match kind {
        Kind::Wecom => wecom::route(path).map(PlatformRoute::Wecom),
        Kind::Dingtalk => dingtalk::route(path).map(PlatformRoute::Dingtalk),
        Kind::Feishu => feishu::route(path).map(PlatformRoute::Feishu),
    }
}

impl PlatformRoute {
    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Wecom(route) => route.methods(),
            Self::Dingtalk(route) => route.methods(),
            Self::Feishu(route) => route.methods(),
        }
    }
}

pub(crate) async fn handle(
    inner: &SimulatorInner,
    route: PlatformRoute,
    peer: IpAddr,
    request: &Request<Bytes>,
) -> SimulatorReply {
    match route {
        PlatformRoute::Wecom(route) => wecom::handle(inner, route, peer, request).await,
        PlatformRoute::Dingtalk(route) => dingtalk::handle(inner, route, peer, request).await,
        PlatformRoute::Feishu(route) => feishu::handle(inner, route, peer, request).await,
    }
}

/// The names of the platform's APIs, as faults and call statistics use them.
pub(crate) fn api_names(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Wecom => wecom::api_names(),
        Kind::Dingtalk => dingtalk::api_names(),
        Kind::Feishu => feishu::api_names(),
    }
}

/// What the index page shows: how to act as a phone, and how to inject faults.
pub(crate) fn examples(config: &SimulatorConfig, origin: &str) -> IndexExamples {
    match config.kind {
        Kind::Wecom => wecom::examples(config, origin),
        Kind::Dingtalk => dingtalk::examples(config, origin),
        Kind::Feishu => feishu::examples(config, origin),
    }
}
