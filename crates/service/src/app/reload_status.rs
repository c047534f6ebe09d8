//! The result of the last reload, for the metrics.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use deskpass_core::Timestamp;

/// The result of the last reload. The start counts as one.
#[derive(Debug)]
pub(crate) struct ReloadStatus {
    successful: AtomicBool,
    last_success: AtomicI64,
}

impl ReloadStatus {
    pub(crate) fn new(started_at: Timestamp) -> Self {
        Self { successful: AtomicBool::new(true), last_success: AtomicI64::new(started_at.millis()) }
    }

    pub(crate) fn record(&self, successful: bool, now: Timestamp) {
        self.successful.store(successful, Ordering::Relaxed);
        if successful {
            self.last_success.store(now.millis(), Ordering::Relaxed);
        }
    }

    /// Whether the last reload succeeded.
    pub(crate) fn is_successful(&self) -> bool {
        self.successful.load(Ordering::Relaxed)
    }

    /// The time of the last successful one.
    pub(crate) fn last_success(&self) -> Timestamp {
        Timestamp::from_millis(self.last_success.load(Ordering::Relaxed))
    }
}
