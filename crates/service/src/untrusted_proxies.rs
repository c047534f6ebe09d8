//! Peers that send `X-Forwarded-For` to the service or to a trusted proxy without being trusted: proxies missing in the settings.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use deskpass_core::Timestamp;

/// The maximum number of remembered peers; the least recently seen one is dropped first.
const MAX_PEERS: usize = 16;

/// The minimum interval between log lines about the same peer.
const PEER_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// The minimum interval between log lines about any peer.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The untrusted peers that forwarded requests, for the log and for `deskpass doctor`.
#[derive(Debug, Default)]
pub(crate) struct UntrustedProxies(Mutex<PeerTable>);

#[derive(Debug, Default)]
struct PeerTable {
    /// The most recently seen peer is at the back.
    peers: VecDeque<UntrustedProxy>,
    logged_at: Option<Timestamp>,
}

/// What the service did with the requests that an untrusted proxy forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardOutcome {
    /// The proxy connected directly, and the requests were refused.
    Refused,
    /// The requests came through a trusted proxy, and all clients of the untrusted one count as a single client.
    LetThrough,
}

/// A peer that forwarded requests without being trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UntrustedProxy {
    pub(crate) address: IpAddr,
    pub(crate) outcome: ForwardOutcome,
    pub(crate) requests: u64,
    pub(crate) last: Timestamp,
    logged_at: Option<Timestamp>,
}

impl UntrustedProxies {
    /// Records a request, and logs it unless it was logged recently.
    pub(crate) fn note(&self, address: IpAddr, outcome: ForwardOutcome, now: Timestamp) {
        let due = self.0.lock().unwrap_or_else(PoisonError::into_inner).note(address, outcome, now);
        match outcome {
            ForwardOutcome::Refused if due => tracing::warn!(
                peer = %address,
                "requests refused: this peer sends X-Forwarded-For and is not a trusted proxy; if it is your proxy, \
                 set trusted_proxies = [\"{address}\"], keeping the addresses already listed there"
            ),
            ForwardOutcome::LetThrough if due => tracing::warn!(
                hop = %address,
                "a trusted proxy passes on requests that this address forwards, all counted as one client: if it is \
                 your proxy, add \"{address}\" to trusted_proxies"
            ),
            _ => {}
        }
    }

    /// The remembered peers, most recently seen first.
    pub(crate) fn list(&self) -> Vec<UntrustedProxy> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).peers.iter().rev().copied().collect()
    }
}

impl PeerTable {
    /// Returns whether to log the request.
    fn note(&mut self, address: IpAddr, outcome: ForwardOutcome, now: Timestamp) -> bool {
        let at = self.peers.iter().position(|peer| (peer.address, peer.outcome) == (address, outcome));
        let known = at.and_then(|at| self.peers.remove(at));
        let mut peer = known.unwrap_or(UntrustedProxy { address, outcome, requests: 0, last: now, logged_at: None });
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
        let (mut seen, start) = (PeerTable::default(), Timestamp::from_millis(1_000_000));
        let mut logged = 0;
        for turn in 0..100_000_u32 {
            let now = start + Duration::from_millis(u64::from(turn));
            let [_, _, high, low] = turn.to_be_bytes();
            logged += usize::from(seen.note(IpAddr::from([10, 0, high, low]), ForwardOutcome::Refused, now));
        }
        assert!((1..=100).contains(&logged), "{logged}");
        assert_eq!(seen.peers.len(), MAX_PEERS);
        let (mut seen, proxy) = (PeerTable::default(), IpAddr::from([10, 0, 0, 5]));
        let mut note = |seconds| seen.note(proxy, ForwardOutcome::Refused, start + Duration::from_secs(seconds));
        assert_eq!([0, 59, 60].map(&mut note), [true, false, true]);
        assert_eq!(seen.peers.iter().map(|peer| (peer.address, peer.requests)).collect::<Vec<_>>(), [(proxy, 3)]);
    }
}
