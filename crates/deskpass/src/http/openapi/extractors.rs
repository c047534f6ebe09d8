//! What arguments and results of handlers tell of themselves.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Uri};
use schemars::JsonSchema;

use super::spec::{DescribeInput, DescribeOutput, OperationSpec};
use crate::App;
use crate::http::admin::login_log::AcceptedFormat;
use crate::http::admin::{EmployeeRef, ExistingEmployee};
use crate::http::error::ApiError;
use crate::http::request::authority::{
    Admin, AgentPath, ExistingAgent, HighRisk, HomeAdmin, HomeOnly, NoBody, PathAnd, Reader, Service,
};
use crate::http::request::cookies::{Cookies, SetCookie};
use crate::http::request::extract::{
    ActiveUser, ClientLanguage, Developer, FullRequest, JsonBody, Operator, OptionalBody, OptionalSession,
    PartialOrFull, PeerAddress, RequestClient, TokenHolder,
};
use crate::http::request::fields::FromFields;
use crate::http::request::opener::OpenedByPage;
use crate::http::request::query::{Path, Query};
use crate::http::response::envelope::{FlatReply, NegativeReply, RenderedReply, Reply};
use crate::http::{RequiredAccess, ReserveConnection};

/// What is read, but is nothing that a client decides on.
macro_rules! not_described {
    ($($argument:ty),*) => {$(impl DescribeInput for $argument { fn describe_input(_: &mut OperationSpec) {} })*};
}
not_described!(
    State<App>,
    AcceptedFormat,
    Cookies,
    RequestClient,
    HeaderMap,
    NoBody,
    OpenedByPage,
    PeerAddress,
    ClientLanguage,
    Uri,
    FullRequest
);
not_described!(Option<Extension<ReserveConnection>>);

/// Whose token is wanted.
macro_rules! authority {
    ($($argument:ty => $access:ident),*) => {$(
        impl DescribeInput for $argument { fn describe_input(spec: &mut OperationSpec) { spec.requires(RequiredAccess::$access); } }
    )*};
}
authority!(
    PartialOrFull => PartialOrFull, TokenHolder => TokenHolder, ActiveUser => ActiveUser, Reader => Reader, Admin => Admin, HomeAdmin => Admin, Developer => Developer, Operator => Operator
);

impl<T: DescribeInput> DescribeInput for HighRisk<T> {
    fn describe_input(spec: &mut OperationSpec) {
        spec.requires(RequiredAccess::HighRisk);
        T::describe_input(spec);
    }
}

impl<P: DescribeInput, R: DescribeInput> DescribeInput for PathAnd<P, R> {
    fn describe_input(spec: &mut OperationSpec) {
        P::describe_input(spec);
        R::describe_input(spec);
    }
}

impl DescribeInput for ExistingEmployee {
    fn describe_input(spec: &mut OperationSpec) {
        spec.reads_path::<EmployeeRef>();
    }
}

impl<T: DescribeInput> DescribeInput for HomeOnly<T> {
    fn describe_input(spec: &mut OperationSpec) {
        T::describe_input(spec);
    }
}

impl<S, T: DescribeInput> DescribeInput for Service<S, T> {
    fn describe_input(spec: &mut OperationSpec) {
        spec.requires(RequiredAccess::Service);
        T::describe_input(spec);
    }
}

impl DescribeInput for OptionalSession {
    fn describe_input(spec: &mut OperationSpec) {
        spec.accepts_token();
    }
}

impl<T: FromFields> DescribeInput for JsonBody<T> {
    fn describe_input(spec: &mut OperationSpec) {
        spec.reads_body::<T>();
    }
}

impl<T: FromFields> DescribeInput for OptionalBody<T> {
    fn describe_input(spec: &mut OperationSpec) {
        spec.may_read_body::<T>();
    }
}

impl<T: FromFields> DescribeInput for Query<T> {
    fn describe_input(spec: &mut OperationSpec) {
        spec.reads_query::<T>();
    }
}

impl<T: FromFields> DescribeInput for Path<T> {
    fn describe_input(spec: &mut OperationSpec) {
        spec.reads_path::<T>();
    }
}

impl DescribeInput for ExistingAgent {
    fn describe_input(spec: &mut OperationSpec) {
        spec.reads_path::<AgentPath>();
    }
}

impl<T: JsonSchema> DescribeOutput for Reply<T> {
    fn describe_output(spec: &mut OperationSpec) {
        spec.replies_with::<T>();
    }
}

impl<T: JsonSchema> DescribeOutput for RenderedReply<T> {
    fn describe_output(spec: &mut OperationSpec) {
        spec.replies_with::<T>();
    }
}

impl<T: JsonSchema> DescribeOutput for FlatReply<T> {
    fn describe_output(spec: &mut OperationSpec) {
        spec.replies_flat::<T>();
    }
}

impl<T: DescribeOutput, E: DescribeOutput> DescribeOutput for Result<T, E> {
    fn describe_output(spec: &mut OperationSpec) {
        T::describe_output(spec);
        E::describe_output(spec);
    }
}

impl<T: DescribeOutput> DescribeOutput for (SetCookie, T) {
    fn describe_output(spec: &mut OperationSpec) {
        spec.sets_cookie();
        T::describe_output(spec);
    }
}

impl<T: DescribeOutput, const N: usize> DescribeOutput for ([(HeaderName, HeaderValue); N], T) {
    fn describe_output(spec: &mut OperationSpec) {
        T::describe_output(spec);
    }
}

/// What says nothing of a success: failures follow from the row, and a plain response is none that is described.
macro_rules! no_success {
    ($($result:ty),*) => {$(impl DescribeOutput for $result { fn describe_output(_: &mut OperationSpec) {} })*};
}
no_success!(ApiError, NegativeReply, Response, &'static str);
