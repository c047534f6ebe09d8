//! The activity of a connection, for the connection itself and for the accept loop when it needs a free place.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::time::Instant;

/// The value for a connection that does not wait for its client.
const BUSY: u64 = 0;

/// The activity of one connection. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct ConnectionActivity(Arc<ActivityState>);

#[derive(Debug)]
struct ActivityState {
    /// The start of the server; times are relative to it.
    epoch: Instant,
    /// Counts the starts and ends of responses: odd while a response is in progress. It is a count and not a flag,
    /// because a response may start and end between two reads.
    toggles: AtomicUsize,
    /// When the connection began to wait for its client, in microseconds from the epoch, or [`BUSY`].
    waiting: AtomicU64,
}

impl ConnectionActivity {
    /// Creates the activity of a new connection that waits for its first request.
    pub(super) fn new(epoch: Instant) -> Self {
        let state = ActivityState { epoch, toggles: AtomicUsize::new(0), waiting: AtomicU64::new(BUSY) };
        let activity = Self(Arc::new(state));
        activity.mark_waiting();
        activity
    }

    /// Records that a response starts or ends.
    pub(super) fn toggle(&self) {
        let before = self.0.toggles.fetch_add(1, Ordering::Relaxed);
        if before.is_multiple_of(2) {
            self.0.waiting.store(BUSY, Ordering::Relaxed);
        } else {
            self.mark_waiting();
        }
    }

    /// Records a response that started and ended at once, at this time.
    pub(super) fn record_direct_response(&self, at: Instant) {
        self.0.toggles.fetch_add(2, Ordering::Relaxed);
        self.0.waiting.store(micros_between(self.0.epoch, at), Ordering::Relaxed);
    }

    /// The number of starts and ends of responses.
    pub(super) fn toggles(&self) -> usize {
        self.0.toggles.load(Ordering::Relaxed)
    }

    /// Records that the connection now waits for its client: for a request, for the rest of one, or to accept a response.
    pub(super) fn mark_waiting(&self) {
        self.0.waiting.store(micros_since(self.0.epoch), Ordering::Relaxed);
    }

    /// Records that the connection waits since this many microseconds from the epoch.
    #[cfg(test)]
    pub(super) fn mark_waiting_since(&self, since: u64) {
        self.0.waiting.store(since, Ordering::Relaxed);
    }

    /// Records that the client did what the connection waited for during a response.
    pub(super) fn mark_busy(&self) {
        if !self.toggles().is_multiple_of(2) {
            self.0.waiting.store(BUSY, Ordering::Relaxed);
        }
    }

    /// When the connection began to wait for its client, if it waits.
    pub(super) fn waiting_since(&self) -> Option<u64> {
        Some(self.0.waiting.load(Ordering::Relaxed)).filter(|since| *since != BUSY)
    }
}

/// The time in microseconds from the epoch, never [`BUSY`].
pub(super) fn micros_since(epoch: Instant) -> u64 {
    micros_between(epoch, Instant::now())
}

fn micros_between(epoch: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(epoch).as_micros()).unwrap_or(u64::MAX).max(1)
}
