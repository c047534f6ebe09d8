//! Limits the bytes read per minute: messages are counted by the frame, but a frame that never ends only by its bytes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::server_tls::ClientStream;

/// More than all frames that a client may send in a minute.
const MAX_BYTES_PER_WINDOW: usize = 8 << 20;
const METER_WINDOW: Duration = Duration::from_mins(1);

/// A connection that limits the bytes read per minute.
#[derive(Debug)]
pub(super) struct MeteredStream {
    stream: ClientStream,
    left: usize,
    since: Instant,
}

impl MeteredStream {
    pub(super) fn new(stream: ClientStream) -> Self {
        Self { stream, left: MAX_BYTES_PER_WINDOW, since: Instant::now() }
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if self.since.elapsed() > METER_WINDOW {
            (self.left, self.since) = (MAX_BYTES_PER_WINDOW, Instant::now());
        }
        let Some(left) = self.left.checked_sub(buffer.filled().len() - before) else {
            return Poll::Ready(Err(io::ErrorKind::QuotaExceeded.into()));
        };
        self.left = left;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
