//! The direct path of a connection: frequent requests are answered here, before the HTTP library sees them.

use std::fmt::{self, Debug, Formatter};
use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::io::AsyncWrite;

use crate::app::current::CurrentApp;
use crate::http::{DirectAnswer, DirectAttempts, Dispatcher};

/// Returns the whole response to a request, or `None` if the HTTP library must have the request.
type Handler = Box<dyn FnMut(&[u8]) -> Option<DirectAnswer> + Send>;

/// What answers the frequent requests of a connection, and the answer that is being sent.
pub(super) struct DirectPath {
    handler: Handler,
    response: Vec<u8>,
    sent: usize,
}

impl DirectPath {
    /// With a service of its own: that of the ordinary way is behind a lock, since its requests may run beside each other.
    pub(super) fn new(dispatcher: Arc<Dispatcher>, mut app: CurrentApp, peer: IpAddr, enabled: bool) -> Self {
        let mut attempts = DirectAttempts::default();
        Self::with(move |request| {
            // Off on connections of the reserve, which serve health checks only.
            if !enabled {
                return None;
            }
            dispatcher.answer_directly(app.refresh(), peer, request, &mut attempts)
        })
    }

    fn with(handler: impl FnMut(&[u8]) -> Option<DirectAnswer> + Send + 'static) -> Self {
        Self { handler: Box::new(handler), response: Vec::new(), sent: 0 }
    }

    /// Prepares the answer to a request, and returns when it was ready; `None` if the HTTP library must have the request.
    pub(super) fn answer(&mut self, request: &[u8]) -> Option<Instant> {
        let answered = || (self.handler)(request);
        // After a panic the ordinary way answers, also with the error.
        let DirectAnswer { bytes, ready_at } = catch_unwind(AssertUnwindSafe(answered)).ok()??;
        (self.response, self.sent) = (bytes, 0);
        Some(ready_at)
    }

    /// Whether an answer is not sent yet.
    pub(super) fn is_sending(&self) -> bool {
        !self.response.is_empty()
    }

    /// How many bytes of the answer are sent.
    pub(super) fn sent(&self) -> usize {
        self.sent
    }

    /// Sends the answer.
    pub(super) fn poll_send(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = self.response.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut *stream).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.sent += count,
            }
        }
        ready!(Pin::new(stream).poll_flush(context))?;
        self.response = Vec::new();
        Poll::Ready(Ok(()))
    }
}

impl Debug for DirectPath {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DirectPath").field("sent", &self.sent).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests;
