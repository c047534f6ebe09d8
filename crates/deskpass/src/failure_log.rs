//! Limits the lines about failed and refused requests in the service log: any client can cause them, failures at least while a
//! dependency is down.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::{Debt, Rate, Timestamp};

/// The lines about failures per minute. The others are counted.
const FAILURES_PER_MINUTE: u32 = 300;
/// The lines about refusals without an audit row, per minute, of signed-in users and of all other clients.
const REFUSALS_OF_USERS_PER_MINUTE: u32 = 300;
const ANONYMOUS_REFUSALS_PER_MINUTE: u32 = 60;

/// Counts the lines about failed and refused requests.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    failures: Mutex<LineCount>,
    refusals_of_users: Mutex<LineCount>,
    anonymous_refusals: Mutex<LineCount>,
}

#[derive(Debug, Default)]
struct LineCount {
    debt: Debt,
    /// The requests since the last summary that have no line.
    without_line: u64,
}

impl FailureLog {
    /// Whether a failure gets a line of its own. If not, it is counted.
    pub(crate) fn admits(&self, now: Timestamp) -> bool {
        admit(&self.failures, FAILURES_PER_MINUTE, now)
    }

    /// Whether a refusal without an audit row gets a line of its own. If not, it is counted.
    pub(crate) fn admits_refusal(&self, of_user: bool, now: Timestamp) -> bool {
        if of_user {
            admit(&self.refusals_of_users, REFUSALS_OF_USERS_PER_MINUTE, now)
        } else {
            admit(&self.anonymous_refusals, ANONYMOUS_REFUSALS_PER_MINUTE, now)
        }
    }

    /// Writes a line about the requests without a line since the last call, if there were any. Must be called every minute, and
    /// before the process ends.
    pub(crate) fn summarise(&self) {
        let failures = take(&self.failures);
        if failures > 0 {
            tracing::error!(failures, "more requests failed, for causes such as those logged before");
        }
        let refusals = take(&self.refusals_of_users) + take(&self.anonymous_refusals);
        if refusals > 0 {
            tracing::info!(refusals, "more requests were refused, for reasons such as those logged before");
        }
    }
}

fn admit(count: &Mutex<LineCount>, per_minute: u32, now: Timestamp) -> bool {
    // Every change leaves the counts consistent, so a poisoned lock is harmless.
    let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
    let rate = Rate::new(per_minute, Duration::from_mins(1));
    let Some(debt) = rate.and_then(|rate| rate.admit(count.debt, now).ok()) else {
        count.without_line += 1;
        return false;
    };
    count.debt = debt;
    true
}

/// The requests without a line since the last call.
fn take(count: &Mutex<LineCount>) -> u64 {
    std::mem::take(&mut count.lock().unwrap_or_else(PoisonError::into_inner).without_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited_and_the_rest_is_counted() {
        let (log, start) = (FailureLog::default(), Timestamp::from_millis(1_750_000_000_000));
        let admitted = |count: usize, now| (0..count).filter(|_| log.admits(now)).count();
        assert_eq!(admitted(1_000, start), 300);
        assert_eq!(log.failures.lock().map(|count| count.without_line).ok(), Some(700));
        log.summarise();
        assert_eq!(log.failures.lock().map(|count| count.without_line).ok(), Some(0));
        assert_eq!(admitted(1_000, start + Duration::from_mins(1)), 300);
    }

    #[test]
    fn a_flood_of_anonymous_refusals_leaves_the_lines_of_users() {
        let (log, start) = (FailureLog::default(), Timestamp::from_millis(1_750_000_000_000));
        assert_eq!((0..1_000).filter(|_| log.admits_refusal(false, start)).count(), 60);
        assert!(log.admits_refusal(true, start) && log.admits(start));
    }
}
