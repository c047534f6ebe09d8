//! What the platform sends by itself: checks of the address, and events about people.

use std::net::IpAddr;

use axum::extract::{FromRequest, Request};
use axum::response::IntoResponse as _;
use bytes::Bytes;
use deskpass_auth::{Error, EventError};
use deskpass_platform::{InboundError, InboundRequest};
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Method};

use crate::App;
use crate::http::error::{ApiError, BadRequest, ErrorCause};
use crate::http::request::{DescribeInput, RequestContext, X_FORWARDED_FOR, client_address, raw_body};
use crate::http::response::described_responses;

/// A request of the platform, as it arrived: its signature is about these bytes.
#[derive(Debug)]
pub(crate) struct PlatformRequest {
    is_get: bool,
    query: String,
    headers: HeaderMap,
    /// `None` if it is too large.
    body: Option<Bytes>,
    /// The address of the sender.
    address: IpAddr,
}

impl FromRequest<RequestContext> for PlatformRequest {
    type Rejection = ApiError;
    async fn from_request(request: Request, context: &RequestContext) -> Result<Self, ApiError> {
        let (is_get, headers) = (request.method() != Method::POST, request.headers().clone());
        let address = client_address(&context.app, context.peer, headers.get_all(X_FORWARDED_FOR).iter()).decided;
        let query = request.uri().query().unwrap_or_default().to_owned();
        let most = context.app.settings.platform.kind.max_event_bytes();
        let body = match raw_body(most, request, context).await {
            Ok(body) => Some(body),
            // Refused and counted below, like everything else that the platform does not send.
            Err(ApiError::BadRequest(BadRequest::TooLarge(_))) => None,
            // The platform sends the event again.
            Err(ApiError::TooManyBodies) => return Err(ApiError::TooManyBodies),
            Err(_) => return Err(ApiError::EventRefused),
        };
        Ok(Self { is_get, query, headers, body, address })
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
    let PlatformRequest { is_get, query, headers, body, address } = &request;
    let Some(body) = body else {
        let error = app.auth.refuse_events(InboundError::Malformed);
        log_refusal(&app, error, *address);
        return Err(refused(error));
    };
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (at, random) = (app.auth.clock.now(), app.auth.entropy.bytes().map_err(Error::from)?);
    let inbound = InboundRequest { is_get: *is_get, query, header: &header, body, at, random };
    let received = app.auth.receive_events(&inbound).await;
    let reply = received.inspect_err(|error| log_refusal(&app, *error, *address)).map_err(refused)?;
    Ok(EventReply(([(CONTENT_TYPE, reply.content_type)], reply.body).into_response()))
}

/// Writes a line about refused events, within the limits of all refusals: any client can cause them.
fn log_refusal(app: &App, error: EventError, address: IpAddr) {
    let EventError::Refused(outcome) = error else { return };
    if app.failure_log.admits_anonymous_refusal(address, app.auth.clock.now()) {
        tracing::warn!(
            %outcome, %address,
            "events of the platform refused: if the platform sent them, compare the token and the key for events in the \
             settings with those in the platform's console"
        );
    }
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
