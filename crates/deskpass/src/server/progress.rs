//! What a connection is doing: for the connection itself, and for the accept loop when it needs a place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::time::Instant;

/// Stands for a connection that does not wait for its client.
const BUSY: u64 = 0;

/// What one connection is doing. Clones are of the same connection.
#[derive(Clone, Debug)]
pub(super) struct Serving(Arc<Progress>);

#[derive(Debug)]
struct Progress {
    /// When the server started; times are counted from here.
    epoch: Instant,
    /// Counts the beginnings and ends of answers: odd while one is under way. A count and not a flag, since an answer may
    /// begin and end between two looks at it.
    turns: AtomicUsize,
    /// Since when the connection has waited for its client, in microseconds from the epoch, or [`BUSY`].
    waiting: AtomicU64,
}

impl Serving {
    /// A connection that was opened just now and waits for its first request.
    pub(super) fn new(epoch: Instant) -> Self {
        let progress = Progress { epoch, turns: AtomicUsize::new(0), waiting: AtomicU64::new(BUSY) };
        let serving = Self(Arc::new(progress));
        serving.wait();
        serving
    }

    /// An answer begins, or ends.
    pub(super) fn turn(&self) {
        let before = self.0.turns.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(2) {
            self.0.waiting.store(BUSY, Ordering::Relaxed);
        } else {
            self.wait();
        }
    }

    /// How many beginnings and ends there were.
    pub(super) fn turns(&self) -> usize {
        self.0.turns.load(Ordering::Relaxed)
    }

    /// The connection waits for its client from now on: for a request, for the rest of one, or to take an answer.
    pub(super) fn wait(&self) {
        self.0.waiting.store(micros(self.0.epoch), Ordering::Relaxed);
    }

    /// The connection waits since this many microseconds from the epoch.
    #[cfg(test)]
    pub(super) fn wait_from(&self, since: u64) {
        self.0.waiting.store(since, Ordering::Relaxed);
    }

    /// The client has done what the connection waited for while it answers.
    pub(super) fn go_on(&self) {
        if !self.turns().is_multiple_of(2) {
            self.0.waiting.store(BUSY, Ordering::Relaxed);
        }
    }

    /// Since when the connection has waited for its client, if it does.
    pub(super) fn waiting_since(&self) -> Option<u64> {
        Some(self.0.waiting.load(Ordering::Relaxed)).filter(|since| *since != BUSY)
    }
}

/// The time in microseconds from the epoch, never [`BUSY`].
pub(super) fn micros(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
}
