//! How many there are, in all and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use deskpass_core::counted_as;

/// Counts those who are here. Clones count together.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    in_all: usize,
    from_one: usize,
    here: Arc<Mutex<Here>>,
}

#[derive(Debug, Default)]
struct Here {
    all: usize,
    from: HashMap<IpAddr, usize>,
}

/// One who is here, until this is dropped.
#[derive(Debug)]
pub(crate) struct Present {
    address: IpAddr,
    here: Arc<Mutex<Here>>,
}

impl Tally {
    /// Room for this many in all, and from one address or IPv6 network.
    pub(crate) fn new(in_all: usize, from_one: usize) -> Self {
        Self { in_all, from_one, here: Arc::default() }
    }

    /// Counts one more, unless there are too many.
    pub(crate) fn enter(&self, address: IpAddr) -> Option<Present> {
        let address = counted_as(address);
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        let from = here.from.get(&address).copied().unwrap_or_default();
        if here.all >= self.in_all || from >= self.from_one {
            return None;
        }
        here.all += 1;
        here.from.insert(address, from + 1);
        Some(Present { address, here: Arc::clone(&self.here) })
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.all -= 1;
        if let Some(count) = here.from.get_mut(&self.address) {
            *count -= 1;
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
    fn whoever_leaves_makes_room() {
        let tally = Tally::new(3, 2);
        let (one, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let first = tally.enter(one);
        let second = tally.enter(one);
        assert!(first.is_some() && second.is_some() && tally.enter(one).is_none());
        let third = tally.enter(other);
        assert!(third.is_some() && tally.enter(other).is_none(), "three in all");
        drop(first);
        assert!(tally.enter(other).is_some());
        drop((second, third));
        assert!(tally.here.lock().is_ok_and(|here| here.all == 0 && here.from.is_empty()));
    }
}
