//! The output of a handler, for the API description. A handler with a result that does not implement [`DescribeOutput`] does not
//! compile into the route table.

use axum::response::Response;
use hyper::header::{HeaderName, HeaderValue};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::http::error::ApiError;

/// The result of a handler.
pub(crate) trait DescribeOutput {
    /// Adds the result to the specification. Errors follow from the route, and some responses are not described.
    fn describe_output(_: &mut OutputSpec) {}
}

/// The output of a handler.
#[derive(Debug, Default)]
pub(crate) struct OutputSpec {
    pub(crate) success: Vec<SuccessBody>,
    /// Whether it sets a cookie in some cases.
    pub(crate) sets_cookie: bool,
    /// Whether the connection becomes a WebSocket.
    pub(crate) switches: bool,
}

/// The body of a successful response.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SuccessBody {
    /// A payload in the envelope.
    Data(fn(&mut SchemaGenerator) -> Schema),
    /// A payload in the envelope, and its members beside it.
    Flat(fn(&mut SchemaGenerator) -> Schema),
    /// A text of this media type, without an envelope.
    Plain(&'static str),
    /// A redirect.
    Redirect,
}

impl OutputSpec {
    /// It replies with this payload in the envelope.
    pub(crate) fn replies_with<T: JsonSchema>(&mut self) {
        self.success.push(SuccessBody::Data(SchemaGenerator::subschema_for::<T>));
    }

    /// It replies with a text of this media type, without an envelope.
    pub(crate) fn replies_plain(&mut self, kind: &'static str) {
        self.success.push(SuccessBody::Plain(kind));
    }
}

impl<T: DescribeOutput, E: DescribeOutput> DescribeOutput for Result<T, E> {
    fn describe_output(spec: &mut OutputSpec) {
        T::describe_output(spec);
        E::describe_output(spec);
    }
}

impl<T: DescribeOutput, const N: usize> DescribeOutput for ([(HeaderName, HeaderValue); N], T) {
    fn describe_output(spec: &mut OutputSpec) {
        T::describe_output(spec);
    }
}

impl DescribeOutput for ApiError {}
impl DescribeOutput for Response {}
impl DescribeOutput for &'static str {}

/// Declares complete responses with their descriptions.
macro_rules! described_responses {
    ($($(#[$doc:meta])* $name:ident: $describe:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name(axum::response::Response);

        impl axum::response::IntoResponse for $name {
            fn into_response(self) -> axum::response::Response {
                self.0
            }
        }

        impl $crate::http::response::DescribeOutput for $name {
            fn describe_output(spec: &mut $crate::http::response::OutputSpec) {
                let describe: fn(&mut $crate::http::response::OutputSpec) = $describe;
                describe(spec);
            }
        }
    )*};
}
pub(crate) use described_responses;
