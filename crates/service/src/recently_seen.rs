//! What requests showed recently, for the log and for `deskpass doctor`: bounded, whatever clients send.

use std::collections::VecDeque;
use std::time::Duration;

use deskpass_core::Timestamp;

/// The maximum number of remembered items; the least recently seen one is dropped first.
const MAX_ITEMS: usize = 16;

/// The minimum interval between log lines about the same item.
const ITEM_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// The minimum interval between log lines about any item.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The items that were seen last.
#[derive(Debug)]
pub(crate) struct RecentlySeen<T> {
    /// The most recently seen one is at the back.
    items: VecDeque<Seen<T>>,
    logged_at: Option<Timestamp>,
}

/// An item, and the requests that showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen<T> {
    pub(crate) item: T,
    pub(crate) requests: u64,
    pub(crate) last: Timestamp,
    logged_at: Option<Timestamp>,
}

impl<T> Default for RecentlySeen<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), logged_at: None }
    }
}

impl<T: Clone + PartialEq> RecentlySeen<T> {
    /// Records a request. Returns whether to log it.
    pub(crate) fn note(&mut self, item: T, now: Timestamp) -> bool {
        let at = self.items.iter().position(|seen| seen.item == item);
        let known = at.and_then(|at| self.items.remove(at));
        let mut seen = known.unwrap_or(Seen { item, requests: 0, last: now, logged_at: None });
        seen.requests = seen.requests.saturating_add(1);
        seen.last = now;
        let due = |at: Option<Timestamp>, interval| at.is_none_or(|at| now.since(at) >= interval);
        let is_due = due(seen.logged_at, ITEM_LOG_INTERVAL) && due(self.logged_at, LOG_INTERVAL);
        if is_due {
            (seen.logged_at, self.logged_at) = (Some(now), Some(now));
        }
        if self.items.len() >= MAX_ITEMS {
            self.items.pop_front();
        }
        self.items.push_back(seen);
        is_due
    }

    /// The remembered items, most recently seen first.
    pub(crate) fn list(&self) -> Vec<Seen<T>> {
        self.items.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_logged_seldom_and_remembered_within_bounds() {
        let (mut seen, start) = (RecentlySeen::default(), Timestamp::from_millis(1_000_000));
        let mut logged = 0;
        for turn in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(turn));
            logged += usize::from(seen.note(turn, now));
        }
        assert!((1..=100).contains(&logged), "{logged}");
        assert_eq!(seen.list().len(), MAX_ITEMS);
        let mut seen = RecentlySeen::default();
        let mut note = |seconds| seen.note("10.0.0.5", start + Duration::from_secs(seconds));
        assert_eq!([0, 59, 60].map(&mut note), [true, false, true]);
        let listed: Vec<_> = seen.list().iter().map(|seen| (seen.item, seen.requests)).collect();
        assert_eq!(listed, [("10.0.0.5", 3)]);
    }
}
