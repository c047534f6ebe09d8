//! What a handler can ask for. Authority is an argument: a handler that forgets it does not have it.

use std::borrow::Cow;
use std::future::poll_fn;
use std::net::IpAddr;
use std::ops::Deref;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body as RequestBody;
use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::{Bytes, BytesMut};
use deskpass_auth::{Error, Refusal, TokenProblem};
use deskpass_core::{ClientAddress, UserAgent, Visitor};
use http_body_util::BodyExt as _;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;
use tokio::time::timeout;

use super::answer::Window;
use super::failure::{BadRequest, Failure};
use super::fields::{Ask, Fields};
use crate::Desk;
use crate::config::Language;

/// Whoever holds a live token.
#[derive(Debug)]
pub(super) struct Holder(pub(super) deskpass_auth::Holder);

/// Somebody signed in whose active role stands.
#[derive(Debug)]
pub(super) struct Caller(pub(super) deskpass_auth::Caller);

/// Whoever shows a live token, of a session or of half a sign-in.
#[derive(Debug)]
pub(super) struct Entrant(pub(super) deskpass_auth::Entrant);

/// The session of a token that a request shows besides what it asks; none where there is no good one.
#[derive(Debug)]
pub(super) struct Besides(pub(super) Option<deskpass_auth::Holder>);

/// Where a request comes from.
#[derive(Debug)]
pub(super) struct Guest(pub(super) Visitor);

/// The request is allowed because development mode is on.
#[derive(Debug)]
pub(super) struct Developer;

/// The request comes from an operator's network.
#[derive(Debug)]
pub(super) struct Operator;

/// The address of the connection.
#[derive(Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// A request with the whole of its body.
#[derive(Debug)]
pub(super) struct Whole(pub(super) hyper::Request<Bytes>);

/// The language the client reads.
#[derive(Debug)]
pub(super) struct Reads(pub(super) Language);

/// A JSON body, read and checked.
#[derive(Debug)]
pub(super) struct Body<T>(pub(super) T);

/// A JSON body as it was sent.
#[derive(Debug)]
pub(super) struct JsonText(pub(super) String);

impl JsonText {
    /// A body of so many bytes at most, where that is more than bodies may have in general.
    pub(super) async fn up_to(bytes: usize, request: Request, window: &Window) -> Result<Self, Failure> {
        if !is_json(request.headers()) {
            return Err(BadRequest::MediaType.into());
        }
        let limits = &window.desk.settings.server;
        let body = collect(request.into_body(), limits.max_body.max(bytes));
        let bytes = within(limits.body_timeout, body).await?;
        Ok(Self(String::from_utf8(bytes.into()).map_err(|_| BadRequest::NotUtf8)?))
    }
}

/// A JSON body that may be missing, as if nothing stood in it.
#[derive(Debug)]
pub(super) struct Perhaps<T>(pub(super) T);

impl Deref for Holder {
    type Target = deskpass_auth::Holder;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Deref for Caller {
    type Target = deskpass_auth::Holder;
    fn deref(&self) -> &Self::Target {
        &self.0.0
    }
}

impl Caller {
    /// The caller, for work that outlives the request.
    pub(super) fn into_inner(self) -> deskpass_auth::Caller {
        self.0
    }
}

/// The token of a request: the only place that reads the header, so that every route means the same one.
pub(super) fn bearer(headers: &HeaderMap) -> Result<&str, Failure> {
    let problem = |problem| Failure::from(Refusal::Token(problem));
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let header = given.next().ok_or_else(|| problem(TokenProblem::Missing))?;
    if given.next().is_some() {
        return Err(BadRequest::TwoAuthorizations.into());
    }
    let text = header.to_str().map_err(|_| problem(TokenProblem::Malformed))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(problem(TokenProblem::Missing));
    }
    // RFC 9110 allows several spaces after the scheme.
    Ok(token.trim_start_matches(' '))
}

impl FromRequestParts<Window> for Holder {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let token = bearer(&parts.headers)?;
        Ok(Self(window.desk.auth.authenticate(token, Some(from(parts, window))).await?))
    }
}

impl FromRequestParts<Window> for Caller {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let Holder(holder) = Holder::from_request_parts(parts, window).await?;
        Ok(Self(holder.into_caller()?))
    }
}

impl FromRequestParts<Window> for Entrant {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let token = bearer(&parts.headers)?;
        Ok(Self(window.desk.auth.entrant(token, from(parts, window)).await?))
    }
}

impl FromRequestParts<Window> for Besides {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        match Holder::from_request_parts(parts, window).await {
            Ok(Holder(holder)) => Ok(Self(Some(holder))),
            Err(Failure::Refused(_)) => Ok(Self(None)),
            Err(other) => Err(other),
        }
    }
}

/// The header in which proxies say whom they ask for.
pub(super) const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Where a request comes from: the only place that reads the header.
pub(super) fn client_address<'a>(
    desk: &Desk,
    peer: IpAddr,
    forwarded: impl Iterator<Item = &'a HeaderValue>,
) -> ClientAddress {
    let forwarded: Vec<_> = forwarded.map(text).collect();
    ClientAddress::read(peer, forwarded.iter().map(|value| &**value), &desk.trusted)
}

