//! The simulated WeCom.

mod api;
mod authorize;
mod authorize_error;
pub(crate) mod cards;
mod endpoint;
mod errcode;

use std::net::IpAddr;

use bytes::Bytes;
use http::Request;
use url::form_urlencoded;

use self::authorize::AuthorizeLink;
use self::endpoint::Endpoint;
use crate::SimulatorConfig;
use crate::page::IndexExamples;
use crate::state::{SimulatorInner, SimulatorReply};

/// A path of the platform.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route {
    Authorize(AuthorizeLink),
    Endpoint(Endpoint),
}

impl Route {
    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Authorize(_) => &["GET"],
            Self::Endpoint(api) => api.methods(),
        }
    }
}

/// The route for a path without its first slash.
pub(crate) fn route(path: &str) -> Option<Route> {
    match path {
        "connect/oauth2/authorize" => Some(Route::Authorize(AuthorizeLink::InClient)),
        "wwlogin/sso/login" => Some(Route::Authorize(AuthorizeLink::Desktop)),
        path => path.strip_prefix("cgi-bin/").map(|name| Route::Endpoint(Endpoint::from_name(name))),
    }
}

pub(crate) async fn handle(
    inner: &SimulatorInner,
    route: Route,
    peer: IpAddr,
    request: &Request<Bytes>,
) -> SimulatorReply {
    match route {
        Route::Authorize(link) => SimulatorReply::Response(authorize::handle(inner, link, request)),
        Route::Endpoint(api) => api::handle(inner, api, peer, request).await,
    }
}

/// The names of the APIs.
pub(crate) fn api_names() -> Vec<&'static str> {
    Endpoint::ALL.map(Endpoint::name).to_vec()
}

/// What the index page shows.
pub(crate) fn examples(config: &SimulatorConfig, origin: &str) -> IndexExamples {
    let link = form_urlencoded::Serializer::new(String::new())
        .append_pair("appid", &config.corp_id)
        .append_pair("redirect_uri", &format!("{origin}/api/auth/oauth2/callback"))
        .append_pair("response_type", "code")
        .append_pair("scope", "snsapi_base")
        .append_pair("state", "auth_login")
        .append_pair("agentid", &config.agent_id)
        .append_pair("sim_user", "user01")
        .finish();
    IndexExamples {
        authorize: format!("connect/oauth2/authorize?{link}"),
        faults: &[
            r#"{"api":"auth/getuserinfo","errcode":40029}"#,
            r#"{"api":"gettoken","http_status":502,"times":3}"#,
            r#"{"delay_ms":8000,"drop":true}"#,
        ],
    }
}
