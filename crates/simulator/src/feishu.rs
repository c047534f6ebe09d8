//! The simulated Feishu: the authorization page and the server API.

mod api;
mod authorize;
mod authorize_error;
mod endpoint;
pub(crate) mod people;
mod refusal;
pub(crate) mod state;
pub(crate) mod switches;

use std::net::IpAddr;

use bytes::Bytes;
use deskpass_core::Entropy;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use url::form_urlencoded;

use self::endpoint::Endpoint;
use crate::page::IndexExamples;
use crate::state::{SimulatorInner, SimulatorReply};
use crate::{SimulatorConfig, reply};

const LOG_ID: HeaderName = HeaderName::from_static("x-tt-logid");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A path of the platform.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Route {
    /// The authorization page.
    Authorize,
    Endpoint(Endpoint),
    /// A path of the API that does not exist.
    Unknown,
}

impl Route {
    /// All methods: the platform answers a wrong one as it answers a wrong path.
    pub(crate) fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Authorize | Self::Endpoint(_) | Self::Unknown => &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
        }
    }

    fn method(self) -> Option<&'static str> {
        match self {
            Self::Authorize => Some("GET"),
            Self::Endpoint(api) => Some(api.method()),
            Self::Unknown => None,
        }
    }
}

/// The route for a path without its first slash.
pub(crate) fn route(path: &str) -> Option<Route> {
    if path == "open-apis/authen/v1/authorize" {
        return Some(Route::Authorize);
    }
    let of_the_api = path.starts_with("open-apis/") || path.starts_with("oauth/");
    Endpoint::from_path(path).map(Route::Endpoint).or_else(|| of_the_api.then_some(Route::Unknown))
}

pub(crate) async fn handle(
    inner: &SimulatorInner,
    route: Route,
    peer: IpAddr,
    request: &Request<Bytes>,
) -> SimulatorReply {
    let reply = match route {
        _ if route.method() != Some(request.method().as_str()) => SimulatorReply::Response(no_such_path()),
        Route::Authorize => SimulatorReply::Response(authorize::handle(inner, request)),
        Route::Endpoint(api) => api::handle(inner, api, peer, request).await,
        Route::Unknown => SimulatorReply::Response(no_such_path()),
    };
    match reply {
        SimulatorReply::Response(response) => SimulatorReply::Response(with_log_id(response, inner.entropy)),
        SimulatorReply::HangUp => SimulatorReply::HangUp,
    }
}

/// The answer to a wrong path or method, which is not JSON.
fn no_such_path() -> Response<Bytes> {
    reply::respond(StatusCode::NOT_FOUND, TEXT, "404 page not found")
}

/// Adds the number that the platform's support asks for.
fn with_log_id(mut response: Response<Bytes>, entropy: Entropy) -> Response<Bytes> {
    let id = entropy.bytes().map(u128::from_be_bytes).unwrap_or_default();
    if let Ok(id) = HeaderValue::from_str(&format!("{id:032X}")) {
        response.headers_mut().entry(LOG_ID).or_insert(id);
    }
    response
}

/// The names of the APIs.
pub(crate) fn api_names() -> Vec<&'static str> {
    Endpoint::ALL.map(Endpoint::name).to_vec()
}

/// What the index page shows.
pub(crate) fn examples(config: &SimulatorConfig, origin: &str) -> IndexExamples {
    let link = form_urlencoded::Serializer::new(String::new())
        .append_pair("client_id", &config.client_id)
        .append_pair("response_type", "code")
        .append_pair("redirect_uri", &format!("{origin}/api/auth/oauth2/callback"))
        .append_pair("state", "auth_login")
        .append_pair("sim_user", "user01")
        .finish();
    IndexExamples {
        authorize: format!("open-apis/authen/v1/authorize?{link}"),
        faults: &[
            r#"{"api":"oauth/v3/token","errcode":20003}"#,
            r#"{"api":"open-apis/auth/v3/tenant_access_token/internal","http_status":502,"times":3}"#,
            r#"{"delay_ms":8000,"drop":true}"#,
        ],
    }
}
