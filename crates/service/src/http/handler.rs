//! Handlers that are described by the types of their arguments and of their result.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;

use crate::http::request::{DescribeInput, InputSpec, RequestContext};
use crate::http::response::{DescribeOutput, OutputSpec};

/// What a handler reads and replies with.
#[derive(Debug, Default)]
pub(crate) struct OperationSpec {
    pub(crate) input: InputSpec,
    pub(crate) output: OutputSpec,
}

/// A handler that describes what it reads and replies with.
pub(crate) trait DescribedHandler<T>: Clone + Send + 'static {
    /// Adds the description to the specification.
    fn describe(spec: &mut OperationSpec);

    /// Answers a request. The arguments are read in their order, the body last. A client may send it slowly, so what a reload
    /// replaced meanwhile is renewed before the handler gets its arguments.
    fn answer(self, request: Request, context: RequestContext) -> BoxFuture<'static, Response>;
}

/// A released program does not make the API description, and leaves out the schemas of all responses.
fn describe_output<Answer: DescribeOutput>(spec: &mut OperationSpec) {
    if cfg!(debug_assertions) {
        Answer::describe_output(&mut spec.output);
    }
}

impl<F, Result, Answer> DescribedHandler<((),)> for F
where
    F: FnOnce() -> Result + Clone + Send + Sync + 'static,
    Result: Future<Output = Answer> + Send,
    Answer: DescribeOutput + IntoResponse,
{
    fn describe(spec: &mut OperationSpec) {
        describe_output::<Answer>(spec);
    }

    fn answer(self, request: Request, context: RequestContext) -> BoxFuture<'static, Response> {
        Handler::<((),), RequestContext>::call(self, request, context)
    }
}

/// Implements [`DescribedHandler`] for handlers with these arguments.
macro_rules! operation {
    ($($argument:ident)* | $last:ident) => {
        #[expect(non_snake_case, reason = "an argument has the name of its type")]
        impl<F, Result, Answer, M, $($argument,)* $last> DescribedHandler<(M, $($argument,)* $last,)> for F
        where
            F: FnOnce($($argument,)* $last) -> Result + Clone + Send + Sync + 'static,
            Result: Future<Output = Answer> + Send,
            Answer: DescribeOutput + IntoResponse,
            $($argument: DescribeInput + FromRequestParts<RequestContext> + Send,)*
            $last: DescribeInput + FromRequest<RequestContext, M> + Send,
        {
            fn describe(spec: &mut OperationSpec) {
                $(spec.input.takes::<$argument>();)*
                spec.input.takes::<$last>();
                describe_output::<Answer>(spec);
            }

            fn answer(self, request: Request, context: RequestContext) -> BoxFuture<'static, Response> {
                let renewing = move |$(mut $argument: $argument,)* mut $last: $last| {
                    $($argument.renew();)*
                    $last.renew();
                    // On the heap, and only now: while a body arrives, what the handler may ever wait for takes no memory.
                    Box::pin(self($($argument,)* $last))
                };
                Handler::<(M, $($argument,)* $last,), RequestContext>::call(renewing, request, context)
            }
        }
    };
}

operation!(| A);
operation!(A | B);
operation!(A B | C);
operation!(A B C | D);
operation!(A B C D | E);
operation!(A B C D E | G);
operation!(A B C D E G | H);
operation!(A B C D E G H | I);
