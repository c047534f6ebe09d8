//! The bytes that a connection receives, checked before the HTTP library sees them.
//!
//! A head is passed on when it is complete and valid. In place of an invalid one, the library gets a placeholder request, the
//! last one of the connection, and the service responds to it with the error. So the response comes after those to the previous
//! requests, in the usual envelope, and no bytes after the invalid head are ever read as a request.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use deskpass_core::framing::{Framing, FramingError, MalformedHead};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::client_stream::ClientStream;

/// The request that replaces one with an invalid head.
const PLACEHOLDER_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// The number of bytes per read while a head is incomplete.
const READ_CHUNK_BYTES: usize = 4 * 1024;

/// The maximum number of bytes of a refused client that are read before the connection is closed.
const MAX_DISCARDED_BYTES: usize = 256 * 1024;

/// The state that the reader of a connection and its requests share.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestTracker(Arc<TrackerState>);

#[derive(Debug, Default)]
struct TrackerState {
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// The number of the placeholder request, and the error of the request that it replaces.
    refused: OnceLock<(usize, MalformedHead)>,
    switched: AtomicBool,
}

impl RequestTracker {
    /// Starts a request. Returns the error if the request is a placeholder for an invalid one.
    pub(super) fn begin(&self) -> Option<MalformedHead> {
        let number = self.0.begun.fetch_add(1, Ordering::Relaxed);
        self.0.refused.get().filter(|(refused, _)| *refused == number).map(|(_, fault)| *fault)
    }

    /// Records that the response to a request is complete or being written.
    pub(super) fn end(&self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the connection switches to another protocol after this response.
    pub(super) fn switch(&self) {
        self.0.switched.store(true, Ordering::Relaxed);
    }

    /// Whether this many requests were answered and the connection continues with HTTP.
    fn is_done_with(&self, heads: usize) -> bool {
        !self.0.switched.load(Ordering::Relaxed) && self.0.ended.load(Ordering::Relaxed) == heads
    }
}

/// The reading half of a connection.
#[derive(Debug)]
pub(super) struct CheckedReader<S = TcpStream> {
    pub(super) stream: ClientStream<S>,
    tracker: RequestTracker,
    framing: Framing,
    /// Received bytes that are not read yet. Usually empty, since most heads arrive complete.
    pub(super) buffered: Vec<u8>,
    /// The number of buffered bytes that may be read.
    passed: usize,
    fault: Option<FramingError>,
    /// Whether a read waits for a response.
    waiting: bool,
    /// Whether the last read returned one complete request and nothing else.
    read_whole_request: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> CheckedReader<S> {
    pub(super) fn new(stream: ClientStream<S>, tracker: RequestTracker) -> Self {
        let (framing, buffered) = (Framing::default(), Vec::new());
        Self { stream, tracker, framing, buffered, passed: 0, fault: None, waiting: false, read_whole_request: false }
    }

    /// Whether a part of a request has arrived and the rest has not.
    pub(super) fn is_partial(&self) -> bool {
        !self.buffered.is_empty() && !self.framing.is_offered()
    }

    /// Whether the last read returned one complete request, and all requests before it were answered.
    pub(super) fn has_read_only_request(&self) -> bool {
        self.read_whole_request && self.tracker.is_done_with(self.framing.heads.saturating_sub(1))
    }

    /// Takes the last head back: the HTTP library does not see it, and the tracker counts only what the library sees.
    pub(super) fn uncount_request(&mut self) {
        self.framing.heads = self.framing.heads.saturating_sub(1);
    }

    /// Wakes a read that waited for a response, once the response is there.
    pub(super) fn wake(&mut self, context: &Context<'_>) {
        if self.waiting && self.tracker.is_done_with(self.framing.heads) {
            self.waiting = false;
            context.waker().wake_by_ref();
        }
    }

    /// Reads checked bytes.
    pub(super) fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        (self.waiting, self.read_whole_request) = (false, false);
        loop {
            if self.passed > 0 {
                self.hand_out(buffer);
                return Poll::Ready(Ok(()));
            }
            if self.framing.is_offered() && self.tracker.is_done_with(self.framing.heads) {
                self.framing.decline();
                self.check();
                continue;
            }
            match self.fault {
                // The placeholder request was read, and the connection ends with its response.
                Some(FramingError::Head(_)) => return Poll::Pending,
                Some(FramingError::Chunk) => return Poll::Ready(Err(io::ErrorKind::InvalidData.into())),
                None => {}
            }
            if self.framing.is_offered() && !self.buffered.is_empty() {
                // The response decides which protocol these bytes belong to.
                self.waiting = true;
                return Poll::Pending;
            }
            if self.buffered.is_empty() {
                let before = buffer.filled().len();
                ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
                if buffer.filled().len() == before || self.keep_back(buffer, before) {
                    return Poll::Ready(Ok(()));
                }
            } else if ready!(self.poll_more(context))? == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Checks the bytes just read into a buffer, and takes back those that may not be read yet. Returns whether any are left.
    fn keep_back(&mut self, buffer: &mut ReadBuf<'_>, before: usize) -> bool {
        let read = buffer.filled().get(before..).unwrap_or_default();
        // Both ends count: the rest of an earlier body must not be taken for the beginning of a request.
        let (begins_request, heads) = (self.framing.is_between_requests(), self.framing.heads);
        let (passed, verdict) = self.framing.pass(read);
        self.read_whole_request =
            begins_request && self.framing.heads == heads + 1 && self.framing.is_between_requests();
        if passed < read.len() {
            self.buffered.extend_from_slice(read.get(passed..).unwrap_or_default());
            buffer.set_filled(before + passed);
        }
        self.handle_verdict(verdict);
        passed > 0
    }

    /// Reads more bytes of an incomplete head.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut piece = [0; READ_CHUNK_BYTES];
        let mut piece = ReadBuf::new(&mut piece);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut piece))?;
        self.buffered.extend_from_slice(piece.filled());
        self.check();
        Poll::Ready(Ok(piece.filled().len()))
    }

