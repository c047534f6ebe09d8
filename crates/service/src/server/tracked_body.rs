//! The body of a request, with tracking of when the connection waits for it.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};

use super::activity::ConnectionActivity;

/// A body that records on its connection when it waits for the client. The time counts from the first wait, so that a
/// client that sends its body byte by byte has waited as long as one that sends nothing.
#[derive(Debug)]
pub(super) struct TrackedBody<B> {
    body: B,
    activity: ConnectionActivity,
    waiting: bool,
}

impl<B> TrackedBody<B> {
    pub(super) fn new(body: B, activity: ConnectionActivity) -> Self {
        Self { body, activity, waiting: false }
    }

    fn finish(&mut self) {
        if std::mem::take(&mut self.waiting) {
            self.activity.mark_busy();
        }
    }
}

impl<B: Body + Unpin> Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Pending if !self.waiting => {
                self.waiting = true;
                self.activity.mark_waiting();
            }
            Poll::Ready(None | Some(Err(_))) => self.finish(),
            Poll::Pending | Poll::Ready(Some(Ok(_))) => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for TrackedBody<B> {
    fn drop(&mut self) {
        self.finish();
    }
}
