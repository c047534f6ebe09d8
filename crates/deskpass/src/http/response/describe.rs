//! The output of a handler, for the API description. A handler with a result that does not implement [`DescribeOutput`] does not
//! compile into the route table.

use axum::response::Response;
use hyper::header::{HeaderName, HeaderValue};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::http::error::ApiError;

/// The result of a handler.
pub(crate) trait DescribeOutput {
    /// Adds the result to the specification.
    fn describe_output(spec: &mut OutputSpec);
}

/// The output of a handler.
#[derive(Debug, Default)]
pub(crate) struct OutputSpec {
    pub(crate) success: Vec<SuccessBody>,
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

    /// It replies with this payload in the envelope and beside it.
    pub(crate) fn replies_flat<T: JsonSchema>(&mut self) {
        self.success.push(SuccessBody::Flat(SchemaGenerator::subschema_for::<T>));
    }

    /// It replies with a text of this media type, without an envelope.
    pub(crate) fn replies_plain(&mut self, kind: &'static str) {
        self.success.push(SuccessBody::Plain(kind));
    }

    /// It redirects browsers.
    pub(crate) fn redirects(&mut self) {
        self.success.push(SuccessBody::Redirect);
    }

    /// It sets a cookie in some cases.
    pub(crate) fn sets_cookie(&mut self) {
        self.sets_cookie = true;
    }

    /// It turns the connection into a WebSocket.
    pub(crate) fn switches(&mut self) {
        self.switches = true;
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

/// Implements [`DescribeOutput`] for results without a described success: errors follow from the route, and a plain response is
/// not described.
macro_rules! no_success {
    ($($result:ty),*) => {$(impl DescribeOutput for $result { fn describe_output(_: &mut OutputSpec) {} })*};
}
no_success!(ApiError, Response, &'static str);
