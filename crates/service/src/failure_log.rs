//! Limits the lines about failed and refused requests in the service log: any client can cause them, failures at least while a
//! dependency is down.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::{Debt, Rate, Timestamp, rate_limit_address};

/// The lines about failures per minute. The others are counted.
const FAILURES_PER_MINUTE: u32 = 300;
/// The lines about refusals without an audit row, per minute, of signed-in users and of all other clients.
const REFUSALS_OF_USERS_PER_MINUTE: u32 = 300;
const ANONYMOUS_REFUSALS_PER_MINUTE: u32 = 60;
/// Of the latter, those of one address (IPv6: /64): one stranger must not take the lines of all others.
const ANONYMOUS_REFUSALS_PER_ADDRESS: u32 = 20;

/// Counts the lines about failed and refused requests.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    failures: Mutex<LineCount>,
    refusals_of_users: Mutex<LineCount>,
    anonymous_refusals: Mutex<LineCount>,
    /// The addresses with lines about anonymous refusals within the last minute. There are never many, since all their lines together
    /// are limited.
    addresses: Mutex<HashMap<IpAddr, Debt>>,
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

    /// Whether a refusal of a signed-in user, without an audit row, gets a line of its own. If not, it is counted.
    pub(crate) fn admits_refusal_of_user(&self, now: Timestamp) -> bool {
        admit(&self.refusals_of_users, REFUSALS_OF_USERS_PER_MINUTE, now)
    }

    /// The same for a refusal of any other client, at this address.
    pub(crate) fn admits_anonymous_refusal(&self, address: IpAddr, now: Timestamp) -> bool {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let address = rate_limit_address(address);
        let debt = addresses.get(&address).copied().unwrap_or_default();
        let rate = Rate::new(ANONYMOUS_REFUSALS_PER_ADDRESS, Duration::from_mins(1));
        let Some(debt) = rate.and_then(|rate| rate.admit(debt, now).ok()) else {
            count_without_line(&self.anonymous_refusals);
            return false;
        };
        if !admit(&self.anonymous_refusals, ANONYMOUS_REFUSALS_PER_MINUTE, now) {
            return false;
        }
        addresses.retain(|_, debt| debt.micros() > now.millis().saturating_mul(1_000));
        addresses.insert(address, debt);
        true
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

fn count_without_line(count: &Mutex<LineCount>) {
    count.lock().unwrap_or_else(PoisonError::into_inner).without_line += 1;
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
        let strangers = (0..1_000_u32).map(|number| IpAddr::from(number.to_be_bytes()));
        assert_eq!(strangers.filter(|address| log.admits_anonymous_refusal(*address, start)).count(), 60);
        assert!(log.admits_refusal_of_user(start) && log.admits(start));
    }

    #[test]
    fn a_flood_from_one_address_leaves_the_lines_of_others() {
        let (log, start) = (FailureLog::default(), Timestamp::from_millis(1_750_000_000_000));
        let [flood, other] = [[192_u8, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        let admitted = |now| (0..1_000).filter(|_| log.admits_anonymous_refusal(flood, now)).count();
        assert_eq!(admitted(start), 20);
        assert!(log.admits_anonymous_refusal(other, start));
        assert_eq!(log.anonymous_refusals.lock().map(|count| count.without_line).ok(), Some(980));
        let later = start + Duration::from_mins(2);
        assert_eq!(admitted(later), 20);
        assert_eq!(log.addresses.lock().map(|addresses| addresses.len()).ok(), Some(1), "the others are forgotten");
    }
}
