//! Handlers that are described by the types of their arguments and of their result.

use axum::handler::Handler;

use crate::http::request::{DescribeInput, InputSpec, RequestContext};
use crate::http::response::{DescribeOutput, OutputSpec};

/// What a handler reads and replies with.
#[derive(Debug, Default)]
pub(crate) struct OperationSpec {
    pub(crate) input: InputSpec,
    pub(crate) output: OutputSpec,
}

/// A handler that describes what it reads and replies with.
pub(crate) trait DescribedHandler<T>: Handler<T, RequestContext> {
    /// Adds the description to the specification.
    fn describe(spec: &mut OperationSpec);
}

/// Implements [`DescribedHandler`] for handlers with these arguments.
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
                $(spec.input.takes::<$argument>();)*
                // A released program does not make the API description, and leaves out the schemas of all responses.
                if cfg!(debug_assertions) {
                    Answer::describe_output(&mut spec.output);
                }
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
