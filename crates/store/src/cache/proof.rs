//! Whether the cache can be believed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// How long after a reading of what others have changed began its word counts. Together with the time to give an answer,
/// less than a second.
const COUNTS: Duration = Duration::from_millis(900);

/// Proof that the cache knows of every change up to a moment ago.
#[derive(Debug)]
pub(crate) struct Proof {
    start: Instant,
    /// Milliseconds after `start`.
    until: AtomicU64,
}

impl Proof {
    /// For whoever is the only one to change the data.
    pub(crate) fn always() -> Self {
        Self { start: Instant::now(), until: AtomicU64::new(u64::MAX) }
    }

    /// For whoever has to hear of what others change, and has heard of nothing yet.
    pub(crate) fn none_yet() -> Self {
        Self { start: Instant::now(), until: AtomicU64::new(0) }
    }

    pub(super) fn holds(&self) -> bool {
        let until = self.until.load(Ordering::Acquire);
        until == u64::MAX || self.start.elapsed() < Duration::from_millis(until)
    }

    /// Notes that everything that had changed when a reading began was heard of.
    pub(crate) fn extend(&self, began: Instant) {
        let until = (began + COUNTS).duration_since(self.start);
        self.until.store(u64::try_from(until.as_millis()).unwrap_or(0), Ordering::Release);
    }
}
