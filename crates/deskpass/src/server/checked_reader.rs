//! What comes in on a connection, checked before the HTTP library sees it.
//!
//! A head is passed on when it is whole and good. Where one is not, the library is given another request in its place, the
//! last one of the connection, and the service answers that with what is wrong. So the answer comes after those to the
//! requests before it, in its envelope, and nothing after the bad head is ever read as a request.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead as _, ReadBuf};
use tokio::net::TcpStream;

use super::framing::{Framing, FramingError};
use crate::http::MalformedHead;

/// The request that stands in for one with a bad head.
const PLACEHOLDER_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// How much is read at a time while a head is incomplete.
const READ_CHUNK_BYTES: usize = 4 * 1024;

/// How much of what a refused client has sent is read before the connection is closed.
const MAX_DISCARDED_BYTES: usize = 256 * 1024;

/// What the bytes of a connection and its requests have to know of each other.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestTracker(Arc<TrackerState>);

#[derive(Debug, Default)]
struct TrackerState {
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// The number of the request that stands in for a bad one, and what is wrong with that.
    refused: OnceLock<(usize, MalformedHead)>,
    switched: AtomicBool,
}

impl RequestTracker {
    /// A request begins. Returns what is wrong with it, if it only stands in for another.
    pub(super) fn begin(&self) -> Option<MalformedHead> {
        let number = self.0.begun.fetch_add(1, Ordering::Relaxed);
        self.0.refused.get().filter(|(refused, _)| *refused == number).map(|(_, fault)| *fault)
    }

    /// A request was answered, or its answer is being written.
    pub(super) fn end(&self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// The connection goes on with another protocol after this answer.
    pub(super) fn switch(&self) {
        self.0.switched.store(true, Ordering::Relaxed);
    }

    /// Whether this many requests were answered, and the connection goes on with HTTP.
    fn is_done_with(&self, heads: usize) -> bool {
        !self.0.switched.load(Ordering::Relaxed) && self.0.ended.load(Ordering::Relaxed) == heads
    }
}

/// The reading half of a connection.
#[derive(Debug)]
pub(super) struct CheckedReader {
    pub(super) stream: TcpStream,
    tracker: RequestTracker,
    framing: Framing,
    /// What came and was not read yet; most of the time nothing, since most heads come whole.
    buffered: Vec<u8>,
    /// How much of it may be read.
    passed: usize,
    fault: Option<FramingError>,
    /// A read waits for an answer.
    waiting: bool,
}

impl CheckedReader {
    pub(super) fn new(stream: TcpStream, tracker: RequestTracker) -> Self {
        let (framing, buffered) = (Framing::default(), Vec::new());
        Self { stream, tracker, framing, buffered, passed: 0, fault: None, waiting: false }
    }

    /// The connection, and what came on it and was not read.
    pub(super) fn into_parts(self) -> (TcpStream, Vec<u8>) {
        (self.stream, self.buffered)
    }

    /// Whether a part of a request is here and waits for the rest.
    pub(super) fn is_partial(&self) -> bool {
        !self.buffered.is_empty() && !self.framing.is_offered()
    }

    /// Wakes a read that had to wait for an answer, once that is there.
    pub(super) fn wake(&mut self, context: &Context<'_>) {
        if self.waiting && self.tracker.is_done_with(self.framing.heads()) {
            self.waiting = false;
            context.waker().wake_by_ref();
        }
    }

    /// Reads what was checked.
    pub(super) fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.waiting = false;
        loop {
            if self.passed > 0 {
                self.hand_out(buffer);
                return Poll::Ready(Ok(()));
            }
            if self.framing.is_offered() && self.tracker.is_done_with(self.framing.heads()) {
                self.framing.decline();
                self.check();
                continue;
            }
            match self.fault {
                // The request that stands in was read, and the connection ends with its answer.
                Some(FramingError::Head(_)) => return Poll::Pending,
                Some(FramingError::Chunk) => return Poll::Ready(Err(io::ErrorKind::InvalidData.into())),
                None => {}
            }
            if self.framing.is_offered() && !self.buffered.is_empty() {
                // Whose bytes these are depends on the answer.
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

    /// Checks what was just read into a buffer, and takes back what may not be read yet. Whether anything is left.
    fn keep_back(&mut self, buffer: &mut ReadBuf<'_>, before: usize) -> bool {
        let read = buffer.filled().get(before..).unwrap_or_default();
        let (passed, verdict) = self.framing.pass(read);
        if passed < read.len() {
            self.buffered.extend_from_slice(read.get(passed..).unwrap_or_default());
            buffer.set_filled(before + passed);
        }
        self.handle_verdict(verdict);
        passed > 0
    }

    /// Reads more of what is incomplete.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut piece = [0; READ_CHUNK_BYTES];
        let mut piece = ReadBuf::new(&mut piece);
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut piece))?;
        self.buffered.extend_from_slice(piece.filled());
        self.check();
        Poll::Ready(Ok(piece.filled().len()))
    }

    /// Checks all that is buffered.
    fn check(&mut self) {
        let (passed, verdict) = self.framing.pass(&self.buffered);
        self.passed = passed;
        self.handle_verdict(verdict);
    }

    /// Lets another request stand in where a head is bad.
    fn handle_verdict(&mut self, verdict: Result<(), FramingError>) {
        let Err(fault) = verdict else { return };
        self.fault = Some(fault);
        self.buffered.truncate(self.passed);
        if let FramingError::Head(malformed) = fault {
            let _ = self.tracker.0.refused.set((self.framing.heads(), malformed));
            self.buffered.extend_from_slice(PLACEHOLDER_REQUEST);
            self.passed = self.buffered.len();
        }
    }

    fn hand_out(&mut self, buffer: &mut ReadBuf<'_>) {
        let count = self.passed.min(buffer.remaining());
        buffer.put_slice(self.buffered.get(..count).unwrap_or_default());
        self.passed -= count;
        if count == self.buffered.len() {
            // Most connections need no such place, and those that did may not need it again.
            self.buffered = Vec::new();
        } else {
            self.buffered.drain(..count);
        }
    }

    /// Reads and drops what a refused client has sent already: a connection that is closed with something unread may take
    /// its last answer with it.
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
