//! A history: what the clients asked, when, and what came of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::harness::Stopwatch;

/// A moment of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// By the machine's clock. It puts events in order.
    pub(super) at: Duration,
    /// By the stopwatch, which stands still while the machine does. It measures promises about time.
    pub(super) counted: Duration,
}

/// The clock of a history, the same for all clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    began: Instant,
    watch: Stopwatch,
}

impl Timer {
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), watch: Stopwatch::start() }
    }

    pub(super) fn now(self) -> Moment {
        Moment { at: self.began.elapsed(), counted: self.watch.elapsed() }
    }
}

/// What a client asked for. Sign-ins are numbered; the token of a sign-in has its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// A sign-in, by several requests. Its session begins in the role [`FIRST_ROLE`].
    SignIn { token: usize },
    /// A switch to another role.
    Switch { token: usize, role: String },
    /// The end of one session.
    Logout { token: usize },
    /// The end of all sessions that the person has.
    EndAll,
    /// A question whether a token is valid, which was answered.
    Verify { token: usize, seen: Seen },
    /// The one-time password of a time step.
    Code { step: i64 },
    /// A message to the person, with this number as its content.
    Post { number: usize },
}

/// The role in which every session begins.
pub(super) const FIRST_ROLE: &str = "agent";

/// What an answer says about a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It is valid, in this role where the answer says it.
    Valid(Option<String>),
    Invalid,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was acknowledged: it has taken effect.
    Done,
    /// It was refused, or never arrived: it has no effect.
    Refused,
    /// There was no answer, or one that leaves it open: it may have taken effect, or may do so at any time from now on.
    Unknown,
}

/// A request and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) op: Op,
    /// The node that answered; none where several had a part in it, or the command line.
    pub(super) node: Option<usize>,
    pub(super) invoked: Moment,
    pub(super) completed: Moment,
    pub(super) outcome: Outcome,
}

/// What one client received on a socket of one session, over all connections that went on where the one before had ended.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) token: usize,
    /// When the first connection was ready.
    pub(super) began: Moment,
    /// The contents of its messages, in the order of their arrival.
    pub(super) heard: Vec<usize>,
    /// Whether the client waited in the end until nothing more could come.
    pub(super) is_complete: bool,
}

/// The history of one person, who has a client of their own. The histories of people do not depend on each other.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub(super) events: Vec<Event>,
    pub(super) chains: Vec<Chain>,
    /// The rows of the audit log by event and number of the sign-in, if they were counted.
    pub(super) audit: Option<BTreeMap<(String, usize), usize>>,
}

impl History {
    /// The number of events with this outcome.
    pub(super) fn count(&self, outcome: Outcome) -> usize {
        self.events.iter().filter(|event| event.outcome == outcome).count()
    }
}
