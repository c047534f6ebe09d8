//! Limits the lines about failed requests in the service log: while a dependency is down, any client can cause them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::{Debt, Rate, Timestamp};

/// The lines per minute. The others are counted.
const LINES_PER_MINUTE: u32 = 300;

/// Counts the lines about failed requests.
#[derive(Debug, Default)]
pub(crate) struct FailureLog(Mutex<LineCount>);

#[derive(Debug, Default)]
struct LineCount {
    debt: Debt,
    /// The failures since the last summary that have no line.
    without_line: u64,
}

impl FailureLog {
    /// Whether a failure gets a line of its own. If not, it is counted.
    pub(crate) fn admits(&self, now: Timestamp) -> bool {
        // Every change leaves the counts consistent, so a poisoned lock is harmless.
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = Rate::new(LINES_PER_MINUTE, Duration::from_mins(1));
        let Some(debt) = rate.and_then(|rate| rate.admit(count.debt, now).ok()) else {
            count.without_line += 1;
            return false;
        };
        count.debt = debt;
        true
    }

    /// Writes a line about the failures without a line since the last call, if there were any. Must be called every minute, and
    /// before the process ends.
    pub(crate) fn summarise(&self) {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = std::mem::take(&mut count.without_line);
        if failures > 0 {
            tracing::error!(failures, "more requests failed, for causes such as those logged before");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited_and_the_rest_is_counted() {
        let (log, start) = (FailureLog::default(), Timestamp::from_millis(1_750_000_000_000));
        let admitted = |count: usize, now| (0..count).filter(|_| log.admits(now)).count();
        assert_eq!(admitted(1_000, start), 300);
        assert_eq!(log.0.lock().map(|count| count.without_line).ok(), Some(700));
        log.summarise();
        assert_eq!(log.0.lock().map(|count| count.without_line).ok(), Some(0));
        assert_eq!(admitted(1_000, start + Duration::from_mins(1)), 300);
    }
}
