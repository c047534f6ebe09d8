//! What requests showed recently, for the log and for `deskpass doctor`: bounded, whatever clients send.

use std::collections::VecDeque;
use std::time::Duration;

use deskpass_core::Timestamp;
use ipnet::IpNet;

/// The maximum number of remembered items; the least recently seen one is dropped first.
const MAX_ITEMS: usize = 16;

/// Of these, the items that one network showed: with names of its own making, it must not displace those of others.
const MAX_ITEMS_OF_NETWORK: usize = 4;

/// The minimum interval between log lines about the same item.
const ITEM_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// The minimum interval between log lines about any item.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The minimum interval between log lines about items of one network, so that others have lines, too.
const NETWORK_LOG_INTERVAL: Duration = Duration::from_secs(15);

/// The items that were seen last.
#[derive(Debug)]
pub(crate) struct RecentlySeen<T> {
    /// The most recently seen one is at the back.
    items: VecDeque<Seen<T>>,
    /// The networks of the last log lines, and their times.
    lines: VecDeque<(IpNet, Timestamp)>,
}

/// An item, and the requests that showed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen<T> {
    pub(crate) item: T,
    pub(crate) requests: u64,
    pub(crate) last: Timestamp,
    /// The network that showed it first.
    from: IpNet,
    logged_at: Option<Timestamp>,
}

impl<T> Default for RecentlySeen<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), lines: VecDeque::new() }
    }
}

impl<T: Clone + PartialEq> RecentlySeen<T> {
    /// Records a request from a network. Returns whether to log it.
    pub(crate) fn note(&mut self, item: T, from: IpNet, now: Timestamp) -> bool {
        let at = self.items.iter().position(|seen| seen.item == item);
        let known = at.and_then(|at| self.items.remove(at));
        let mut seen = known.unwrap_or_else(|| {
            self.make_room(from);
            Seen { item, requests: 0, last: now, from, logged_at: None }
        });
        seen.requests = seen.requests.saturating_add(1);
        seen.last = now;
        let is_due = seen.logged_at.is_none_or(|at| now.since(at) >= ITEM_LOG_INTERVAL) && self.take_line(from, now);
        if is_due {
            seen.logged_at = Some(now);
        }
        self.items.push_back(seen);
        is_due
    }

    /// Drops the least recently seen item of a network with too many, or else of all, if there is no room for another one.
    fn make_room(&mut self, from: IpNet) {
        if self.items.iter().filter(|seen| seen.from == from).count() >= MAX_ITEMS_OF_NETWORK {
            let oldest = self.items.iter().position(|seen| seen.from == from);
            drop(oldest.and_then(|oldest| self.items.remove(oldest)));
        } else if self.items.len() >= MAX_ITEMS {
            self.items.pop_front();
        }
    }

    /// Whether there may be a log line now about an item of this network; then it counts.
    fn take_line(&mut self, from: IpNet, now: Timestamp) -> bool {
        self.lines.retain(|(_, at)| now.since(*at) < NETWORK_LOG_INTERVAL);
        let is_busy = self.lines.back().is_some_and(|(_, at)| now.since(*at) < LOG_INTERVAL);
        if is_busy || self.lines.iter().any(|(network, _)| *network == from) {
            return false;
        }
        self.lines.push_back((from, now));
        true
    }

    /// The remembered items, most recently seen first.
    pub(crate) fn list(&self) -> Vec<Seen<T>> {
        self.items.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use deskpass_core::nearby_network;

    use super::*;

    fn network(number: u32) -> IpNet {
        nearby_network(Ipv4Addr::from_bits(number << 8).into())
    }

    #[test]
    fn a_flood_is_logged_seldom_and_remembered_within_bounds() {
        let (mut seen, start) = (RecentlySeen::default(), Timestamp::from_millis(1_000_000));
        let mut logged = 0;
        for turn in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(turn));
            logged += usize::from(seen.note(turn, network(turn), now));
        }
        assert!((1..=100).contains(&logged), "{logged}");
        assert!(seen.list().len() == MAX_ITEMS && seen.lines.len() <= 15);
        let mut seen = RecentlySeen::default();
        let mut note = |seconds| seen.note("10.0.0.5", network(7), start + Duration::from_secs(seconds));
        assert_eq!([0, 59, 60].map(&mut note), [true, false, true]);
        let listed: Vec<_> = seen.list().iter().map(|seen| (seen.item, seen.requests)).collect();
        assert_eq!(listed, [("10.0.0.5", 3)]);
    }

    #[test]
    fn a_flood_from_one_network_leaves_room_for_others() {
        let (mut seen, start) = (RecentlySeen::default(), Timestamp::from_millis(1_000_000));
        assert!(seen.note(u32::MAX, network(1), start));
        let (mut logged, mut others) = (0, 0);
        for turn in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(turn) + 1);
            logged += usize::from(seen.note(turn, network(2), now));
            // Somebody else, between the lines of the flood.
            if turn % 60_000 == 5_000 {
                others += usize::from(seen.note(u32::MAX - 1, network(3), now));
            }
        }
        assert!((4..=8).contains(&logged), "{logged}");
        assert_eq!(others, 2);
        let listed: Vec<_> = seen.list().iter().map(|seen| seen.item).collect();
        assert!(listed.len() == 6 && listed.contains(&u32::MAX) && listed.contains(&(u32::MAX - 1)), "{listed:?}");
    }
}
