//! The simulated DingTalk: the login page, the older and the newer API, and the script for pages inside the client.

mod api;
mod authorize;
mod endpoint;
mod people;
mod refusal;
mod script;
pub(crate) mod state;

use std::net::IpAddr;

use bytes::Bytes;
use http::Request;
use url::form_urlencoded;

use self::endpoint::Endpoint;
use crate::SimulatorConfig;
use crate::page::IndexExamples;
use crate::state::{SimulatorInner, SimulatorReply};

/// A path of the platform.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route {
    /// The login page.
    Authorize,
    /// The script that defines `dd`.
    Script,
    /// What that script asks for a code; the platform has no such path.
    ScriptCode,
    Endpoint(Endpoint),
    /// A path of the older API that does not exist: the platform answers with success and an error code.
    UnknownMethod,
}

impl Route {
    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Authorize | Self::Script | Self::ScriptCode => &["GET"],
            Self::Endpoint(api) => api.methods(),
            Self::UnknownMethod => &["GET", "POST"],
        }
    }
}

/// The route for a path without its first slash.
pub(crate) fn route(path: &str) -> Option<Route> {
    match path {
        "oauth2/auth" => Some(Route::Authorize),
        "dingtalk.open.js" => Some(Route::Script),
        "request-auth-code" => Some(Route::ScriptCode),
        path => match Endpoint::from_path(path) {
            Some(api) => Some(Route::Endpoint(api)),
            None => path.starts_with("topapi/").then_some(Route::UnknownMethod),
        },
    }
}

pub(crate) async fn handle(
    inner: &SimulatorInner,
    route: Route,
    peer: IpAddr,
    request: &Request<Bytes>,
) -> SimulatorReply {
    SimulatorReply::Response(match route {
        Route::Authorize => authorize::handle(inner, request),
        Route::Script => script::source(inner),
        Route::ScriptCode => script::code(inner, request),
        Route::Endpoint(api) => return api::handle(inner, api, peer, request).await,
        Route::UnknownMethod => api::unknown_method(inner, peer),
    })
}

/// The names of the APIs.
pub(crate) fn api_names() -> Vec<&'static str> {
    Endpoint::ALL.map(Endpoint::name).to_vec()
}

/// What the index page shows.
pub(crate) fn examples(config: &SimulatorConfig, origin: &str) -> IndexExamples {
    let link = form_urlencoded::Serializer::new(String::new())
        .append_pair("client_id", &config.client_id)
        .append_pair("redirect_uri", &format!("{origin}/api/auth/oauth2/callback"))
        .append_pair("response_type", "code")
        .append_pair("scope", "openid corpid")
        .append_pair("prompt", "consent")
        .append_pair("state", "auth_login")
        .append_pair("sim_user", "user01")
        .finish();
    IndexExamples {
        authorize: format!("oauth2/auth?{link}"),
        faults: &[
            r#"{"api":"topapi/user/getbyunionid","errcode":60020}"#,
            r#"{"api":"v1.0/oauth2/userAccessToken","errcode":"invalidClientIdOrSecret"}"#,
            r#"{"delay_ms":8000,"drop":true}"#,
        ],
    }
}
