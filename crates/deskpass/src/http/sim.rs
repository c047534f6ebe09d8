//! The platform in a box, mounted where the client of the platform looks for it in development mode.

use std::io;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use deskpass_wecom_sim::Answer;
use futures_util::stream;

use super::extract::{Developer, Peer, Whole};
use super::failure::Failure;
use crate::Desk;

/// Answers as the platform would.
pub(super) async fn answer(
    _: Developer,
    State(desk): State<Desk>,
    Peer(peer): Peer,
    Whole(request): Whole,
) -> Result<Response, Failure> {
    let simulator = desk.simulator.as_ref().ok_or(Failure::DevelopmentOff)?;
    Ok(match simulator.answer(peer, request).await {
        Answer::Response(response) => response.map(Body::from),
        // A body that fails before its first byte takes the connection with it.
        Answer::HangUp => {
            Response::new(Body::from_stream(stream::iter([Err::<&[u8], _>(io::Error::other("hung up"))])))
        }
    })
}
