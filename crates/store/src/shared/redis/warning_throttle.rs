//! Limits the warnings about unreadable records.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use deskpass_core::Timestamp;

const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// The time of the last warning. Warnings are limited, because any client with a ticket can cause them.
#[derive(Debug)]
pub(super) struct WarningThrottle(AtomicI64);

impl WarningThrottle {
    pub(super) fn new() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }

    /// Returns whether a warning is due, and records it as given.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        now >= Timestamp::from_millis(last) + WARNING_INTERVAL
            && self.0.compare_exchange(last, now.millis(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_due_once_a_second() {
        let warnings = WarningThrottle::new();
        let due = [0, 0, 999, 1_000, 1_001, 1_999, 9_000].map(|at| warnings.is_due(Timestamp::from_millis(at)));
        assert_eq!(due, [true, false, false, true, false, false, true]);
    }
}
