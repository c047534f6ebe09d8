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
use deskpass_auth::{Error, Refusal, TokenError};
use deskpass_core::{ClientAddress, ClientInfo, UserAgent};
use http_body_util::BodyExt as _;
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;
use tokio::time::timeout;

use crate::App;
use crate::config::Language;
use crate::http::dispatcher::RequestContext;
use crate::http::error::{ApiError, BadRequest};
use crate::http::request::fields::{Fields, FromFields};

/// Whoever holds a live token.
#[derive(Debug)]
pub(crate) struct TokenHolder(pub(crate) deskpass_auth::TokenHolder);

/// Somebody signed in whose active role stands.
#[derive(Debug)]
pub(crate) struct ActiveUser(pub(crate) deskpass_auth::ActiveUser);

/// Whoever shows a live token, of a session or of half a sign-in.
#[derive(Debug)]
pub(crate) struct PartialOrFull(pub(crate) deskpass_auth::PartialOrFull);

/// The session of a token that a request shows besides what it asks; none where there is no good one.
#[derive(Debug)]
pub(crate) struct OptionalSession(pub(crate) Option<deskpass_auth::TokenHolder>);

/// Where a request comes from.
#[derive(Debug)]
pub(crate) struct RequestClient(pub(crate) ClientInfo);

/// The request is allowed because development mode is on.
#[derive(Debug)]
pub(crate) struct Developer;

/// The request comes from an operator's network.
#[derive(Debug)]
pub(crate) struct Operator;

/// The address of the connection.
#[derive(Debug)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

/// A request with the whole of its body.
#[derive(Debug)]
pub(crate) struct FullRequest(pub(crate) hyper::Request<Bytes>);

/// The language the client reads.
#[derive(Debug)]
pub(crate) struct ClientLanguage(pub(crate) Language);

/// A JSON body, read and checked.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body as it was sent.
#[derive(Debug)]
pub(crate) struct RawJson(pub(crate) String);

impl RawJson {
    /// A body of so many bytes at most, where that is more than bodies may have in general.
    pub(crate) async fn up_to(bytes: usize, request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(BadRequest::MediaType.into());
        }
        let limits = &context.app.settings.server;
        let body = read_body(request.into_body(), limits.max_body.max(bytes));
        let bytes = with_timeout(limits.body_timeout, body).await?;
        Ok(Self(String::from_utf8(bytes.into()).map_err(|_| BadRequest::NotUtf8)?))
    }
}

/// A JSON body that may be missing, as if nothing stood in it.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl Deref for TokenHolder {
    type Target = deskpass_auth::TokenHolder;
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Deref for ActiveUser {
    type Target = deskpass_auth::TokenHolder;
    fn deref(&self) -> &Self::Target {
        &self.0.0
    }
}

impl ActiveUser {
    /// The caller, for work that outlives the request.
    pub(crate) fn into_inner(self) -> deskpass_auth::ActiveUser {
        self.0
    }
}

/// The token of a request: the only place that reads the header, so that every route means the same one.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Result<&str, ApiError> {
    let problem = |problem| ApiError::from(Refusal::Token(problem));
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let header = given.next().ok_or_else(|| problem(TokenError::Missing))?;
    if given.next().is_some() {
        return Err(BadRequest::RepeatedAuthorization.into());
    }
    let text = header.to_str().map_err(|_| problem(TokenError::Malformed))?;
    let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(problem(TokenError::Missing));
    }
    // RFC 9110 allows several spaces after the scheme.
    Ok(token.trim_start_matches(' '))
}

impl FromRequestParts<RequestContext> for TokenHolder {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let token = bearer_token(&parts.headers)?;
        Ok(Self(context.app.auth.authenticate(token, Some(client_ip(parts, context))).await?))
    }
}

impl FromRequestParts<RequestContext> for ActiveUser {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let TokenHolder(holder) = TokenHolder::from_request_parts(parts, context).await?;
        Ok(Self(holder.into_active_user()?))
    }
}

impl FromRequestParts<RequestContext> for PartialOrFull {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let token = bearer_token(&parts.headers)?;
        Ok(Self(context.app.auth.authenticate_partial_or_full(token, client_ip(parts, context)).await?))
    }
}

impl FromRequestParts<RequestContext> for OptionalSession {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        match TokenHolder::from_request_parts(parts, context).await {
            Ok(TokenHolder(holder)) => Ok(Self(Some(holder))),
            Err(ApiError::Refused(_)) => Ok(Self(None)),
            Err(other) => Err(other),
        }
    }
}

/// The header in which proxies say whom they ask for.
pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Where a request comes from: the only place that reads the header.
pub(crate) fn client_address<'a>(
    app: &App,
    peer: IpAddr,
    forwarded: impl Iterator<Item = &'a HeaderValue>,
) -> ClientAddress {
    let forwarded: Vec<_> = forwarded.map(lossy_text).collect();
    ClientAddress::read(peer, forwarded.iter().map(|value| &**value), &app.trusted)
}

/// What the header says.
pub(crate) fn forwarded_for(headers: &HeaderMap) -> Vec<Cow<'_, str>> {
    headers.get_all(X_FORWARDED_FOR).iter().map(lossy_text).collect()
}

