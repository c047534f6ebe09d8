//! Claims the platform's codes that a request carries, before anything but the rate of its network can refuse the
//! request: limits, its form, its method.
//!
//! A platform that allows every address of a domain sends a browser with a code to whichever page a link names. So every request
//! claims the codes in its query there, also one that no route answers. A request brings one code; one that brings more than two
//! is refused, but its first and its last one are claimed: the platform adds its parameters at an end.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use deskpass_auth::{BegunSigns, CodeBearer, Error, Refusal};
use deskpass_core::{Digest, Flow, Secret, UserAgent};
use deskpass_platform::RedirectRule;
use hyper::HeaderMap;
use hyper::header::{HeaderValue, USER_AGENT};
use hyper::http::Extensions;
use hyper::http::request::Parts;
use url::form_urlencoded;

use super::callback_query::SCAN_ID;
use super::login_state::LoginState;
use super::state_binding;
use crate::App;
use crate::app::platform::SIMULATOR_BASE;
use crate::http::dispatcher::navigation::is_navigation;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    Cookies, DescribeInput, Fields, FromFields, FullRequest, InputSpec, JsonBody, RequestContext, X_FORWARDED_FOR,
    client_address,
};
use crate::http::response::redirect::CALLBACK_PATH;

/// Whether the codes of a request are its own; refused if one is claimed for another browser or another request.
#[derive(Clone, Debug)]
pub(crate) struct ClaimedCodes(pub(crate) Result<(), Error>);

impl ClaimedCodes {
    /// The claims of a request. Without a code, nothing was claimed.
    fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or(Self(Ok(())))
    }
}

/// Claims the codes in the query of a request. Refused if there are more than two, or if the network brings too many.
pub(crate) async fn claim_query(app: &App, peer: IpAddr, mut request: Request) -> Result<Request, ApiError> {
    let path = request.uri().path();
    // The platform sends browsers, not pages of other sites, which could use up what their visitors' network may claim.
    if is_embedded_elsewhere(request.headers()) {
        return Ok(request);
    }
    let Some(query) = request.uri().query().filter(|_| may_bring_codes(app, path)) else { return Ok(request) };
    let names = app.auth.platform.code_parameters();
    let codes = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| names.contains(&&**name));
    let Some(codes) = BroughtCodes::of(codes.map(|(_, code)| code.into_owned())) else { return Ok(request) };
    let asked = (path == CALLBACK_PATH).then_some(["callback", query]);
    let returned = ReturnedQuery::read(app, query);
    let bearer = bearer(app, peer, request.headers(), returned, asked);
    let claimed = Box::pin(claim(app, &bearer, &codes)).await?;
    if let Err(Error::Refused(limited @ Refusal::RateLimited(_))) = claimed.0 {
        return Err(limited.into());
    }
    request.extensions_mut().insert(claimed);
    Ok(request)
}

/// Whether a page of another site fetches this or shows it in a frame, instead of leading its visitor there. Messengers open whole
/// pages.
fn is_embedded_elsewhere(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") && !is_navigation(headers)
}

/// Claims the code in the body of a request whose route takes one; the error is that of a body that cannot be read.
pub(crate) async fn claim_body(request: Request, context: &RequestContext) -> Result<Request, ApiError> {
    let FullRequest(request) = FullRequest::from_request(request, context).await?;
    let (mut parts, body) = request.into_parts();
    let fields = serde_json::from_slice::<Fields>(&body).unwrap_or_default();
    if let Some(codes) = BroughtCodes::of(fields.texts("code").map(str::to_owned)) {
        let app = context.app.newest();
        let asked = Some([parts.uri.path(), ""]);
        let bearer = bearer(&app, context.peer, &parts.headers, ReturnedQuery::default(), asked);
        // Whatever is refused, a password beside the code may still count.
        parts.extensions.insert(claim(&app, &bearer, &codes).await?);
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

/// The different codes of a request.
#[derive(Debug, PartialEq, Eq)]
struct BroughtCodes {
    first: String,
    last: String,
    /// Whether there are more between them.
    are_too_many: bool,
}

impl BroughtCodes {
    fn of(codes: impl Iterator<Item = String>) -> Option<Self> {
        let mut codes = codes.filter(|code| !code.is_empty());
        let first = codes.next()?;
        let mut brought = Self { last: first.clone(), first, are_too_many: false };
        for code in codes.filter(|code| *code != brought.first) {
            brought.are_too_many |= ![&brought.first, &code].contains(&&brought.last);
            brought.last = code;
        }
        Some(brought)
    }
}

/// What a query tells about the sign-in, beside its codes.
#[derive(Default)]
struct ReturnedQuery {
    /// The binding to the browser that alone can use a code, by its PKCE verifier: no other takes the code from it by being first.
    owner: Option<String>,
    scan_id: Option<String>,
    sealed_state: Option<Digest>,
}

impl ReturnedQuery {
    fn read(app: &App, query: &str) -> Self {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if name == SCAN_ID {
                read.scan_id.get_or_insert_with(|| value.into_owned());
            } else if let Some(state) = Some(&*value).filter(|_| name == "state").and_then(LoginState::parse) {
                read.sealed_state = read.sealed_state.or_else(|| state.sealed_digest(app));
                read.owner = read.owner.or(state.binding.filter(|_| state.has_challenge));
                read.scan_id = read.scan_id.or(state.scan_id);
            }
        }
        read
    }
}

/// The browser of a request. One without a cookie of ours is known by its address and its name only, as are others of its office:
/// it may repeat its request, and ask nothing else with the code.
fn bearer(
    app: &App,
    peer: IpAddr,
    headers: &HeaderMap,
    ReturnedQuery { owner, scan_id, sealed_state }: ReturnedQuery,
    asked: Option<[&str; 2]>,
) -> CodeBearer {
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
    let signs = BegunSigns::new(scan_id.as_deref(), flow.as_ref().map(Secret::digest), sealed_state);
    CodeBearer { browser, request, address, signs }
}

async fn claim(app: &App, bearer: &CodeBearer, codes: &BroughtCodes) -> Result<ClaimedCodes, ApiError> {
    let claimed = app.auth.claim_codes([&codes.first, &codes.last], bearer).await;
    if codes.are_too_many {
        return Err(ApiError::field("code", FieldError::Repeated));
    }
    Ok(ClaimedCodes(claimed))
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
    fn the_codes_at_both_ends_are_claimed() {
        for (given, brought) in [
            (&[][..], None),
            (&["", ""], None),
            (&["a"], Some(("a", "a", false))),
            (&["a", "a"], Some(("a", "a", false))),
            (&["a", "", "b", "a", "b"], Some(("a", "b", false))),
            (&["a", "b", "c"], Some(("a", "c", true))),
            (&["a", "b", "c", "a"], Some(("a", "c", true))),
            (&["a", "b", "c", "c"], Some(("a", "c", true))),
        ] {
            let brought = brought.map(|(first, last, are_too_many): (&str, &str, bool)| BroughtCodes {
                first: first.to_owned(),
                last: last.to_owned(),
                are_too_many,
            });
            assert_eq!(BroughtCodes::of(given.iter().map(|code: &&str| (*code).to_owned())), brought, "{given:?}");
        }
    }
}
