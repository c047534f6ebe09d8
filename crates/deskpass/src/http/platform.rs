//! What the platform sends by itself: checks of the address, and events about people.

use axum::extract::{FromRequest, Request};
use axum::response::IntoResponse as _;
use bytes::Bytes;
use deskpass_auth::{Error, EventError};
use deskpass_platform::InboundRequest;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Method};

use crate::App;
use crate::http::error::{ApiError, BadRequest, ErrorCause};
use crate::http::request::{DescribeInput, RequestContext, raw_body};
use crate::http::response::described_responses;

/// The largest body. A change of the application's range may name many members.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// A request of the platform, as it arrived: its signature is about these bytes.
#[derive(Debug)]
pub(crate) struct PlatformRequest {
    is_get: bool,
    query: String,
    headers: HeaderMap,
    body: Bytes,
}

impl FromRequest<RequestContext> for PlatformRequest {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (is_get, headers) = (request.method() != Method::POST, request.headers().clone());
        let query = request.uri().query().unwrap_or_default().to_owned();
        let body = match raw_body(MAX_BODY_BYTES, request, context).await {
            Ok(body) => body,
            // Refused and counted below, like everything else that the platform does not send.
            Err(BadRequest::TooLarge(limit)) => Bytes::from(vec![0; limit + 1]),
            Err(_) => return Err(ApiError::EventRefused),
        };
        Ok(Self { is_get, query, headers, body })
    }
}

impl DescribeInput for PlatformRequest {}

described_responses! {
    /// The reply that the platform expects.
    EventReply: |spec| {
        spec.replies_plain("text/plain");
        spec.replies_plain("application/json");
    };
}

/// Receives events. The reply says that they are stored; they are handled afterwards.
pub(crate) async fn events(app: App, request: PlatformRequest) -> Result<EventReply, ApiError> {
    let PlatformRequest { is_get, query, headers, body } = &request;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (at, random) = (app.auth.clock.now(), app.auth.entropy.bytes().map_err(Error::from)?);
    let inbound = InboundRequest { is_get: *is_get, query, header: &header, body, at, random };
    let reply = app.auth.receive_events(&inbound).await.map_err(refused)?;
    Ok(EventReply(([(CONTENT_TYPE, reply.content_type)], reply.body).into_response()))
}

/// The answer does not say why a request is refused: the sender may not be the platform.
fn refused(error: EventError) -> ApiError {
    match error {
        EventError::NotConfigured | EventError::Refused(_) => ApiError::EventRefused,
        EventError::Unavailable => {
            ApiError::Internal(ErrorCause::StoreUnavailable, "events could not be stored in time".to_owned())
        }
    }
}
