//! What a route reads and answers, told by the types of its handler: by its arguments and by its result. A handler with an
//! argument or a result that cannot tell does not compile into the table.

use axum::handler::Handler;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::http::Who;
use crate::http::answer::Window;
use crate::http::fields::{Ask, Field, fields_of};

/// What is known of a route.
#[derive(Debug, Default)]
pub(in crate::http) struct Sheet {
    /// Whose token it wants; anyone's business where it wants none.
    pub(super) who: Option<Who>,
    /// Whether it looks at a token without wanting one.
    pub(super) looks_at_token: bool,
    pub(super) path: Vec<Field>,
    pub(super) query: Vec<Field>,
    pub(super) body: Option<Body>,
    pub(super) success: Vec<Success>,
    pub(super) sets_cookie: bool,
    /// Whether the connection becomes a socket.
    pub(super) switches: bool,
}

/// What a body holds.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) fields: Vec<Field>,
    /// What it looks like, where fields cannot say it.
    pub(super) form: Option<fn() -> Value>,
    pub(super) required: bool,
    /// The media types in which it may come.
    pub(super) kinds: &'static [&'static str],
}

/// What a success holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Success {
    /// A payload in the envelope.
    Data(fn(&mut SchemaGenerator) -> Schema),
    /// A payload in the envelope, and its members beside it.
    Beside(fn(&mut SchemaGenerator) -> Schema),
    /// A text of this media type, as it is.
    Plain(&'static str),
    /// The browser is sent on.
    Redirect,
}

/// A handler's argument: what it reads of a request.
pub(in crate::http) trait Asks {
    /// Writes it down.
    fn asks(sheet: &mut Sheet);
}

/// A handler's result: what it answers.
pub(in crate::http) trait Answers {
    /// Writes it down.
    fn answers(sheet: &mut Sheet);
}

/// A handler that can tell what it reads and answers.
pub(in crate::http) trait Operation<T>: Handler<T, Window> {
    /// Writes it down.
    fn tell(sheet: &mut Sheet);
}

impl Sheet {
    /// It is for these.
    pub(in crate::http) fn only_for(&mut self, who: Who) {
        self.who = Some(who);
    }

    /// It looks at a token, if there is one.
    pub(in crate::http) fn looks_at_token(&mut self) {
        self.looks_at_token = true;
    }

    /// It reads pieces of the path.
    pub(in crate::http) fn reads_path<T: Ask>(&mut self) {
        self.path.extend(fields_of::<T>());
    }

    /// It reads the query.
    pub(in crate::http) fn reads_query<T: Ask>(&mut self) {
        self.query.extend(fields_of::<T>());
    }

    /// It reads a JSON body.
    pub(in crate::http) fn reads_body<T: Ask>(&mut self) {
        self.body = Some(Body { fields: fields_of::<T>(), form: None, required: true, kinds: &["application/json"] });
    }

    /// It reads a JSON body of a form of its own.
    pub(in crate::http) fn reads_body_like(&mut self, form: fn() -> Value) {
        let kinds = &["application/json"];
        self.body = Some(Body { fields: Vec::new(), form: Some(form), required: true, kinds });
    }

    /// It makes the connection a socket.
    pub(in crate::http) fn switches(&mut self) {
        self.switches = true;
    }

    /// It reads a JSON body, if there is one.
    pub(in crate::http) fn may_read_body<T: Ask>(&mut self) {
        self.body = Some(Body { fields: fields_of::<T>(), form: None, required: false, kinds: &["application/json"] });
    }

    /// It reads a body as JSON or as a form.
    pub(in crate::http) fn reads_form<T: Ask>(&mut self) {
        let kinds = &["application/json", "application/x-www-form-urlencoded"];
        self.body = Some(Body { fields: fields_of::<T>(), form: None, required: true, kinds });
    }

    /// It answers with this in the envelope.
    pub(in crate::http) fn answers_with<T: JsonSchema>(&mut self) {
        self.success.push(Success::Data(SchemaGenerator::subschema_for::<T>));
    }

    /// It answers with this in the envelope and beside it.
    pub(in crate::http) fn answers_beside<T: JsonSchema>(&mut self) {
        self.success.push(Success::Beside(SchemaGenerator::subschema_for::<T>));
    }

    /// It answers with a text of this media type, without an envelope.
    pub(in crate::http) fn answers_plainly(&mut self, kind: &'static str) {
        self.success.push(Success::Plain(kind));
    }

    /// It sends browsers on.
    pub(in crate::http) fn sends_on(&mut self) {
        self.success.push(Success::Redirect);
    }

    /// It sets a cookie at times.
    pub(in crate::http) fn sets_cookie(&mut self) {
        self.sets_cookie = true;
    }
}

macro_rules! operation {
    ($($argument:ident)*) => {
        impl<F, Result, Answer, M, $($argument,)*> Operation<(M, $($argument,)*)> for F
        where
            F: Handler<(M, $($argument,)*), Window> + FnOnce($($argument,)*) -> Result,
            Result: Future<Output = Answer>,
            Answer: Answers,
            $($argument: Asks,)*
        {
            fn tell(sheet: &mut Sheet) {
                $($argument::asks(sheet);)*
                Answer::answers(sheet);
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
