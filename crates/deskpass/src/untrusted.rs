//! Peers that sent `X-Forwarded-For` without being trusted: proxies that the settings do not list.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::Timestamp;

/// How many peers are remembered; the one that was seen longest ago is forgotten first.
const MAX_PEERS: usize = 16;

/// How often the same peer is logged at most.
const PEER_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// How often any peer is logged at most.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The peers whose requests were refused, for the log and for `deskpass doctor`.
#[derive(Debug, Default)]
pub(crate) struct UntrustedProxies(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// Seen last at the back.
    peers: VecDeque<UntrustedProxy>,
    logged_at: Option<Timestamp>,
}

/// A peer whose requests were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UntrustedProxy {
    pub(crate) address: IpAddr,
    pub(crate) requests: u64,
    pub(crate) last: Timestamp,
    logged_at: Option<Timestamp>,
}

impl UntrustedProxies {
    /// Remembers a request that was refused, and logs it unless that was done lately.
    pub(crate) fn note(&self, address: IpAddr, now: Timestamp) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.note(address, now) {
            drop(seen);
            tracing::warn!(
                peer = %address,
                "requests refused: this peer sends X-Forwarded-For and is not a trusted proxy; if it is your proxy, set \
                 trusted_proxies = [\"{address}\"], together with any others that are listed there"
            );
        }
    }

    /// The peers that are remembered, seen last first.
    pub(crate) fn list(&self) -> Vec<UntrustedProxy> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).peers.iter().rev().copied().collect()
    }
}

impl Seen {
    /// Whether it is to be logged.
    fn note(&mut self, address: IpAddr, now: Timestamp) -> bool {
        let at = self.peers.iter().position(|peer| peer.address == address);
        let known = at.and_then(|at| self.peers.remove(at));
        let mut peer = known.unwrap_or(UntrustedProxy { address, requests: 0, last: now, logged_at: None });
        peer.requests = peer.requests.saturating_add(1);
        peer.last = now;
        let due = |at: Option<Timestamp>, interval| at.is_none_or(|at| now.since(at) >= interval);
        let log = due(peer.logged_at, PEER_LOG_INTERVAL) && due(self.logged_at, LOG_INTERVAL);
        if log {
            (peer.logged_at, self.logged_at) = (Some(now), Some(now));
        }
        if self.peers.len() >= MAX_PEERS {
            self.peers.pop_front();
        }
        self.peers.push_back(peer);
        log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_logged_seldom_and_remembered_within_bounds() {
        let (mut seen, start) = (Seen::default(), Timestamp::from_millis(1_000_000));
        let mut logged = 0;
        for turn in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(turn));
            let [_, _, high, low] = turn.to_be_bytes();
            logged += usize::from(seen.note(IpAddr::from([10, 0, high, low]), now));
        }
        assert!((1..=100).contains(&logged), "{logged}");
        assert_eq!(seen.peers.len(), MAX_PEERS);
        let (mut seen, proxy) = (Seen::default(), IpAddr::from([10, 0, 0, 5]));
        assert!(seen.note(proxy, start) && !seen.note(proxy, start + Duration::from_secs(59)));
        assert!(seen.note(proxy, start + Duration::from_mins(1)));
        assert_eq!(seen.peers.iter().map(|peer| (peer.address, peer.requests)).collect::<Vec<_>>(), [(proxy, 3)]);
    }
}
