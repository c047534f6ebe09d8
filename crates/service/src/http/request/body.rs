//! Reads the body of a request, within a size limit and a timeout.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use axum::body::Body as RequestBody;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use hyper::HeaderMap;
use hyper::body::Body as _;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use tokio::time::timeout;
use url::form_urlencoded;

use super::body_buffer::BodyBuffer;
use crate::http::error::{ApiError, BadRequest};
use crate::http::request::{BodySpec, DescribeInput, Fields, FromFields, InputSpec, RequestContext};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// How many times the maximum size is read of a body that is too large.
const MAX_DISCARDED_LIMITS: usize = 32;

/// A request with its complete body.
#[derive(Debug)]
pub(crate) struct FullRequest(pub(crate) hyper::Request<Bytes>);

/// A JSON body, parsed and validated.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body that may be missing; a missing one counts as empty.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

/// A body as a form, as RFC 7662 requires, or as JSON.
pub(crate) struct FormOrJson<T>(pub(crate) T);

/// Reads a JSON body as text, of at most `bytes`, or of the general limit where that is larger.
pub(crate) async fn json_text(bytes: usize, request: Request, context: &RequestContext) -> Result<String, ApiError> {
    if !is_of_type(request.headers(), JSON) {
        return Err(BadRequest::MediaType.into());
    }
    let body = read_body(request, context, bytes).await?;
    Ok(String::from_utf8(body.into()).map_err(|_| BadRequest::NotUtf8)?)
}

/// Reads a JSON body as fields that are not validated. Compiled once, for all types of bodies.
async fn json_fields(request: Request, context: &RequestContext) -> Result<Fields, ApiError> {
    if !is_of_type(request.headers(), JSON) {
        return Err(BadRequest::MediaType.into());
    }
    let bytes = read_body(request, context, 0).await?;
    Ok(parse_json(&bytes)?)
}

/// Reads a body of at most `most` bytes as it is, whatever the general limit.
pub(crate) async fn raw_body(most: usize, request: Request, context: &RequestContext) -> Result<Bytes, ApiError> {
    let (parts, body) = request.into_parts();
    arriving_body(most, &parts, body, context).await
}

/// Reads a form of at most `most` bytes. A body without content needs no type.
pub(super) async fn form_bytes(most: usize, request: Request, context: &RequestContext) -> Result<Bytes, ApiError> {
    let is_form = is_of_type(request.headers(), FORM);
    let bytes = raw_body(most, request, context).await?;
    if bytes.is_empty() || is_form { Ok(bytes) } else { Err(BadRequest::NotAForm.into()) }
}

impl FromRequest<RequestContext> for FullRequest {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = arriving_body(context.app.settings.server.max_body.bytes(), &parts, body, context).await?;
        Ok(Self(hyper::Request::from_parts(parts, bytes)))
    }
}

impl DescribeInput for FullRequest {}

impl<T: FromFields> FromRequest<RequestContext> for JsonBody<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self(json_fields(request, context).await?.parse().map_err(BadRequest::Fields)?))
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
        let is_json = is_of_type(request.headers(), JSON);
        let bytes = read_body(request, context, 0).await?;
        let fields = match (bytes.is_empty(), is_json) {
            (true, _) => Fields::default(),
            (false, true) => parse_json(&bytes)?,
            (false, false) => return Err(BadRequest::MediaType.into()),
        };
        Ok(Self(fields.parse().map_err(BadRequest::Fields)?))
    }
}

impl<T: FromFields> DescribeInput for OptionalBody<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.body = Some(BodySpec::of::<T>(false, &[JSON]));
    }
}

impl<T: FromFields> FromRequest<RequestContext> for FormOrJson<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        if is_of_type(request.headers(), JSON) {
            return JsonBody::from_request(request, context).await.map(|JsonBody(input)| Self(input));
        }
        if !is_of_type(request.headers(), FORM) {
            return Err(BadRequest::FormType.into());
        }
        let bytes = read_body(request, context, 0).await?;
        let fields: Fields = form_urlencoded::parse(&bytes).into_owned().collect();
        Ok(Self(fields.parse().map_err(BadRequest::Fields)?))
    }
}

impl<T: FromFields> DescribeInput for FormOrJson<T> {
    fn describe_input(spec: &mut InputSpec) {
        spec.body = Some(BodySpec::of::<T>(true, &[JSON, FORM]));
    }
}

fn is_of_type(headers: &HeaderMap, media_type: &str) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(media_type))
}

fn parse_json(bytes: &[u8]) -> Result<Fields, BadRequest> {
    let is_utf8 = || std::str::from_utf8(bytes).is_ok();
    serde_json::from_slice(bytes).map_err(|_| if is_utf8() { BadRequest::NotJson } else { BadRequest::NotUtf8 })
}

/// Reads a body up to the general limit, or up to `at_least` bytes where that is more.
async fn read_body(request: Request, context: &RequestContext, at_least: usize) -> Result<Bytes, ApiError> {
    raw_body(context.app.settings.server.max_body.bytes().max(at_least), request, context).await
}

/// Reads a body, up to `limit` bytes and as long as a client may take. All bodies are read here. Most have arrived already and
/// need no timer.
async fn arriving_body(
    limit: usize,
    parts: &Parts,
    body: RequestBody,
    context: &RequestContext,
) -> Result<Bytes, ApiError> {
    let declared = body.size_hint().exact().map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    let mut arriving = pin!(collect(body, limit, BodyBuffer::new(parts, context, limit, declared)));
    match poll_fn(|task| Poll::Ready(arriving.as_mut().poll(task))).await {
        Poll::Ready(arrived) => arrived,
        Poll::Pending => {
            let _waiting = context.connection.wait_for_body();
            let arrived = timeout(context.app.settings.server.body_timeout, arriving).await;
            arrived.unwrap_or(Err(BadRequest::BodyTimeout.into()))
        }
    }
}

/// Collects a body up to `limit` bytes. The rest of a larger body is read and discarded for a while, since a client that is still
/// sending would see a broken connection instead of the response.
async fn collect(mut body: RequestBody, limit: usize, mut buffer: BodyBuffer<'_>) -> Result<Bytes, ApiError> {
    let is_too_large = body.size_hint().lower() > limit as u64;
    let mut seen = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BadRequest::BodyIncomplete)?.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen > limit.saturating_mul(MAX_DISCARDED_LIMITS) {
            break;
        } else if is_too_large || seen > limit {
            buffer.clear();
        } else if let Err(error) = buffer.push(data) {
            discard_arrived(body, limit);
            return Err(error);
        }
    }
    if is_too_large || seen > limit { Err(BadRequest::TooLarge(limit).into()) } else { Ok(buffer.finish()) }
}

/// Discards what has arrived already, for the same reason. It waits for nothing: the client is told at once.
fn discard_arrived(mut body: RequestBody, limit: usize) {
    let mut left = limit;
    while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
        let size = frame.data_ref().map_or(1, Bytes::len);
        left = left.saturating_sub(size);
        if left == 0 {
            return;
        }
    }
}
