//! Limits the number of clients, or of what they take, in total and per address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use deskpass_core::rate_limit_address;

/// Counts active clients. Clones share the count. The default admits none.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientLimiter {
    max_total: usize,
    max_per_address: usize,
    here: Arc<Mutex<ClientCounts>>,
}

#[derive(Debug, Default)]
struct ClientCounts {
    all: usize,
    from: HashMap<IpAddr, usize>,
}

/// The places of one client, which are released on drop.
#[derive(Debug)]
pub(crate) struct ClientSlot {
    address: IpAddr,
    places: usize,
    here: Arc<Mutex<ClientCounts>>,
}

impl ClientLimiter {
    /// The same clients with these maximums, in total and per address or IPv6 network. Clients above a lower maximum keep
    /// their slots.
    pub(crate) fn with_maximums(&self, max_total: usize, max_per_address: usize) -> Self {
        Self { max_total, max_per_address, here: Arc::clone(&self.here) }
    }

    /// Takes a slot, or returns `None` if a maximum is reached.
    pub(crate) fn acquire(&self, address: IpAddr) -> Option<ClientSlot> {
        self.acquire_many(address, 1)
    }

    /// Takes this many places at once, or returns `None` if they would exceed a maximum.
    pub(crate) fn acquire_many(&self, address: IpAddr, places: usize) -> Option<ClientSlot> {
        let address = rate_limit_address(address);
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let from = here.from.get(&address).copied().unwrap_or_default().checked_add(places)?;
        let all = here.all.checked_add(places)?;
        if all > self.max_total || from > self.max_per_address {
            return None;
        }
        here.all = all;
        here.from.insert(address, from);
        Some(ClientSlot { address, places, here: Arc::clone(&self.here) })
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.all -= self.places;
        if let Some(count) = here.from.get_mut(&self.address) {
            *count -= self.places;
            if *count == 0 {
                here.from.remove(&self.address);
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
        let two = limiter.acquire_many(one, 2);
        assert!(two.is_some() && limiter.acquire(one).is_none() && limiter.acquire_many(other, 2).is_none());
        drop(two);
        assert!(limiter.here.lock().is_ok_and(|here| here.all == 0 && here.from.is_empty()));
    }
}