/// Not all of it need be text. Only the items that are not may be lost by that, and never the proxy's own entry.
fn lossy_text(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// Where a request comes from, as far as that decides.
pub(crate) fn client_ip(parts: &Parts, context: &RequestContext) -> IpAddr {
    client_address(&context.app, context.peer, parts.headers.get_all(X_FORWARDED_FOR).iter()).decided
}

impl FromRequestParts<RequestContext> for RequestClient {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let forwarded = parts.headers.get_all(X_FORWARDED_FOR).iter();
        let address = client_address(&context.app, context.peer, forwarded);
        let agent = parts.headers.get(USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
        Ok(Self(ClientInfo { address, user_agent: UserAgent::from_header(agent) }))
    }
}

impl FromRequestParts<RequestContext> for Developer {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        if !context.app.settings.development {
            return Err(ApiError::DevelopmentOff);
        }
        // These routes ask for no proof, so that a form on any page could use them.
        let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let (host, site, origin) = (header("host"), header("sec-fetch-site"), header("origin"));
        let cross_site = context.app.settings.hosts().is_cross_site(host, site, origin);
        if cross_site && !parts.method.is_safe() { Err(ApiError::CrossSite) } else { Ok(Self) }
    }
}

impl FromRequestParts<RequestContext> for Operator {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let RequestClient(visitor) = RequestClient::from_request_parts(parts, context).await?;
        if context.app.operators.contains(visitor.address.decided) { Ok(Self) } else { Err(ApiError::NotAnOperator) }
    }
}

impl FromRequestParts<RequestContext> for ClientLanguage {
    type Rejection = ApiError;
    async fn from_request_parts(_: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(context.language))
    }
}

impl FromRequestParts<RequestContext> for PeerAddress {
    type Rejection = ApiError;
    async fn from_request_parts(_: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(context.peer))
    }
}

impl FromRequest<RequestContext> for FullRequest {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let limits = &context.app.settings.server;
        let (parts, body) = request.into_parts();
        let bytes = with_timeout(limits.body_timeout, read_body(body, limits.max_body)).await?;
        Ok(Self(hyper::Request::from_parts(parts, bytes)))
    }
}

impl<T: FromFields> FromRequest<RequestContext> for JsonBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(BadRequest::MediaType.into());
        }
        let limits = &context.app.settings.server;
        let bytes = with_timeout(limits.body_timeout, read_body(request.into_body(), limits.max_body)).await?;
        let fields: Fields = serde_json::from_slice(&bytes).map_err(|_| parse_error(&bytes))?;
        Ok(Self(fields.parse().map_err(BadRequest::Fields)?))
    }
}

impl<T: FromFields> FromRequest<RequestContext> for OptionalBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (json, limits) = (is_json(request.headers()), &context.app.settings.server);
        let bytes = with_timeout(limits.body_timeout, read_body(request.into_body(), limits.max_body)).await?;
        let fields = match (bytes.is_empty(), json) {
            (true, _) => Fields::default(),
            (false, true) => serde_json::from_slice(&bytes).map_err(|_| parse_error(&bytes))?,
            (false, false) => return Err(BadRequest::MediaType.into()),
        };
        Ok(Self(fields.parse().map_err(BadRequest::Fields)?))
    }
}

/// Runs work to its end also when the client stops waiting for it, and its handler with it: what has begun to happen must
/// not be left half done.
pub(crate) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::spawn(work).await {
        Ok(done) => Ok(done?),
        Err(broken) => Err(ApiError::unexpected(&broken)),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn parse_error(bytes: &[u8]) -> BadRequest {
    if std::str::from_utf8(bytes).is_err() { BadRequest::NotUtf8 } else { BadRequest::NotJson }
}

/// Waits for a body, but not for ever. Most bodies are there already, and those cost no timer.
async fn with_timeout<T>(
    limit: Duration,
    arriving: impl Future<Output = Result<T, BadRequest>>,
) -> Result<T, BadRequest> {
    let mut arriving = pin!(arriving);
    match poll_fn(|context| Poll::Ready(arriving.as_mut().poll(context))).await {
        Poll::Ready(arrived) => arrived,
        Poll::Pending => timeout(limit, arriving).await.unwrap_or(Err(BadRequest::BodyTimeout)),
    }
}

/// Reads a body up to `limit` bytes. A body that is too large is read on and thrown away for a while, since a client
/// that is still sending would see a broken connection instead of the answer.
async fn read_body(mut body: RequestBody, limit: usize) -> Result<Bytes, BadRequest> {
    let (mut kept, mut seen) = (Bytes::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BadRequest::BodyIncomplete)?.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen > limit.saturating_mul(32) {
            break;
        } else if seen <= limit {
            kept = append(kept, data);
        }
    }
    if seen > limit { Err(BadRequest::TooLarge(limit)) } else { Ok(kept) }
}

/// Most bodies come in one piece, which then needs no copy.
fn append(kept: Bytes, more: Bytes) -> Bytes {
    if kept.is_empty() {
        return more;
    }
    let mut both = BytesMut::from(kept);
    both.extend_from_slice(&more);
    both.freeze()
}
