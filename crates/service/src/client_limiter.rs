//! Limits the number of clients, or of what they take, in total and per address or network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use deskpass_core::rate_limit_address;
use ipnet::IpNet;

/// Counts active clients. Clones share the count. The default admits none.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientLimiter {
    max_total: usize,
    max_per_network: usize,
    here: Arc<Mutex<ClientCounts>>,
}

#[derive(Debug, Default)]
struct ClientCounts {
    all: usize,
    from: HashMap<IpNet, usize>,
}

/// The places of one client, which are released on drop.
#[derive(Debug)]
pub(crate) struct ClientSlot {
    network: IpNet,
    places: usize,
    here: Arc<Mutex<ClientCounts>>,
}

impl ClientLimiter {
    /// The same clients with these maximums, in total and per address or network. Clients above a lower maximum keep their slots.
    pub(crate) fn with_maximums(&self, max_total: usize, max_per_network: usize) -> Self {
        Self { max_total, max_per_network, here: Arc::clone(&self.here) }
    }

    /// Takes a slot for an address or IPv6 /64, or returns `None` if a maximum is reached.
    pub(crate) fn acquire(&self, address: IpAddr) -> Option<ClientSlot> {
        self.acquire_many(rate_limit_address(address).into(), 1)
    }

    /// Takes this many places at once for a network, or returns `None` if they would exceed a maximum.
    pub(crate) fn acquire_many(&self, network: IpNet, places: usize) -> Option<ClientSlot> {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let from = here.from.get(&network).copied().unwrap_or_default().checked_add(places)?;
        let all = here.all.checked_add(places)?;
        if all > self.max_total || from > self.max_per_network {
            return None;
        }
        here.all = all;
        here.from.insert(network, from);
        Some(ClientSlot { network, places, here: Arc::clone(&self.here) })
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.all -= self.places;
        if let Some(count) = here.from.get_mut(&self.network) {
            *count -= self.places;
            if *count == 0 {
                here.from.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_slot_is_free_again() {
        let limiter = ClientLimiter::default().with_maximums(3, 2);
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let first = limiter.acquire(one);
        let second = limiter.acquire(one);
        assert!(first.is_some() && second.is_some() && limiter.acquire(one).is_none());
        let third = limiter.acquire(other);
        assert!(third.is_some() && limiter.acquire(other).is_none(), "three in all");
        drop(first);
        assert!(limiter.acquire(other).is_some());
        assert!(limiter.with_maximums(1, 1).acquire(other).is_none(), "the clients of before count");
        drop((second, third));
        let two = limiter.acquire_many(one.into(), 2);
        assert!(two.is_some() && limiter.acquire(one).is_none() && limiter.acquire_many(other.into(), 2).is_none());
        drop(two);
        assert!(limiter.here.lock().is_ok_and(|here| here.all == 0 && here.from.is_empty()));
    }
}
