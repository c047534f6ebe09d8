//! What a route reads and answers, told by the types of its handler: by its arguments and by its result. A handler with an
//! argument or a result that cannot tell does not compile into the table.

use axum::handler::Handler;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::http::RequiredAccess;
use crate::http::dispatcher::RequestContext;
use crate::http::request::fields::{FieldSpec, FromFields, describe_fields};

/// What is known of a route.
#[derive(Debug, Default)]
pub(crate) struct OperationSpec {
    /// Whose token it wants; anyone's business where it wants none.
    pub(super) access: Option<RequiredAccess>,
    /// Whether it looks at a token without wanting one.
    pub(super) accepts_token: bool,
    pub(super) path: Vec<FieldSpec>,
    pub(super) query: Vec<FieldSpec>,
    pub(super) body: Option<BodySpec>,
    pub(super) success: Vec<SuccessBody>,
    pub(super) sets_cookie: bool,
    /// Whether the connection becomes a socket.
    pub(super) switches: bool,
}

/// What a body holds.
#[derive(Debug)]
pub(super) struct BodySpec {
    pub(super) fields: Vec<FieldSpec>,
    /// What it looks like, where fields cannot say it.
    pub(super) form: Option<fn() -> Value>,
    pub(super) required: bool,
    /// The media types in which it may come.
    pub(super) kinds: &'static [&'static str],
}

/// What a success holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum SuccessBody {
    /// A payload in the envelope.
    Data(fn(&mut SchemaGenerator) -> Schema),
    /// A payload in the envelope, and its members beside it.
    Flat(fn(&mut SchemaGenerator) -> Schema),
    /// A text of this media type, as it is.
    Plain(&'static str),
    /// The browser is sent on.
    Redirect,
}

/// A handler's argument: what it reads of a request.
pub(crate) trait DescribeInput {
    /// Writes it down.
    fn describe_input(spec: &mut OperationSpec);
}

/// A handler's result: what it answers.
pub(crate) trait DescribeOutput {
    /// Writes it down.
    fn describe_output(spec: &mut OperationSpec);
}

/// A handler that can tell what it reads and answers.
pub(crate) trait DescribedHandler<T>: Handler<T, RequestContext> {
    /// Writes it down.
    fn describe(spec: &mut OperationSpec);
}

impl OperationSpec {
    /// It is for these.
    pub(crate) fn requires(&mut self, access: RequiredAccess) {
        self.access = Some(access);
    }

    /// It looks at a token, if there is one.
    pub(crate) fn accepts_token(&mut self) {
        self.accepts_token = true;
    }

    /// It reads pieces of the path.
    pub(crate) fn reads_path<T: FromFields>(&mut self) {
        self.path.extend(describe_fields::<T>());
    }

    /// It reads the query.
    pub(crate) fn reads_query<T: FromFields>(&mut self) {
        self.query.extend(describe_fields::<T>());
    }

    /// It reads a JSON body.
    pub(crate) fn reads_body<T: FromFields>(&mut self) {
        self.body =
            Some(BodySpec { fields: describe_fields::<T>(), form: None, required: true, kinds: &["application/json"] });
    }

    /// It reads a JSON body of a form of its own.
    pub(crate) fn reads_body_like(&mut self, form: fn() -> Value) {
        let kinds = &["application/json"];
        self.body = Some(BodySpec { fields: Vec::new(), form: Some(form), required: true, kinds });
    }

    /// It makes the connection a socket.
    pub(crate) fn switches(&mut self) {
        self.switches = true;
    }

    /// It reads a JSON body, if there is one.
    pub(crate) fn may_read_body<T: FromFields>(&mut self) {
        self.body = Some(BodySpec {
            fields: describe_fields::<T>(),
            form: None,
            required: false,
            kinds: &["application/json"],
        });
    }

    /// It reads a body as JSON or as a form.
    pub(crate) fn reads_form<T: FromFields>(&mut self) {
        let kinds = &["application/json", "application/x-www-form-urlencoded"];
        self.body = Some(BodySpec { fields: describe_fields::<T>(), form: None, required: true, kinds });
    }

    /// It answers with this in the envelope.
    pub(crate) fn replies_with<T: JsonSchema>(&mut self) {
        self.success.push(SuccessBody::Data(SchemaGenerator::subschema_for::<T>));
    }

    /// It answers with this in the envelope and beside it.
    pub(crate) fn replies_flat<T: JsonSchema>(&mut self) {
        self.success.push(SuccessBody::Flat(SchemaGenerator::subschema_for::<T>));
    }

    /// It answers with a text of this media type, without an envelope.
    pub(crate) fn replies_plain(&mut self, kind: &'static str) {
        self.success.push(SuccessBody::Plain(kind));
    }

    /// It sends browsers on.
    pub(crate) fn redirects(&mut self) {
        self.success.push(SuccessBody::Redirect);
    }

    /// It sets a cookie at times.
    pub(crate) fn sets_cookie(&mut self) {
        self.sets_cookie = true;
    }
}

macro_rules! operation {
    ($($argument:ident)*) => {
        impl<F, Result, Answer, M, $($argument,)*> DescribedHandler<(M, $($argument,)*)> for F
        where
            F: Handler<(M, $($argument,)*), RequestContext> + FnOnce($($argument,)*) -> Result,
            Result: Future<Output = Answer>,
            Answer: DescribeOutput,
            $($argument: DescribeInput,)*
        {
            fn describe(spec: &mut OperationSpec) {
                $($argument::describe_input(spec);)*
                Answer::describe_output(spec);
            }
        }
    };
}

operation!();
operation!(A);
operation!(A B);
operation!(A B C);
operation!(A B C D);
operation!(A B C D E);
operation!(A B C D E G);
operation!(A B C D E G H);
operation!(A B C D E G H I);
