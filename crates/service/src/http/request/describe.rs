//! The input of a handler, for the API description. A handler with an argument that does not implement [`DescribeInput`] does not
//! compile into the route table.

use axum::Extension;
use axum::extract::State;
use hyper::{HeaderMap, Uri};
use serde_json::Value;

use crate::App;
use crate::http::request::{FieldSpec, FromFields, RequestContext, RequiredAccess, ReserveConnection, describe_fields};

/// An argument of a handler, which reads a part of the request.
pub(crate) trait DescribeInput {
    /// Who may call a handler with this argument; anyone where that is `None`.
    const ACCESS: Option<RequiredAccess> = None;

    /// Adds that part to the specification; nothing where the API description leaves it out.
    fn describe_input(_: &mut InputSpec) {}

    /// Replaces what a reload has replaced since it was read.
    fn renew(&mut self) {}
}

/// The input of a handler.
#[derive(Debug, Default)]
pub(crate) struct InputSpec {
    /// Who may call it; anyone where that is `None`.
    pub(crate) access: Option<RequiredAccess>,
    /// Whether it reads a token without requiring one.
    pub(crate) accepts_token: bool,
    pub(crate) path: Vec<FieldSpec>,
    pub(crate) query: Vec<FieldSpec>,
    pub(crate) body: Option<BodySpec>,
}

/// The body of a request.
#[derive(Debug)]
pub(crate) struct BodySpec {
    pub(crate) fields: Vec<FieldSpec>,
    /// Its schema, where a list of fields cannot express it.
    pub(crate) form: Option<fn() -> Value>,
    pub(crate) required: bool,
    /// The media types that it may have.
    pub(crate) kinds: &'static [&'static str],
}

impl BodySpec {
    pub(crate) fn of<T: FromFields>(required: bool, kinds: &'static [&'static str]) -> Self {
        Self { fields: describe_fields::<T>(), form: None, required, kinds }
    }
}

impl InputSpec {
    /// It has this argument.
    pub(crate) fn takes<T: DescribeInput>(&mut self) {
        self.access = T::ACCESS.or(self.access);
        T::describe_input(self);
    }

    /// It reads parameters of the path.
    pub(crate) fn reads_path<T: FromFields>(&mut self) {
        self.path.extend(describe_fields::<T>());
    }

    /// It reads the query.
    pub(crate) fn reads_query<T: FromFields>(&mut self) {
        self.query.extend(describe_fields::<T>());
    }

    /// It reads a JSON body.
    pub(crate) fn reads_body<T: FromFields>(&mut self) {
        self.body = Some(BodySpec::of::<T>(true, &["application/json"]));
    }
}

impl DescribeInput for App {
    fn renew(&mut self) {
        *self = self.newest();
    }
}

impl DescribeInput for State<RequestContext> {
    fn renew(&mut self) {
        self.0.app = self.0.app.newest();
    }
}

impl DescribeInput for HeaderMap {}
impl DescribeInput for Uri {}
impl DescribeInput for Option<Extension<ReserveConnection>> {}
