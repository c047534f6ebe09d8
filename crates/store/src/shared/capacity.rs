//! How many records of a kind there may be, in all and for one network.

use std::time::Duration;

use deskpass_core::Rate;

/// How many records of a kind there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    /// In all.
    pub(super) in_all: usize,
    /// A network holds one in this many, unless the rate of its requests allows more.
    network_part: usize,
}

/// A network never holds more than one in this many.
const LARGEST_PART: usize = 2;

impl Capacity {
    /// The capacity for records of which a network rarely has many.
    pub(super) const fn of(in_all: usize) -> Self {
        Self { in_all, network_part: 25 }
    }

    /// The capacity for QR codes. Every open page has one, and a network (an IPv4 /24 or IPv6 /48)
    /// may be a whole site with many addresses, each within its limit: an eighth of 50 000 are the
    /// codes of 19 500 employees at nine o'clock.
    pub(super) const fn of_codes(in_all: usize) -> Self {
        Self { in_all, network_part: 8 }
    }

    /// How many records may be there for one network: as many as the rate at which one address may
    /// send requests allows in the lifetime of a record, so that an office that keeps to it loses
    /// none.
    pub(super) fn network_share(self, rate: Option<Rate>, lifetime: Duration) -> usize {
        let allowed = rate.map_or(0, |rate| rate.most_within(lifetime));
        (self.in_all / self.network_part).max(allowed).min(self.in_all / LARGEST_PART).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_office_that_keeps_to_the_rate_loses_nothing() {
        let lifetime = Duration::from_mins(10);
        let rate = |count| Rate::new(count, Duration::from_mins(1));
        for (rate, share) in
            [(None, 1_000), (rate(60), 1_000), (rate(300), 3_300), (rate(1_000), 11_000), (rate(9_000), 12_500)]
        {
            assert_eq!(Capacity::of(25_000).network_share(rate, lifetime), share);
        }
        assert_eq!(Capacity::of(1).network_share(None, lifetime), 1);
    }

    #[test]
    fn a_site_with_many_addresses_may_show_many_codes() {
        let lifetime = Duration::from_mins(3);
        let rate = |count| Rate::new(count, Duration::from_mins(1));
        for (rate, share) in [(None, 6_250), (rate(30), 6_250), (rate(5_000), 20_000), (rate(9_000), 25_000)] {
            assert_eq!(Capacity::of_codes(50_000).network_share(rate, lifetime), share);
        }
    }
}
