//! What a connection is doing: for the connection itself, and for the accept loop when it needs a place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::time::Instant;

/// Stands for a connection that does not wait for its client.
const BUSY: u64 = 0;

/// What one connection is doing. Clones are of the same connection.
#[derive(Clone, Debug)]
pub(super) struct ConnectionActivity(Arc<ActivityState>);

#[derive(Debug)]
struct ActivityState {
    /// When the server started; times are counted from here.
    epoch: Instant,
    /// Counts the beginnings and ends of answers: odd while one is under way. A count and not a flag, since an answer may
    /// begin and end between two looks at it.
    toggles: AtomicUsize,
    /// Since when the connection has waited for its client, in microseconds from the epoch, or [`BUSY`].
    waiting: AtomicU64,
}

impl ConnectionActivity {
    /// A connection that was opened just now and waits for its first request.
    pub(super) fn new(epoch: Instant) -> Self {
        let state = ActivityState { epoch, toggles: AtomicUsize::new(0), waiting: AtomicU64::new(BUSY) };
        let activity = Self(Arc::new(state));
        activity.mark_waiting();
        activity
    }

    /// An answer begins, or ends.
    pub(super) fn toggle(&self) {
        let before = self.0.toggles.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(2) {
            self.0.waiting.store(BUSY, Ordering::Relaxed);
        } else {
            self.mark_waiting();
        }
    }

    /// How many beginnings and ends there were.
    pub(super) fn toggles(&self) -> usize {
        self.0.toggles.load(Ordering::Relaxed)
    }

    /// The connection waits for its client from now on: for a request, for the rest of one, or to take an answer.
    pub(super) fn mark_waiting(&self) {
        self.0.waiting.store(micros_since(self.0.epoch), Ordering::Relaxed);
    }

    /// The connection waits since this many microseconds from the epoch.
    #[cfg(test)]
    pub(super) fn mark_waiting_since(&self, since: u64) {
        self.0.waiting.store(since, Ordering::Relaxed);
    }

    /// The client has done what the connection waited for while it answers.
    pub(super) fn mark_busy(&self) {
        if !self.toggles().is_multiple_of(2) {
            self.0.waiting.store(BUSY, Ordering::Relaxed);
        }
    }

    /// Since when the connection has waited for its client, if it does.
    pub(super) fn waiting_since(&self) -> Option<u64> {
        Some(self.0.waiting.load(Ordering::Relaxed)).filter(|since| *since != BUSY)
    }
}

/// The time in microseconds from the epoch, never [`BUSY`].
pub(super) fn micros_since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
}
