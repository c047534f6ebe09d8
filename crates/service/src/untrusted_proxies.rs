//! Peers that send `X-Forwarded-For` to the service or to a trusted proxy without being trusted: proxies missing in the settings.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use deskpass_core::Timestamp;

use crate::recently_seen::{RecentlySeen, Seen};

/// The untrusted peers that forwarded requests, for the log and for `deskpass doctor`.
#[derive(Debug, Default)]
pub(crate) struct UntrustedProxies(Mutex<RecentlySeen<UntrustedProxy>>);

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
}

impl UntrustedProxies {
    /// Records a request, and logs it unless it was logged recently.
    pub(crate) fn note(&self, address: IpAddr, outcome: ForwardOutcome, now: Timestamp) {
        let proxy = UntrustedProxy { address, outcome };
        let due = self.0.lock().unwrap_or_else(PoisonError::into_inner).note(proxy, address.into(), now);
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
    pub(crate) fn list(&self) -> Vec<Seen<UntrustedProxy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).list()
    }
}