    /// Checks all buffered bytes.
    fn check(&mut self) {
        let (passed, verdict) = self.framing.pass(&self.buffered);
        self.passed = passed;
        self.handle_verdict(verdict);
    }

    /// Replaces a request with an invalid head by the placeholder.
    fn handle_verdict(&mut self, verdict: Result<(), FramingError>) {
        let Err(fault) = verdict else { return };
        self.fault = Some(fault);
        self.buffered.truncate(self.passed);
        if let FramingError::Head(malformed) = fault {
            let _ = self.tracker.0.refused.set((self.framing.heads, malformed));
            self.buffered.extend_from_slice(PLACEHOLDER_REQUEST);
            self.passed = self.buffered.len();
        }
    }

    fn hand_out(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.passed.min(buffer.remaining());
        buffer.put_slice(self.buffered.get(..count).unwrap_or_default());
        self.passed -= count;
        if count == self.buffered.len() {
            // Most connections need no buffer, and those that did may not need it again.
            self.buffered = Vec::new();
        } else {
            self.buffered.drain(..count);
        }
    }

    /// Drops what a refused client has sent: closing a connection with unread bytes may discard the last response.
    pub(super) fn discard(&mut self, context: &mut Context<'_>) {
        let (mut piece, mut left) = ([0; READ_CHUNK_BYTES], MAX_DISCARDED_BYTES);
        while self.fault.is_some() && left > 0 {
            let mut piece = ReadBuf::new(&mut piece);
            match Pin::new(&mut self.stream).poll_read(context, &mut piece) {
                Poll::Ready(Ok(())) if !piece.filled().is_empty() => left = left.saturating_sub(piece.filled().len()),
                _ => return,
            }
        }
    }
}
