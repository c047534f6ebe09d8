//! The envelope of every reply below /api.

use std::marker::PhantomData;

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
pub(crate) struct NegativeReply(pub(crate) &'static str);

/// A successful response that also has the members of its payload at the top level, for clients that do not know the envelope.
#[derive(Debug)]
pub(crate) struct FlatReply<T>(Vec<u8>, PhantomData<T>);

impl<T> FlatReply<T> {
    /// The response with these members of an object.
    pub(crate) fn of(members: &str) -> Self {
        let parts = ["{", members, r#","code":0,"message":"ok","data":{"#, members, "}"];
        Self(parts.concat().into_bytes(), PhantomData)
    }
}

impl<T> IntoResponse for FlatReply<T> {
    fn into_response(self) -> Response {
        Outcome::Success(self.0).into_response()
    }
}

impl<T: JsonSchema> DescribeOutput for FlatReply<T> {
    fn describe_output(spec: &mut OutputSpec) {
        spec.success.push(SuccessBody::Flat(SchemaGenerator::subschema_for::<T>));
    }
}

/// The beginning of the envelope of a success.
const ENVELOPE_HEAD: &[u8] = b"{\"code\":0,\"message\":\"ok\",\"data\":";

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
        let mut envelope = Vec::with_capacity(512);
        envelope.extend_from_slice(ENVELOPE_HEAD);
        match serde_json::to_writer(&mut envelope, &self.0) {
            Ok(()) => Outcome::Success(envelope).into_response(),
            Err(error) => ApiError::unexpected(&error).into_response(),
        }
    }
}

impl<T: JsonSchema> DescribeOutput for Reply<T> {
    fn describe_output(spec: &mut OutputSpec) {
        spec.replies_with::<T>();
    }
}

impl IntoResponse for NegativeReply {
    fn into_response(self) -> Response {
        Outcome::Negative([ENVELOPE_HEAD, self.0.as_bytes()].concat()).into_response()
    }
}

impl DescribeOutput for NegativeReply {}

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
