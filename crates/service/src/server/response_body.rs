//! The body of a response, with tracking of when the HTTP library has all of it.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};

use super::activity::ConnectionActivity;

/// A body that records the end of its response on its connection when it is dropped. The HTTP library drops a body when all of it is in
/// the library's own buffer. That may be later than the head: while an earlier response waits for the client, the head is buffered
/// behind it, and the body is not asked for.
#[derive(Debug)]
pub(super) struct ResponseBody {
    body: Body,
    activity: Option<ConnectionActivity>,
}

impl ResponseBody {
    pub(super) fn new(body: Body, activity: ConnectionActivity) -> Self {
        if body.size_hint().exact().is_some() {
            // The body is there, and only the client can delay its end.
            activity.mark_waiting();
        }
        Self { body, activity: Some(activity) }
    }

    /// The body of the last response before another protocol, whose end is not recorded.
    pub(super) fn untracked(body: Body) -> Self {
        Self { body, activity: None }
    }
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
        if let Some(activity) = &self.activity {
            activity.toggle();
        }
    }
}
