//! The simulated platform, mounted where the platform's client looks for it in development mode.

use std::io;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use deskpass_simulator::SimulatorReply;
use futures_util::stream;

use crate::http::error::ApiError;
use crate::http::request::{Developer, FullRequest, RequestContext};

/// Responds as the platform would.
pub(crate) async fn answer(
    _: Developer,
    State(RequestContext { app, peer, .. }): State<RequestContext>,
    FullRequest(request): FullRequest,
) -> Result<Response, ApiError> {
    let simulator = app.simulator.as_ref().ok_or(ApiError::DevelopmentOff)?;
    Ok(match simulator.handle(peer, request).await {
        SimulatorReply::Response(response) => response.map(Body::from),
        // A body that fails before its first byte breaks the connection.
        SimulatorReply::HangUp => {
            Response::new(Body::from_stream(stream::iter([Err::<&[u8], _>(io::Error::other("connection closed"))])))
        }
    })
}
