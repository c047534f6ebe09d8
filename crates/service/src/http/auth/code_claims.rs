//! Claims the platform's codes that a request carries, before anything can refuse the request: limits, its form, its method.
//!
//! A platform that allows every address of a domain sends a browser with a code to whichever page a link names. So every request
//! claims the codes in its query there, also one that no route answers.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use deskpass_auth::{CodeBearer, Error};
use deskpass_core::{Digest, Flow, UserAgent};
use deskpass_platform::RedirectRule;
use hyper::HeaderMap;
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::http::Extensions;
use hyper::http::request::Parts;
use url::form_urlencoded;

use super::login_state::LoginState;
use super::state_binding;
use crate::App;
use crate::app::platform::SIMULATOR_BASE;
use crate::http::error::ApiError;
use crate::http::request::{
    Cookies, DescribeInput, Fields, FromFields, FullRequest, InputSpec, JsonBody, RequestContext, X_FORWARDED_FOR,
    client_address,
};
use crate::http::response::redirect::CALLBACK_PATH;
use crate::http::route::Route;

/// How many codes are claimed at each end of a query: the platform adds its parameters at an end.
const CLAIMED_AT_EACH_END: usize = 8;

/// Whether the codes of a request are its own; refused if one is claimed for another browser or another request.
#[derive(Clone, Debug)]
pub(crate) struct ClaimedCodes(pub(crate) Result<(), Error>);

impl ClaimedCodes {
    /// The claims of a request. Without a code, nothing was claimed.
    fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or(Self(Ok(())))
    }
}

/// Claims the codes in the query of a request.
pub(crate) async fn claim_query(app: &App, peer: IpAddr, mut request: Request) -> Request {
    let path = request.uri().path();
    let Some(query) = request.uri().query().filter(|_| may_bring_codes(app, path)) else { return request };
    let names = app.auth.platform.code_parameters();
    let codes = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| names.contains(&&**name));
    let codes = ends_of(codes.map(|(_, code)| code.into_owned()));
    if codes.is_empty() {
        return request;
    }
    let asked = (path == CALLBACK_PATH).then_some(["callback", query]);
    let owner = asked.and_then(|[_, query]| owner_in_state(query));
    let claimed = claim(app, &bearer(app, peer, request.headers(), owner, asked), &codes).await;
    request.extensions_mut().insert(claimed);
    request
}

/// Claims the code in the body of a request, where a route takes one; the error is that of a body that cannot be read.
pub(crate) async fn claim_body(route: &Route, request: Request, context: &RequestContext) -> Result<Request, ApiError> {
    if !route.brings_code {
        return Ok(request);
    }
    let FullRequest(request) = FullRequest::from_request(request, context).await?;
    let (mut parts, body) = request.into_parts();
    let fields = serde_json::from_slice::<Fields>(&body).unwrap_or_default();
    let codes = ends_of(fields.texts("code").map(str::to_owned));
    if !codes.is_empty() {
        let app = context.app.newest();
        let bearer = bearer(&app, context.peer, &parts.headers, None, Some([parts.uri.path(), ""]));
        parts.extensions.insert(claim(&app, &bearer, &codes).await);
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Whether the platform may send a browser with a code to this path.
fn may_bring_codes(app: &App, path: &str) -> bool {
    match app.auth.platform.redirect_rule() {
        RedirectRule::Exact => path == CALLBACK_PATH,
        // The simulated platform itself is asked about codes there.
        RedirectRule::Domain => !path.starts_with(SIMULATOR_BASE),
    }
}

/// The different codes at both ends.
fn ends_of(codes: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for code in codes.filter(|code| !code.is_empty()) {
        if !all.contains(&code) {
            all.push(code);
        }
        if all.len() > 2 * CLAIMED_AT_EACH_END {
            all.remove(CLAIMED_AT_EACH_END);
        }
    }
    all
}

/// The binding to the browser that alone can use a code, by its PKCE verifier: no other takes the code from it by being first.
fn owner_in_state(query: &str) -> Option<String> {
    let states = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "state");
    let mut with_challenge =
        states.filter_map(|(_, text)| LoginState::parse(&text).filter(|state| state.has_challenge));
    with_challenge.find_map(|state| state.binding)
}

/// The browser of a request. One without a cookie of ours is known by its address and its name only, as are others of its office:
/// it may repeat its request, and ask nothing else with the code.
fn bearer(app: &App, peer: IpAddr, headers: &HeaderMap, owner: Option<String>, asked: Option<[&str; 2]>) -> CodeBearer {
    let address = client_address(app, peer, headers.get_all(X_FORWARDED_FOR).iter()).decided;
    let agent = headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    let agent = UserAgent::from_header(agent);
    let flow = Cookies::of(headers, app.settings.development.enabled).get::<Flow>();
    let known = owner.or_else(|| flow.as_ref().map(state_binding::of));
    let is_known = known.is_some();
    let request = asked.map(|[door, text]| {
        let text = if is_known { "" } else { text };
        Digest::of(&[door.as_bytes(), text.as_bytes()])
    });
    let browser = match known {
        Some(binding) => Digest::of(&[binding.as_bytes()]),
        None => Digest::of(&[address.to_string().as_bytes(), agent.as_str().as_bytes()]),
    };
    CodeBearer { browser, request, address }
}

async fn claim(app: &App, bearer: &CodeBearer, codes: &[String]) -> ClaimedCodes {
    let mut claimed = Ok(());
    for code in codes {
        claimed = claimed.and(app.auth.claim_code(code, bearer).await);
    }
    ClaimedCodes(claimed)
}

impl FromRequestParts<RequestContext> for ClaimedCodes {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &RequestContext) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

impl DescribeInput for ClaimedCodes {}

/// A JSON body, and whether the code in it is its own.
#[derive(Debug)]
pub(crate) struct ClaimedBody<T>(pub(crate) ClaimedCodes, pub(crate) T);

impl<T: FromFields> FromRequest<RequestContext> for ClaimedBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let claimed = ClaimedCodes::of(request.extensions());
        let JsonBody(input) = JsonBody::from_request(request, context).await?;
        Ok(Self(claimed, input))
    }
}

impl<T: FromFields> DescribeInput for ClaimedBody<T> {
    fn describe_input(spec: &mut InputSpec) {
        JsonBody::<T>::describe_input(spec);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_at_both_ends_are_claimed_once_each() {
        let texts = |codes: &[&str]| ends_of(codes.iter().map(|code| (*code).to_owned()));
        assert_eq!(texts(&["a", "", "b", "a"]), ["a", "b"]);
        let many: Vec<_> = (0..1_000).map(|number| number.to_string()).collect();
        let kept = ends_of(many.iter().cloned());
        assert_eq!(kept.len(), 2 * CLAIMED_AT_EACH_END);
        assert_eq!(kept.first().zip(kept.last()), many.first().zip(many.last()));
    }
}
