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

use super::intake::Intake;
use super::progress::Serving;

/// How long we wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// For the rest of a request's head, from its first byte.
    pub(super) head: Duration,
    /// For the first byte of the next request, or for room to write another byte of an answer.
    pub(super) idle: Duration,
}

impl Limits {
    /// The same for a connection from the reserve, which has to be free again soon.
    pub(super) fn of_reserve(self) -> Self {
        Self { head: self.head.min(RESERVE_TIMEOUT), idle: self.idle.min(RESERVE_TIMEOUT) }
    }
}

/// How long a connection from the reserve waits for anything.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection whose reads fail once the client has taken too long.
#[derive(Debug)]
pub(super) struct Patient {
    intake: Intake,
    limits: Limits,
    serving: Serving,
    seen: usize,
    waiting: Waiting,
    /// Since when the client has taken nothing of an answer.
    stuck: Option<Instant>,
    // Set once and left alone for most of its life: it is looked at when it rings, not moved with every request.
    alarm: Pin<Box<Sleep>>,
    /// Whether the alarm will wake the connection's task, which stays the same for all of its life.
    set: bool,
}

/// What we wait for, and since when.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    /// Nothing; a request is being answered.
    No,
    /// A request to begin. The clock is first looked at when the alarm rings, which it does anyway now and then: an idle
    /// connection is given up to twice its time, and a busy one costs nothing.
    Idle(Option<Instant>),
    /// The rest of its head, which most requests bring in one piece, so that nobody waits.
    Head(Option<Instant>),
}

impl Patient {
    pub(super) fn new(intake: Intake, limits: Limits, serving: Serving) -> Self {
        let now = now();
        // A fresh connection is opened to say something: it has as long as a head has.
        let (waiting, alarm) = (Waiting::Head(Some(now)), Box::pin(sleep_until(now + limits.head.min(limits.idle))));
        Self { intake, limits, serving, seen: 0, waiting, stuck: None, alarm, set: false }
    }

    /// The connection, and what came on it and was not read yet, for whoever is patient in another way.
    pub(super) fn into_parts(self) -> (TcpStream, Vec<u8>) {
        self.intake.into_parts()
    }

    /// Looks whether an answer has begun or ended.
    fn look(&mut self) {
        let turns = self.serving.turns();
        if turns != self.seen {
            self.seen = turns;
            self.waiting = if turns % 2 == 1 { Waiting::No } else { Waiting::Idle(None) };
        }
    }

    /// Completes when the client has taken too long.
    fn poll_too_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Waiting::Head(since) = &mut self.waiting {
            let begun = since.is_none();
            let deadline = *since.get_or_insert_with(now) + self.limits.head;
            if begun {
                self.serving.wait();
            }
            if deadline < self.alarm.deadline() {
                self.alarm.as_mut().reset(deadline);
                self.set = false;
            }
        }
        loop {
            if self.set && !self.alarm.is_elapsed() {
                return Poll::Pending;
            }
            self.set = self.alarm.as_mut().poll(context).is_pending();
            if self.set {
                return Poll::Pending;
            }
            let (now, deadline) = (now(), self.next_deadline());
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(());
            }
            // Never further away than an idle connection may wait, for it may become one without a word to us.
            let soonest = now + self.limits.idle;
            self.alarm.as_mut().reset(deadline.map_or(soonest, |deadline| deadline.min(soonest)));
        }
    }

    /// When to give up, if nothing happens before.
    fn next_deadline(&mut self) -> Option<Instant> {
        let read = match &mut self.waiting {
            Waiting::No => None,
            Waiting::Idle(since) => Some(*since.get_or_insert_with(now) + self.limits.idle),
            Waiting::Head(since) => Some(*since.get_or_insert_with(now) + self.limits.head),
        };
        let written = self.stuck.map(|since| since + self.limits.idle);
        read.into_iter().chain(written).min()
    }

    /// Notes whether the client takes what we write, and fails once it has not for too long.
    fn wrote(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            if self.stuck.take().is_some() {
                self.serving.go_on();
            }
            return written;
        }
        if self.stuck.is_none() {
            self.stuck = Some(now());
            self.serving.wait();
        }
        ready!(self.poll_too_late(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.look();
        let before = buffer.filled().len();
        let read = this.intake.poll_read(context, buffer);
        let begun = buffer.filled().len() > before || this.intake.is_partial();
        if begun && matches!(this.waiting, Waiting::Idle(_)) {
            this.waiting = Waiting::Head(None);
        }
        if read.is_pending() {
            ready!(this.poll_too_late(context));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.intake.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.intake.stream).poll_write_vectored(context, bytes);
        self.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.intake.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.intake.stream).poll_flush(context);
        self.look();
        self.intake.wake(context);
        if matches!(self.waiting, Waiting::Idle(_)) {
            // After an answer hyper reads again only when woken; without this nobody would set the alarm. Whether it has
            // rung is the next read's business.
            let _ = self.poll_too_late(context);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.intake.discard(context);
        Pin::new(&mut self.intake.stream).poll_shutdown(context)
    }
}

fn now() -> Instant {
    Instant::now()
}
