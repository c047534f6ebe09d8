//! The direct path of a connection: frequent requests are answered here, before the HTTP library sees them.

use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite as _;

use crate::app::current::CurrentApp;
use crate::client_stream::ClientStream;
use crate::http::Dispatcher;

/// What answers the frequent requests of a connection, and the answer that is being sent.
#[derive(Debug)]
pub(super) struct DirectPath {
    dispatcher: Arc<Dispatcher>,
    app: Arc<Mutex<CurrentApp>>,
    peer: IpAddr,
    /// Off on connections of the reserve, which serve health checks only.
    enabled: bool,
    response: Vec<u8>,
    sent: usize,
}

impl DirectPath {
    pub(super) fn new(dispatcher: Arc<Dispatcher>, app: Arc<Mutex<CurrentApp>>, peer: IpAddr, enabled: bool) -> Self {
        Self { dispatcher, app, peer, enabled, response: Vec::new(), sent: 0 }
    }

    /// Prepares the answer to a request; `false` if the HTTP library must have the request.
    pub(super) fn answer(&mut self, request: &[u8]) -> bool {
        if !self.enabled {
            return false;
        }
        let mut app = self.app.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = || self.dispatcher.answer_directly(app.refresh(), self.peer, request);
        // After a panic the ordinary way answers, also with the error.
        let Ok(Some(response)) = catch_unwind(AssertUnwindSafe(answered)) else { return false };
        (self.response, self.sent) = (response, 0);
        true
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
    pub(super) fn poll_send(&mut self, stream: &mut ClientStream, context: &mut Context<'_>) -> Poll<io::Result<()>> {
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
