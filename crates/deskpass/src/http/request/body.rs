//! Reads the body of a request, within a size limit and a timeout.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body as RequestBody;
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use tokio::time::timeout;
use url::form_urlencoded;

use crate::http::error::{ApiError, BadRequest};
use crate::http::request::context::RequestContext;
use crate::http::request::describe::{DescribeInput, InputSpec};
use crate::http::request::fields::{Fields, FromFields};

/// A request with its complete body.
#[derive(Debug)]
pub(crate) struct FullRequest(pub(crate) hyper::Request<Bytes>);

/// A JSON body, parsed and validated.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body as it was sent.
#[derive(Debug)]
pub(crate) struct RawJson(pub(crate) String);

impl RawJson {
    /// Reads a body of at most `bytes`, or of the general limit where that is larger.
    pub(crate) async fn up_to(bytes: usize, request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(BadRequest::MediaType.into());
        }
        let limits = &context.app.settings.server;
        let body = read_body(request.into_body(), limits.max_body.bytes().max(bytes));
        let bytes = with_timeout(limits.body_timeout, body).await?;
        Ok(Self(String::from_utf8(bytes.into()).map_err(|_| BadRequest::NotUtf8)?))
    }
}

/// A JSON body that may be missing; a missing one counts as empty.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl FromRequest<RequestContext> for FullRequest {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let limits = &context.app.settings.server;
        let (parts, body) = request.into_parts();
        let bytes = with_timeout(limits.body_timeout, read_body(body, limits.max_body.bytes())).await?;
        Ok(Self(hyper::Request::from_parts(parts, bytes)))
    }
}

impl DescribeInput for FullRequest {
    fn describe_input(_: &mut InputSpec) {}
}

impl<T: FromFields> FromRequest<RequestContext> for JsonBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(BadRequest::MediaType.into());
        }
        let limits = &context.app.settings.server;
        let bytes = with_timeout(limits.body_timeout, read_body(request.into_body(), limits.max_body.bytes())).await?;
        let fields: Fields = serde_json::from_slice(&bytes).map_err(|_| parse_error(&bytes))?;
        Ok(Self(fields.parse().map_err(BadRequest::Fields)?))
    }
}

impl<T: FromFields> DescribeInput for JsonBody<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_body::<T>();
    }
}

impl<T: FromFields> FromRequest<RequestContext> for OptionalBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (json, limits) = (is_json(request.headers()), &context.app.settings.server);
        let bytes = with_timeout(limits.body_timeout, read_body(request.into_body(), limits.max_body.bytes())).await?;
        let fields = match (bytes.is_empty(), json) {
            (true, _) => Fields::default(),
            (false, true) => serde_json::from_slice(&bytes).map_err(|_| parse_error(&bytes))?,
            (false, false) => return Err(BadRequest::MediaType.into()),
        };
        Ok(Self(fields.parse().map_err(BadRequest::Fields)?))
    }
}

impl<T: FromFields> DescribeInput for OptionalBody<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.may_read_body::<T>();
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn parse_error(bytes: &[u8]) -> BadRequest {
    if std::str::from_utf8(bytes).is_err() { BadRequest::NotUtf8 } else { BadRequest::NotJson }
}

/// Waits for a body, up to `limit`. Most bodies have arrived already and need no timer.
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

/// Reads a body up to `limit` bytes. The rest of a larger body is read and discarded for a while, since a client that is still
/// sending would see a broken connection instead of the response.
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

/// Appends a chunk. Most bodies are one chunk, which needs no copy.
fn append(kept: Bytes, more: Bytes) -> Bytes {
    if kept.is_empty() {
        return more;
    }
    let mut both = BytesMut::from(kept);
    both.extend_from_slice(&more);
    both.freeze()
}

/// A body as a form, as RFC 7662 requires, or as JSON.
pub(crate) struct FormOrJson<T>(pub(crate) T);

impl<T: FromFields> DescribeInput for FormOrJson<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_form::<T>();
    }
}

impl<T: FromFields> FromRequest<RequestContext> for FormOrJson<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match &*kind {
            "application/json" => JsonBody::from_request(request, context).await.map(|JsonBody(input)| Self(input)),
            "application/x-www-form-urlencoded" => {
                let FullRequest(request) = FullRequest::from_request(request, context).await?;
                let pairs = form_urlencoded::parse(request.body());
                let fields: Fields = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
                Ok(Self(fields.parse().map_err(BadRequest::Fields)?))
            }
            _ => Err(BadRequest::FormType.into()),
        }
    }
}
