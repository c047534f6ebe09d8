//! The envelope of every reply below /api.

use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;

use crate::http::error::ApiError;
use crate::http::response::{DescribeOutput, ErrorBody, OutputSpec, SuccessBody};

/// A successful response: its payload, before it is put into the envelope.
#[derive(Debug)]
pub(crate) struct Reply<T>(pub(crate) T);

/// A successful response with a negative result.
#[derive(Debug)]
pub(crate) struct NegativeReply<T>(pub(crate) T);

/// A successful response that also has the members of its payload at the top level, for clients that do not know the envelope.
#[derive(Debug)]
pub(crate) struct FlatReply<T>(pub(crate) T);

/// The envelope of a success.
#[derive(Serialize)]
struct Success<'a, T> {
    code: u16,
    message: &'static str,
    data: &'a T,
}

impl<'a, T> Success<'a, T> {
    const fn of(data: &'a T) -> Self {
        Self { code: 0, message: "ok", data }
    }
}

/// The envelope of a success, beside the members of its payload.
#[derive(Serialize)]
struct FlatSuccess<'a, T> {
    #[serde(flatten)]
    members: &'a T,
    #[serde(flatten)]
    envelope: Success<'a, T>,
}

/// The success that a handler returns. It travels in the extensions of the response to the dispatcher, which adds the request id.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The envelope of a success, open at its end for the request id.
    Success(Vec<u8>),
    /// The same with a negative result, which counts against the rate limit.
    Negative(Vec<u8>),
}

impl<T: Serialize> IntoResponse for Reply<T> {
    fn into_response(self) -> Response {
        respond(&Success::of(&self.0), Outcome::Success)
    }
}

impl<T: JsonSchema> DescribeOutput for Reply<T> {
    fn describe_output(spec: &mut OutputSpec) {
        spec.replies_with::<T>();
    }
}

impl<T: Serialize> IntoResponse for FlatReply<T> {
    fn into_response(self) -> Response {
        respond(&FlatSuccess { members: &self.0, envelope: Success::of(&self.0) }, Outcome::Success)
    }
}

impl<T: JsonSchema> DescribeOutput for FlatReply<T> {
    fn describe_output(spec: &mut OutputSpec) {
        spec.success.push(SuccessBody::Flat(SchemaGenerator::subschema_for::<T>));
    }
}

impl<T: Serialize> IntoResponse for NegativeReply<T> {
    fn into_response(self) -> Response {
        respond(&Success::of(&self.0), Outcome::Negative)
    }
}

impl<T> DescribeOutput for NegativeReply<T> {}

/// The response with this envelope, open at its end for the request id.
fn respond(envelope: &impl Serialize, outcome: fn(Vec<u8>) -> Outcome) -> Response {
    let mut json = Vec::with_capacity(512);
    match serde_json::to_writer(&mut json, envelope) {
        Ok(()) => {
            json.pop();
            outcome(json).into_response()
        }
        Err(error) => ApiError::unexpected(&error).into_response(),
    }
}

impl IntoResponse for Outcome {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}

/// Closes an envelope with the request id.
pub(crate) fn close_envelope(mut envelope: Vec<u8>, request_id: &str) -> Vec<u8> {
    // A request id contains no character that JSON escapes.
    for part in [",\"request_id\":\"", request_id, "\"}"] {
        envelope.extend_from_slice(part.as_bytes());
    }
    envelope
}

/// The envelope of an error.
pub(crate) fn error_envelope(error_body: &ErrorBody, request_id: &str) -> Vec<u8> {
    let mut envelope = serde_json::to_vec(error_body).unwrap_or_default();
    // The closing brace comes after the request id.
    envelope.pop();
    close_envelope(envelope, request_id)
}
