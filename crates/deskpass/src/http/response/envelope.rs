//! The envelope of every reply below /api.

use std::marker::PhantomData;

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::error::ApiError;
use crate::http::response::describe::{DescribeOutput, OutputSpec};
use crate::http::response::error_body::ErrorBody;

/// A successful answer: what it carries, before it is put into its envelope.
#[derive(Debug)]
pub(crate) struct Reply<T>(pub(crate) T);

/// A successful answer whose payload is rendered already, to look like a `T`.
#[derive(Debug)]
pub(crate) struct RenderedReply<T>(Vec<u8>, PhantomData<T>);

/// A successful answer that says no.
#[derive(Debug)]
pub(crate) struct NegativeReply(pub(crate) &'static str);

impl<T> RenderedReply<T> {
    /// The payload that these parts of JSON make together.
    pub(crate) fn of(parts: &[&str]) -> Self {
        let mut envelope = Vec::with_capacity(512);
        envelope.extend_from_slice(ENVELOPE_HEAD);
        for part in parts {
            envelope.extend_from_slice(part.as_bytes());
        }
        Self(envelope, PhantomData)
    }
}

/// A successful answer whose payload's members stand beside it, too: for readers who know no envelope.
#[derive(Debug)]
pub(crate) struct FlatReply<T>(Vec<u8>, PhantomData<T>);

impl<T> FlatReply<T> {
    /// The answer with these members of an object.
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
        spec.replies_flat::<T>();
    }
}

/// How the envelope of a success begins.
const ENVELOPE_HEAD: &[u8] = b"{\"code\":0,\"message\":\"ok\",\"data\":";

/// The success that a handler returns. It travels in the extensions of the response to the dispatcher, which adds the request id.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// A success's envelope, open at its end for the request id.
    Success(Vec<u8>),
    /// The same with a negative answer, which counts against the rate limit.
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

impl<T> IntoResponse for RenderedReply<T> {
    fn into_response(self) -> Response {
        Outcome::Success(self.0).into_response()
    }
}

impl<T: JsonSchema> DescribeOutput for RenderedReply<T> {
    fn describe_output(spec: &mut OutputSpec) {
        spec.replies_with::<T>();
    }
}

impl IntoResponse for NegativeReply {
    fn into_response(self) -> Response {
        let RenderedReply(envelope, _) = RenderedReply::<()>::of(&[self.0]);
        Outcome::Negative(envelope).into_response()
    }
}

impl DescribeOutput for NegativeReply {
    fn describe_output(_: &mut OutputSpec) {}
}

impl IntoResponse for Outcome {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        response.extensions_mut().insert(self);
        response
    }
}

/// The envelope of a success, closed.
pub(crate) fn close_envelope(mut envelope: Vec<u8>, request_id: &str) -> Bytes {
    // A request id has no character that JSON would quote.
    for part in [",\"request_id\":\"", request_id, "\"}"] {
        envelope.extend_from_slice(part.as_bytes());
    }
    envelope.into()
}

/// The envelope of a failure.
pub(crate) fn error_envelope(error_body: &ErrorBody, request_id: &str) -> Bytes {
    #[derive(Serialize)]
    struct Envelope<'a> {
        code: u16,
        message: &'a str,
        data: &'a serde_json::Value,
        request_id: &'a str,
    }
    let ErrorBody { code, message, data, .. } = error_body;
    let envelope = Envelope { code: *code, message, data, request_id };
    serde_json::to_vec(&envelope).map(Bytes::from).unwrap_or_default()
}
