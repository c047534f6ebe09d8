//! The body of a response, whose end is recorded on its connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use crate::connection_state::ConnectionState;

/// A body that ends its response when it is dropped: the HTTP library drops a body when all of it is in the library's own buffer.
#[derive(Debug)]
pub(super) struct ResponseBody {
    pub(super) body: Body,
    pub(super) state: ConnectionState,
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.state.end_answer();
    }
}
