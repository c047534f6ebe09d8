//! The proof that the cache can be trusted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deskpass_core::MachineClock;

/// How long the cache is trusted after the start of a journal read. With the time to respond, it is less than a second.
pub(crate) const FRESHNESS_DURATION: Duration = Duration::from_millis(900);

/// A time since boot. It cannot be set, and includes the time that the machine was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BootInstant(Duration);

impl BootInstant {
    pub(crate) fn now() -> Self {
        Self(MachineClock::real().uptime())
    }

    pub(crate) fn elapsed(self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

/// The proof that the cache knows every change up to a moment ago.
#[derive(Debug)]
pub(crate) struct Freshness {
    /// In milliseconds.
    until: AtomicU64,
}

impl Freshness {
    /// For a node that is the only one to change the data.
    pub(crate) fn permanent() -> Self {
        Self { until: AtomicU64::new(u64::MAX) }
    }

    /// For a node that must read the changes of others and has not read any yet.
    pub(crate) fn expired() -> Self {
        Self { until: AtomicU64::new(0) }
    }

    pub(crate) fn is_valid(&self) -> bool {
        let until = self.until.load(Ordering::Acquire);
        until == u64::MAX || BootInstant::now() < BootInstant(Duration::from_millis(until))
    }

    /// Records that every change before the start of a read is known.
    pub(crate) fn extend(&self, began: BootInstant) {
        let until = u64::try_from((began.0 + FRESHNESS_DURATION).as_millis()).unwrap_or(0);
        self.until.store(until, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_ends_by_itself() {
        assert!(Freshness::permanent().is_valid());
        let freshness = Freshness::expired();
        assert!(!freshness.is_valid());
        freshness.extend(BootInstant::now());
        assert!(freshness.is_valid());
        freshness.extend(BootInstant(BootInstant::now().0.saturating_sub(FRESHNESS_DURATION)));
        assert!(!freshness.is_valid());
    }
}
