//! The timeouts of a connection: a short one for a request that has begun, and a long one between requests and for the
//! client to accept a response.
//!
//! hyper has one deadline for both. It would either cut off the idle connections that proxies keep, or give a client
//! that sends its head byte by byte as much time as an idle one.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::activity::ConnectionActivity;
use super::checked_reader::CheckedReader;
use super::direct_path::DirectPath;
use crate::config::Server;

/// The timeouts of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionTimeouts {
    /// For the rest of a request's head, from its first byte.
    pub(super) head: Duration,
    /// For the first byte of the next request, or for space to write another byte of a response.
    pub(super) idle: Duration,
}

impl ConnectionTimeouts {
    /// The timeouts of a new connection. The place of one of the reserve must become free soon.
    pub(super) fn new(settings: &Server, reserve: bool) -> Self {
        let longest = if reserve { RESERVE_TIMEOUT } else { Duration::MAX };
        Self { head: settings.header_timeout.min(longest), idle: settings.idle_timeout.min(longest) }
    }
}

/// The timeout for everything on a connection of the reserve.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection whose reads fail after a timeout of the client.
#[derive(Debug)]
pub(super) struct TimeoutStream<S = TcpStream> {
    pub(super) reader: CheckedReader<S>,
    timeouts: ConnectionTimeouts,
    activity: ConnectionActivity,
    last_toggles: usize,
    waiting: ReadWait,
    /// When the client stopped accepting bytes of a response.
    write_blocked_since: Option<Instant>,
    // It is rarely reset: its deadline is checked when it fires, not moved with every request.
    timer: Pin<Box<Sleep>>,
    /// Whether the timer will wake the connection's task, which never changes.
    timer_armed: bool,
    direct: DirectPath,
    /// The number of starts and ends of responses at the last flush. The HTTP library flushes only when its buffer is empty.
    flushed_toggles: usize,
}

/// What a read waits for, and since when.
#[derive(Clone, Copy, Debug)]
enum ReadWait {
    /// Nothing; a request is being answered.
    No,
    /// The start of a request. The time is first recorded when the timer fires, which happens now and then anyway: an
    /// idle connection gets up to twice its timeout, and a busy one costs nothing.
    Idle(Option<Instant>),
    /// The rest of a request's head. Most requests arrive in one piece, so this wait is rare.
    Head(Option<Instant>),
}

impl<S: AsyncRead + AsyncWrite + Unpin> TimeoutStream<S> {
    pub(super) fn new(
        reader: CheckedReader<S>,
        timeouts: ConnectionTimeouts,
        activity: ConnectionActivity,
        direct: DirectPath,
    ) -> Self {
        let now = Instant::now();
        // A client opens a connection to send a request, so a new connection gets the timeout of a head.
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
            direct,
            flushed_toggles: 0,
        }
    }

    /// Detects whether a response has begun or ended.
    fn update_phase(&mut self) {
        let toggles = self.activity.toggles();
        if toggles != self.last_toggles {
            self.last_toggles = toggles;
            self.waiting = if toggles % 2 == 1 { ReadWait::No } else { ReadWait::Idle(None) };
        }
    }

    /// Completes after a timeout of the client.
    fn poll_timed_out(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let ReadWait::Head(since) = &mut self.waiting {
            let begun = since.is_none();
            let deadline = *since.get_or_insert_with(Instant::now) + self.timeouts.head;
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
            // Without a budget: a timer that is only asked to wait for its turn would count as armed, and never fire.
            self.timer_armed = pin!(unconstrained(self.timer.as_mut())).poll(context).is_pending();
            if self.timer_armed {
                return Poll::Pending;
            }
            let (now, deadline) = (Instant::now(), self.next_deadline());
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(());
            }
            // Never later than the idle timeout, since the connection may become idle without notice to this code.
            let soonest = now + self.timeouts.idle;
            self.timer.as_mut().reset(deadline.map_or(soonest, |deadline| deadline.min(soonest)));
        }
    }

    /// The time to give up, if nothing happens before.
    fn next_deadline(&mut self) -> Option<Instant> {
        let read = match &mut self.waiting {
            ReadWait::No => None,
            ReadWait::Idle(since) => Some(*since.get_or_insert_with(Instant::now) + self.timeouts.idle),
            ReadWait::Head(since) => Some(*since.get_or_insert_with(Instant::now) + self.timeouts.head),
        };
        let written = self.write_blocked_since.map(|since| since + self.timeouts.idle);
        read.into_iter().chain(written).min()
    }

    /// Records whether the client accepts bytes, and fails after it has not for too long.
    fn wrote<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if self.write_blocked_since.take().is_some() {
                self.activity.mark_busy();
            }
            return written;
        }
        if self.write_blocked_since.is_none() {
            self.write_blocked_since = Some(Instant::now());
            self.activity.mark_waiting();
        }
        ready!(self.poll_timed_out(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Answers what was just read into a buffer, if it is a request that can be answered directly, and removes it from there. The
    /// HTTP library must be idle: nothing of an earlier response may be in its buffers.
    fn answer_directly(&mut self, buffer: &mut ReadBuf<'_>, before: usize) -> bool {
        let toggles = self.activity.toggles();
        // A response ends when all of it is in the library's buffer, and is sent with the first flush after that. A flush before, as
        // between its head and its body, has counted fewer ends.
        let is_idle = toggles.is_multiple_of(2) && toggles == self.flushed_toggles;
        let request = buffer.filled().get(before..).unwrap_or_default();
        if !is_idle || !self.reader.has_read_only_request() {
            return false;
        }
        let Some(ready_at) = self.direct.answer(request) else { return false };
        buffer.set_filled(before);
        self.reader.uncount_request();
        self.activity.record_direct_response(Instant::from_std(ready_at));
        true
    }

    /// Sends the rest of a direct answer. Nothing else is read or written before.
    fn poll_send_direct(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.direct.is_sending() {
            return Poll::Ready(Ok(()));
        }
        let before = self.direct.sent();
        let sent = self.direct.poll_send(&mut self.reader.stream, context);
        if self.direct.sent() > before {
            // The client accepts bytes, if slowly.
            self.write_blocked_since = None;
        }
        ready!(self.wrote(context, sent))?;
        self.flushed_toggles = self.activity.toggles();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let read = loop {
            ready!(this.poll_send_direct(context))?;
            this.update_phase();
            let read = this.reader.poll_read(context, buffer);
            if !this.answer_directly(buffer, before) {
                break read;
            }
        };
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

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_send_direct(context))?;
        let written = Pin::new(&mut self.reader.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send_direct(context))?;
        let mut flushed = Pin::new(&mut self.reader.stream).poll_flush(context);
        self.update_phase();
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.flushed_toggles = self.last_toggles;
        }
        if self.reader.stream.is_buffered() {
            // TLS accepts bytes that the client does not, and only the flush has to wait for it.
            flushed = self.wrote(context, flushed);
        }
        self.reader.wake(context);
        if matches!(self.waiting, ReadWait::Idle(_)) {
            // After a response, hyper reads again only when woken, so the timer must be set here. The next read checks
            // whether it has fired.
            let _ = self.poll_timed_out(context);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send_direct(context))?;
        self.reader.discard(context);
        let closed = Pin::new(&mut self.reader.stream).poll_shutdown(context);
        // With TLS, buffered bytes and the last record must be written first.
        self.wrote(context, closed)
    }
}