/// What the header says.
pub(super) fn forwarded(headers: &HeaderMap) -> Vec<Cow<'_, str>> {
    headers.get_all(FORWARDED).iter().map(text).collect()
}

/// Not all of it need be text. Only the items that are not may be lost by that, and never the proxy's own entry.
fn text(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// Where a request comes from, as far as that decides.
pub(super) fn from(parts: &Parts, window: &Window) -> IpAddr {
    client_address(&window.desk, window.peer, parts.headers.get_all(FORWARDED).iter()).decided
}

impl FromRequestParts<Window> for Guest {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let forwarded = parts.headers.get_all(FORWARDED).iter();
        let address = client_address(&window.desk, window.peer, forwarded);
        let agent = parts.headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
        Ok(Self(Visitor { address, user_agent: UserAgent::from_header(agent) }))
    }
}

impl FromRequestParts<Window> for Developer {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        if !window.desk.settings.development {
            return Err(Failure::DevelopmentOff);
        }
        // These routes ask for no proof, so that a form on any page could use them.
        let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let (host, site, origin) = (header("host"), header("sec-fetch-site"), header("origin"));
        let cross_site = window.desk.settings.hosts().is_cross_site(host, site, origin);
        if cross_site && !parts.method.is_safe() { Err(Failure::CrossSite) } else { Ok(Self) }
    }
}

impl FromRequestParts<Window> for Operator {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, window: &Window) -> Result<Self, Failure> {
        let Guest(visitor) = Guest::from_request_parts(parts, window).await?;
        if window.desk.operators.contain(visitor.address.decided) { Ok(Self) } else { Err(Failure::NotAnOperator) }
    }
}

impl FromRequestParts<Window> for Reads {
    type Rejection = Failure;
    async fn from_request_parts(_: &mut Parts, window: &Window) -> Result<Self, Failure> {
        Ok(Self(window.language))
    }
}

impl FromRequestParts<Window> for Peer {
    type Rejection = Failure;
    async fn from_request_parts(_: &mut Parts, window: &Window) -> Result<Self, Failure> {
        Ok(Self(window.peer))
    }
}

impl FromRequest<Window> for Whole {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let limits = &window.desk.settings.server;
        let (parts, body) = request.into_parts();
        let bytes = within(limits.body_timeout, collect(body, limits.max_body)).await?;
        Ok(Self(hyper::Request::from_parts(parts, bytes)))
    }
}

impl<T: Ask> FromRequest<Window> for Body<T> {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        if !is_json(request.headers()) {
            return Err(BadRequest::MediaType.into());
        }
        let limits = &window.desk.settings.server;
        let bytes = within(limits.body_timeout, collect(request.into_body(), limits.max_body)).await?;
        let fields: Fields = serde_json::from_slice(&bytes).map_err(|_| unreadable(&bytes))?;
        Ok(Self(fields.ask().map_err(BadRequest::Fields)?))
    }
}

impl<T: Ask> FromRequest<Window> for Perhaps<T> {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (json, limits) = (is_json(request.headers()), &window.desk.settings.server);
        let bytes = within(limits.body_timeout, collect(request.into_body(), limits.max_body)).await?;
        let fields = match (bytes.is_empty(), json) {
            (true, _) => Fields::default(),
            (false, true) => serde_json::from_slice(&bytes).map_err(|_| unreadable(&bytes))?,
            (false, false) => return Err(BadRequest::MediaType.into()),
        };
        Ok(Self(fields.ask().map_err(BadRequest::Fields)?))
    }
}

/// Runs work to its end also when the client stops waiting for it, and its handler with it: what has begun to happen must
/// not be left half done.
pub(super) async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::spawn(work).await {
        Ok(done) => Ok(done?),
        Err(broken) => Err(Failure::unexpected(&broken)),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn unreadable(bytes: &[u8]) -> BadRequest {
    if std::str::from_utf8(bytes).is_err() { BadRequest::NotUtf8 } else { BadRequest::NotJson }
}

/// Waits for a body, but not for ever. Most bodies are there already, and those cost no timer.
async fn within<T>(limit: Duration, arriving: impl Future<Output = Result<T, BadRequest>>) -> Result<T, BadRequest> {
    let mut arriving = pin!(arriving);
    match poll_fn(|context| Poll::Ready(arriving.as_mut().poll(context))).await {
        Poll::Ready(arrived) => arrived,
        Poll::Pending => timeout(limit, arriving).await.unwrap_or(Err(BadRequest::TooSlow)),
    }
}

/// Reads a body up to `limit` bytes. A body that is too large is read on and thrown away for a while, since a client
/// that is still sending would see a broken connection instead of the answer.
async fn collect(mut body: RequestBody, limit: usize) -> Result<Bytes, BadRequest> {
    let (mut kept, mut seen) = (Bytes::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BadRequest::Broken)?.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen > limit.saturating_mul(32) {
            break;
        } else if seen <= limit {
            kept = join(kept, data);
        }
    }
    if seen > limit { Err(BadRequest::TooLarge(limit)) } else { Ok(kept) }
}

/// Most bodies come in one piece, which then needs no copy.
fn join(kept: Bytes, more: Bytes) -> Bytes {
    if kept.is_empty() {
        return more;
    }
    let mut both = BytesMut::from(kept);
    both.extend_from_slice(&more);
    both.freeze()
}
