//! How long a connection may keep us waiting: a short while for a request that has begun, a long one between requests and
//! for an answer to be taken.
//!
//! hyper has one deadline for both. It would either cut off the idle connections that proxies keep, or give a client that
//! sends its head byte by byte as long as an idle one.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::ConnectionActivity;
use super::checked_reader::CheckedReader;

/// How long we wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionTimeouts {
    /// For the rest of a request's head, from its first byte.
    pub(super) head: Duration,
    /// For the first byte of the next request, or for room to write another byte of an answer.
    pub(super) idle: Duration,
}

impl ConnectionTimeouts {
    /// The same for a connection from the reserve, which has to be free again soon.
    pub(super) fn for_reserve(self) -> Self {
        Self { head: self.head.min(RESERVE_TIMEOUT), idle: self.idle.min(RESERVE_TIMEOUT) }
    }
}

/// How long a connection from the reserve waits for anything.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection whose reads fail once the client has taken too long.
#[derive(Debug)]
pub(super) struct TimeoutStream {
    reader: CheckedReader,
    timeouts: ConnectionTimeouts,
    activity: ConnectionActivity,
    last_toggles: usize,
    waiting: ReadWait,
    /// Since when the client has taken nothing of an answer.
    write_blocked_since: Option<Instant>,
    // Set once and left alone for most of its life: it is looked at when it rings, not moved with every request.
    timer: Pin<Box<Sleep>>,
    /// Whether the alarm will wake the connection's task, which stays the same for all of its life.
    timer_armed: bool,
}

/// What we wait for, and since when.
#[derive(Clone, Copy, Debug)]
enum ReadWait {
    /// Nothing; a request is being answered.
    No,
    /// A request to begin. The clock is first looked at when the alarm rings, which it does anyway now and then: an idle
    /// connection is given up to twice its time, and a busy one costs nothing.
    Idle(Option<Instant>),
    /// The rest of its head, which most requests bring in one piece, so that nobody waits.
    Head(Option<Instant>),
}

impl TimeoutStream {
    pub(super) fn new(reader: CheckedReader, timeouts: ConnectionTimeouts, activity: ConnectionActivity) -> Self {
        let now = now();
        // A fresh connection is opened to say something: it has as long as a head has.
        let (waiting, timer) =
            (ReadWait::Head(Some(now)), Box::pin(sleep_until(now + timeouts.head.min(timeouts.idle))));
        Self {
            reader,
            timeouts,
            activity,
            last_toggles: 0,
            waiting,
            write_blocked_since: None,
            timer,
            timer_armed: false,
        }
    }

    /// The connection, and what came on it and was not read yet, for whoever is patient in another way.
    pub(super) fn into_parts(self) -> (TcpStream, Vec<u8>) {
        self.reader.into_parts()
    }

    /// Looks whether an answer has begun or ended.
    fn update_phase(&mut self) {
        let toggles = self.activity.toggles();
        if toggles != self.last_toggles {
            self.last_toggles = toggles;
            self.waiting = if toggles % 2 == 1 { ReadWait::No } else { ReadWait::Idle(None) };
        }
    }

    /// Completes when the client has taken too long.
    fn poll_timed_out(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let ReadWait::Head(since) = &mut self.waiting {
            let begun = since.is_none();
            let deadline = *since.get_or_insert_with(now) + self.timeouts.head;
            if begun {
                self.activity.mark_waiting();
            }
            if deadline < self.timer.deadline() {
                self.timer.as_mut().reset(deadline);
                self.timer_armed = false;
            }
        }
        loop {
            if self.timer_armed && !self.timer.is_elapsed() {
                return Poll::Pending;
            }
            self.timer_armed = self.timer.as_mut().poll(context).is_pending();
            if self.timer_armed {
                return Poll::Pending;
            }
            let (now, deadline) = (now(), self.next_deadline());
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(());
            }
            // Never further away than an idle connection may wait, for it may become one without a word to us.
            let soonest = now + self.timeouts.idle;
            self.timer.as_mut().reset(deadline.map_or(soonest, |deadline| deadline.min(soonest)));
        }
    }

    /// When to give up, if nothing happens before.
    fn next_deadline(&mut self) -> Option<Instant> {
        let read = match &mut self.waiting {
            ReadWait::No => None,
            ReadWait::Idle(since) => Some(*since.get_or_insert_with(now) + self.timeouts.idle),
            ReadWait::Head(since) => Some(*since.get_or_insert_with(now) + self.timeouts.head),
        };
        let written = self.write_blocked_since.map(|since| since + self.timeouts.idle);
        read.into_iter().chain(written).min()
    }

    /// Notes whether the client takes what we write, and fails once it has not for too long.
    fn wrote(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            if self.write_blocked_since.take().is_some() {
                self.activity.mark_busy();
            }
            return written;
        }
        if self.write_blocked_since.is_none() {
            self.write_blocked_since = Some(now());
            self.activity.mark_waiting();
        }
        ready!(self.poll_timed_out(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.update_phase();
        let before = buffer.filled().len();
        let read = this.reader.poll_read(context, buffer);
        let begun = buffer.filled().len() > before || this.reader.is_partial();
        if begun && matches!(this.waiting, ReadWait::Idle(_)) {
            this.waiting = ReadWait::Head(None);
        }
        if read.is_pending() {
            ready!(this.poll_timed_out(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for TimeoutStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.reader.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.reader.stream).poll_write_vectored(context, bytes);
        self.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.reader.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.reader.stream).poll_flush(context);
        self.update_phase();
        self.reader.wake(context);
        if matches!(self.waiting, ReadWait::Idle(_)) {
            // After an answer hyper reads again only when woken; without this nobody would set the alarm. Whether it has
            // rung is the next read's business.
            let _ = self.poll_timed_out(context);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.reader.discard(context);
        Pin::new(&mut self.reader.stream).poll_shutdown(context)
    }
}

fn now() -> Instant {
    Instant::now()
}
