//! The stream of a connection, which records on the connection's state what its client does.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};

use crate::connection_state::ConnectionState;
use crate::server_tls::ClientStream;

/// The most bytes of one read: a page of memory. The HTTP library reads into a buffer of 8 KiB, and doubles it after a read that fills
/// it. So the buffer of a slow or idle client stays as small as that, and half of it is never touched.
const MAX_READ_BYTES: u64 = 4 * 1024;

/// The most bytes of a client that are read and dropped at the end.
const MAX_DISCARDED_BYTES: usize = 256 * 1024;

/// The stream of a connection.
#[derive(Debug)]
pub(super) struct Watched {
    stream: Take<ClientStream>,
    state: ConnectionState,
}

impl Watched {
    pub(super) fn new(stream: ClientStream, state: ConnectionState) -> Self {
        Self { stream: stream.take(MAX_READ_BYTES), state }
    }

    pub(super) fn into_inner(self) -> ClientStream {
        self.stream.into_inner()
    }

    fn stream(&mut self) -> Pin<&mut ClientStream> {
        Pin::new(self.stream.get_mut())
    }

    /// Records whether the client takes bytes.
    fn record<T>(&self, written: Poll<T>) -> Poll<T> {
        if written.is_ready() {
            self.state.unblock();
        } else {
            self.state.block();
        }
        written
    }

    /// Drops what has arrived: closing a connection with unread bytes may discard the last response.
    fn discard(&mut self, context: &mut Context<'_>) {
        let mut piece = [0; 4 * 1024];
        let mut left = MAX_DISCARDED_BYTES;
        while left > 0 {
            let mut piece = ReadBuf::new(&mut piece);
            match self.stream().poll_read(context, &mut piece) {
                Poll::Ready(Ok(())) if !piece.filled().is_empty() => left = left.saturating_sub(piece.filled().len()),
                _ => return,
            }
        }
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.set_limit(MAX_READ_BYTES);
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.state.received();
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write(context, bytes);
        self.record(written)
    }

    /// The head and the parts of a body are written together, from where they are: put together first, they would take memory of the
    /// connection, which would stay until its end.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write_vectored(context, parts);
        self.record(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.get_ref().is_write_vectored()
    }

    /// With TLS, bytes wait in a buffer of this process, and only the flush has to wait for the client.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = self.stream().poll_flush(context);
        self.record(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.discard(context);
        let closed = self.stream().poll_shutdown(context);
        self.record(closed)
    }
}
