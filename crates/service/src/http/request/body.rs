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
use crate::http::request::{BodySpec, DescribeInput, Fields, FromFields, InputSpec, RequestContext};

pub(crate) const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

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
    let body = read_body(request.into_body(), context, bytes).await?;
    Ok(String::from_utf8(body.into()).map_err(|_| BadRequest::NotUtf8)?)
}

/// Reads a JSON body as fields that are not validated. Compiled once, for all types of bodies.
async fn json_fields(request: Request, context: &RequestContext) -> Result<Fields, ApiError> {
    if !is_of_type(request.headers(), JSON) {
        return Err(BadRequest::MediaType.into());
    }
    let bytes = read_body(request.into_body(), context, 0).await?;
    Ok(parse_json(&bytes)?)
}

/// Reads a body of at most `most` bytes as it is, whatever the general limit.
pub(crate) async fn raw_body(most: usize, request: Request, context: &RequestContext) -> Result<Bytes, BadRequest> {
    let limit = context.app.settings.server.body_timeout;
    with_timeout(limit, collect(request.into_body(), most)).await
}

/// Reads a form of at most `most` bytes. A body without content needs no type.
pub(super) async fn form_bytes(most: usize, request: Request, context: &RequestContext) -> Result<Bytes, ApiError> {
    let is_form = is_of_type(request.headers(), FORM);
    let limit = context.app.settings.server.body_timeout;
    let bytes = with_timeout(limit, collect(request.into_body(), most)).await?;
    if bytes.is_empty() || is_form { Ok(bytes) } else { Err(BadRequest::NotAForm.into()) }
}

impl FromRequest<RequestContext> for FullRequest {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        Ok(Self(hyper::Request::from_parts(parts, read_body(body, context, 0).await?)))
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
        let bytes = read_body(request.into_body(), context, 0).await?;
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
        let bytes = read_body(request.into_body(), context, 0).await?;
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

/// Parses and validates a JSON body.
pub(crate) fn parse_body<T: FromFields>(bytes: &[u8]) -> Result<T, BadRequest> {
    parse_json(bytes)?.parse().map_err(BadRequest::Fields)
}

fn parse_json(bytes: &[u8]) -> Result<Fields, BadRequest> {
    let is_utf8 = || std::str::from_utf8(bytes).is_ok();
    serde_json::from_slice(bytes).map_err(|_| if is_utf8() { BadRequest::NotJson } else { BadRequest::NotUtf8 })
}

/// Reads a body up to the general limit, or up to `at_least` bytes where that is more.
async fn read_body(body: RequestBody, context: &RequestContext, at_least: usize) -> Result<Bytes, BadRequest> {
    let limits = &context.app.settings.server;
    with_timeout(limits.body_timeout, collect(body, limits.max_body.bytes().max(at_least))).await
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

/// Collects a body up to `limit` bytes. The rest of a larger body is read and discarded for a while, since a client that is still
/// sending would see a broken connection instead of the response.
async fn collect(mut body: RequestBody, limit: usize) -> Result<Bytes, BadRequest> {
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
