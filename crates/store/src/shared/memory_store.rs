//! An ephemeral store in this process: for a single node, lost on restart.
//!
//! A record takes its own size on the heap, 40 bytes in the table that finds it, and 40 in the queue by age, where it
//! stays until its turn even if it was removed. The table for 50 000 sign-ins has 65 536 places: 3 MB, which it keeps
//! after a flood; with the records inside, it took 42. An insertion checks at most sixteen records for eviction.
//!
//! A record that was put for an address also has a place in the tree of networks, until it may not
//! be evicted any more. A network (an IPv4 /24 or IPv6 /48) holds a share of the store at most.
//! When the store is full, the network with most records loses its oldest one first, and so does a
//! wider network (an IPv4 /16 or IPv6 /32) that has more than any other.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskpass_core::{Digest, Rate, Timestamp, nearby_network};
use tokio::sync::Notify;

use super::capacity::Capacity;
use super::expiring::{Expiring, RecordWatch};
use super::network_tree::{NetworkTree, Place};

/// A bounded store of records under one lock.
pub(super) struct MemoryStore<T> {
    capacity: Capacity,
    records: Mutex<Records<T>>,
}

struct Records<T> {
    /// The records are on the heap: a table never shrinks, and one that had to hold a flood would keep the memory of as
    /// many records.
    by_digest: HashMap<Digest, Box<Record<T>>>,
    /// Oldest first, with the expiry that each record had at first. It may still contain records that were removed.
    by_age: VecDeque<(Digest, Timestamp)>,
    /// The records that were put for an address and may be evicted.
    networks: NetworkTree,
}

struct Record<T> {
    value: T,
    /// Where it is among the records that their networks may displace.
    place: Option<Place>,
    /// The watchers of this record; usually none.
    watchers: Option<Arc<Notify>>,
}

impl<T> MemoryStore<T> {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self { capacity, records: Mutex::new(Records::default()) }
    }

    pub(super) fn len(&self) -> usize {
        self.lock().by_digest.len()
    }

    fn lock(&self) -> MutexGuard<'_, Records<T>> {
        // A panic in a step leaves the record unchanged, so the data behind a poisoned lock is consistent.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Expiring> MemoryStore<T> {
    pub(super) fn put(&self, digest: Digest, value: T, now: Timestamp) -> bool {
        self.lock().put(digest, value, None, self.capacity.in_all, now)
    }

    /// Puts a record for an address, whose network loses its oldest one if it has more than its share.
    pub(super) fn put_for(
        &self,
        (address, rate): (IpAddr, Option<Rate>),
        digest: Digest,
        value: T,
        now: Timestamp,
    ) -> bool {
        let share = self.capacity.network_share(rate, value.until().since(now));
        let mut records = self.lock();
        let is_new = records.put(digest, value, Some(address), self.capacity.in_all, now);
        records.keep_share(address, share);
        is_new
    }

    pub(super) fn read_with<R>(&self, digest: &Digest, now: Timestamp, read: impl FnOnce(&T) -> R) -> Option<R> {
        self.lock().live(digest, now).map(|record| read(&record.value))
    }

    pub(super) fn take(&self, digest: &Digest, now: Timestamp) -> Option<T> {
        let mut records = self.lock();
        records.live(digest, now)?;
        records.remove(digest).map(|record| record.value)
    }

    pub(super) fn update<E>(
        &self,
        digest: &Digest,
        now: Timestamp,
        step: impl FnOnce(T) -> Result<T, E>,
    ) -> Option<Result<T, E>>
    where
        T: Clone,
    {
        let mut records = self.lock();
        let record = records.live(digest, now)?;
        let stepped = step(record.value.clone()).inspect(|next| {
            record.value = next.clone();
            record.notify();
        });
        // Its network must not displace it any more.
        let left = if record.value.is_evictable() { None } else { record.place.take() };
        if let Some(place) = left {
            records.networks.remove(place);
        }
        Some(stepped)
    }

    pub(super) fn watch(&self, digest: &Digest, now: Timestamp) -> Option<RecordWatch> {
        let mut records = self.lock();
        let record = records.live(digest, now)?;
        Some(RecordWatch::local(Arc::clone(record.watchers.get_or_insert_default())))
    }
}

impl<T: Expiring> Records<T> {
    fn live(&mut self, digest: &Digest, now: Timestamp) -> Option<&mut Record<T>> {
        self.by_digest.get_mut(digest).map(Box::as_mut).filter(|record| now < record.value.until())
    }

    fn put(&mut self, digest: Digest, value: T, address: Option<IpAddr>, capacity: usize, now: Timestamp) -> bool {
        if self.live(&digest, now).is_some() {
            return false;
        }
        // An expired record of this name.
        self.remove(&digest);
        self.evict(capacity, now);
        self.by_age.push_back((digest, value.until()));
        let counted = address.filter(|_| value.is_evictable());
        let place = counted.map(|address| self.networks.insert(address, digest));
        self.by_digest.insert(digest, Box::new(Record { value, place, watchers: None }));
        true
    }

    /// Removes a record and notifies its watchers.
    fn remove(&mut self, digest: &Digest) -> Option<Box<Record<T>>> {
        let record = self.by_digest.remove(digest)?;
        record.notify();
        if let Some(place) = record.place {
            self.networks.remove(place);
        }
        Some(record)
    }

    fn keep_share(&mut self, address: IpAddr, share: usize) {
        let network = nearby_network(address);
        if self.networks.len_of(network) > share
            && let Some(oldest) = self.networks.first_to_go(network)
        {
            self.remove(&oldest);
        }
        self.forget_removed();
    }

    /// Shortens the queue once most of it is about records that were removed before their time.
    fn forget_removed(&mut self) {
        if self.by_age.len() > 2 * self.by_digest.len() + 64 {
            let by_digest = &self.by_digest;
            self.by_age.retain(|(digest, _)| by_digest.contains_key(digest));
        }
    }

    /// Removes expired records, and the oldest ones above the capacity. Checks only a few records per call, so that no
    /// caller waits long; each insertion can remove more than one record.
    fn evict(&mut self, capacity: usize, now: Timestamp) {
        // Without records for addresses, or if no network has two, all are alike.
        if self.by_digest.len() >= capacity
            && let Some(oldest) = self.networks.first_of_heaviest()
        {
            self.remove(&oldest);
        }
        for _ in 0..16 {
            let Some((oldest, first_expiry)) = self.by_age.front().copied() else { return };
            let (over, spare) = self
                .by_digest
                .get(&oldest)
                .map_or((true, true), |record| (record.value.until() <= now, record.value.is_evictable()));
            let full = self.by_digest.len() >= capacity;
            // A record whose expiry was extended, such as a collected sign-in, must not hold up the expired ones behind it.
            let outlived = first_expiry <= now;
            if !over && !full && !outlived {
                return;
            }
            self.by_age.pop_front();
            if over || (full && spare) {
                self.remove(&oldest);
            } else {
                self.by_age.push_back((oldest, first_expiry));
            }
        }
    }
}

// Derived, it would require the same of the records.
impl<T> Default for Records<T> {
    fn default() -> Self {
        Self { by_digest: HashMap::new(), by_age: VecDeque::new(), networks: NetworkTree::default() }
    }
}

impl<T> Record<T> {
    fn notify(&self) {
        if let Some(watchers) = &self.watchers {
            watchers.notify_waiters();
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct TestRecord(u64, i64, bool);

    impl Expiring for TestRecord {
        fn until(&self) -> Timestamp {
            Timestamp::from_millis(self.1)
        }

        fn is_evictable(&self) -> bool {
            self.2
        }
    }

    fn name(of: u64) -> Digest {
        Digest::of(&[&of.to_be_bytes()])
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_record_lasts_until_its_expiry() {
        let store = MemoryStore::new(Capacity::of(10));
        assert!(store.put(name(1), TestRecord(1, 100, true), at(0)));
        assert!(!store.put(name(1), TestRecord(2, 100, true), at(99)));
        assert_eq!(store.read_with(&name(1), at(99), |record| record.0), Some(1));
        assert_eq!(store.read_with(&name(1), at(100), |record| record.0), None);
        assert!(store.put(name(1), TestRecord(3, 200, true), at(100)));
        assert_eq!(store.take(&name(1), at(100)), Some(TestRecord(3, 200, true)));
        assert_eq!(store.take(&name(1), at(100)), None);
    }

    #[test]
    fn a_refused_change_has_no_effect() {
        let store = MemoryStore::new(Capacity::of(10));
        store.put(name(1), TestRecord(1, 100, true), at(0));
        assert_eq!(store.update(&name(1), at(0), |_| Err("no")), Some(Err("no")));
        let done = store.update(&name(1), at(0), |record| Ok::<_, ()>(TestRecord(record.0 + 1, 500, true)));
        assert_eq!(done, Some(Ok(TestRecord(2, 500, true))));
        assert_eq!(store.read_with(&name(1), at(400), |record| record.0), Some(2));
        assert_eq!(store.update(&name(2), at(0), Ok::<_, ()>), None);
    }

    #[test]
    fn a_flood_stays_within_the_capacity_and_spares_records_in_use() {
        let store = MemoryStore::new(Capacity::of(100));
        store.put(name(1_000_000), TestRecord(7, 1_000, false), at(0));
        for number in 0..10_000 {
            assert!(store.put(name(number), TestRecord(number, 1_000, true), at(0)));
        }
        assert!(store.len() <= 100);
        assert_eq!(store.read_with(&name(1_000_000), at(0), |record| record.0), Some(7));
        assert_eq!(store.read_with(&name(9_999), at(0), |record| record.0), Some(9_999));
        for number in 30_000..30_050 {
            store.put(name(number), TestRecord(number, 2_000, true), at(1_500));
        }
        assert!(store.len() <= 51, "expired records are removed without a lookup: {}", store.len());
    }

    #[test]
    fn a_network_holds_its_share_and_loses_its_own_oldest() {
        let store = MemoryStore::new(Capacity::of(100));
        let [office, flood]: [IpAddr; 2] = ["192.0.2.7".parse().unwrap(), "2001:db8:1::".parse().unwrap()];
        assert!(store.put_for((office, None), name(1_000_000), TestRecord(7, 1_000, true), at(0)));
        for number in 0..5_000_u64 {
            let IpAddr::V6(base) = flood else { unreachable!("it is") };
            // Another /64 of the same /48 each time.
            let address = std::net::Ipv6Addr::from_bits(base.to_bits() | (u128::from(number) << 64));
            assert!(store.put_for((address.into(), None), name(number), TestRecord(number, 1_000, true), at(0)));
        }
        assert_eq!(store.len(), 5, "the share of one network, and the office's record");
        assert_eq!(store.read_with(&name(1_000_000), at(0), |record| record.0), Some(7));
        let held = (4_990..5_000).filter(|&number| store.read_with(&name(number), at(0), |_| ()).is_some());
        assert_eq!(held.collect::<Vec<_>>(), [4_996, 4_997, 4_998, 4_999]);
        assert!(store.lock().by_age.len() < 100, "nothing is kept of removed records");
        assert_eq!(store.take(&name(4_996), at(0)), Some(TestRecord(4_996, 1_000, true)));
        store.put_for((flood, None), name(6_000), TestRecord(6_000, 2_000, true), at(0));
        assert_eq!(store.read_with(&name(4_997), at(0), |record| record.0), Some(4_997), "a place had become free");
        for number in 7_000..7_010 {
            store.put(name(number), TestRecord(number, 3_000, true), at(2_500));
        }
        assert!(store.lock().networks.is_empty(), "and nothing of expired ones");
    }

    #[test]
    fn many_networks_evict_the_largest_first() {
        let store = MemoryStore::new(Capacity::of(100));
        let network = |number: u64| IpAddr::from(std::net::Ipv6Addr::from_bits(u128::from(number) << 80));
        store.put_for((network(1), None), name(1_000_000), TestRecord(7, 1_000, true), at(0));
        for number in 0..4_000 {
            store.put_for((network(2 + number % 40), None), name(number), TestRecord(number, 1_000, true), at(0));
        }
        assert!(store.len() <= 100);
        assert_eq!(store.read_with(&name(1_000_000), at(0), |record| record.0), Some(7));
    }

    /// Whoever has an IPv6 /32 has 65 536 /48s, and sends each request from another one.
    #[test]
    fn a_wide_network_evicts_no_office_outside_of_it() {
        let store = MemoryStore::new(Capacity::of(1_000));
        let offices: [IpAddr; 2] = ["192.0.2.7".parse().unwrap(), "2001:db8:1::7".parse().unwrap()];
        for number in 0..30 {
            for (office, address) in (0_u64..).zip(offices) {
                let of_office = name(1_000_000 * (office + 1) + number);
                assert!(store.put_for((address, None), of_office, TestRecord(number, 1_000, true), at(0)));
            }
        }
        for number in 0..20_000_u64 {
            let bits = (0x2a00_u128 << 112) | (u128::from(number) << 80);
            let address = IpAddr::from(std::net::Ipv6Addr::from_bits(bits));
            store.put_for((address, None), name(number), TestRecord(number, 1_000, true), at(0));
        }
        assert!(store.len() <= 1_000);
        for number in (1_000_000..1_000_030).chain(2_000_000..2_000_030) {
            assert!(store.read_with(&name(number), at(0), |_| ()).is_some(), "{number}");
        }
        assert!(store.read_with(&name(19_999), at(0), |_| ()).is_some(), "the newest one is there");
    }

    /// Neighbours in a /24 are several customers of one provider.
    #[test]
    fn within_a_network_the_heaviest_client_loses_its_oldest() {
        let store = MemoryStore::new(Capacity::of(100));
        let [office, flood]: [IpAddr; 2] = ["192.0.2.7".parse().unwrap(), "192.0.2.66".parse().unwrap()];
        store.put_for((office, None), name(1_000_000), TestRecord(7, 1_000, true), at(0));
        for number in 0..100 {
            store.put_for((flood, None), name(number), TestRecord(number, 1_000, true), at(0));
        }
        assert_eq!(store.len(), 4);
        assert_eq!(store.read_with(&name(1_000_000), at(0), |record| record.0), Some(7));
    }

    #[test]
    fn a_record_in_use_leaves_its_network() {
        let store = MemoryStore::new(Capacity::of(100));
        let office: IpAddr = "192.0.2.7".parse().unwrap();
        store.put_for((office, None), name(1_000_000), TestRecord(7, 1_000, true), at(0));
        let _ = store.update(&name(1_000_000), at(0), |record| Ok::<_, ()>(TestRecord(record.0, 1_000, false)));
        for number in 0..200 {
            store.put_for((office, None), name(number), TestRecord(number, 1_000, true), at(0));
        }
        assert_eq!(store.len(), 5, "the share of the network, and the record in use");
        assert_eq!(store.read_with(&name(1_000_000), at(0), |record| record.0), Some(7));
        assert!(store.take(&name(1_000_000), at(0)).is_some());
    }

    #[test]
    fn a_record_that_was_extended_does_not_hold_up_expired_ones() {
        let store = MemoryStore::new(Capacity::of(100));
        store.put(name(1), TestRecord(1, 100, true), at(0));
        let _ = store.update(&name(1), at(0), |record| Ok::<_, ()>(TestRecord(record.0, 1_000, true)));
        for number in 2..=40 {
            store.put(name(number), TestRecord(number, 100, true), at(0));
        }
        for number in 101..=103 {
            store.put(name(number), TestRecord(number, 300, true), at(150));
        }
        assert_eq!(store.len(), 4, "the extended record and the new ones");
        assert_eq!(store.read_with(&name(1), at(150), |record| record.0), Some(1));
    }

    #[tokio::test]
    async fn a_watcher_is_notified() {
        let store = MemoryStore::new(Capacity::of(2));
        assert!(store.watch(&name(1), at(0)).is_none());
        store.put(name(1), TestRecord(1, 100, true), at(0));
        for step in ["change", "take"] {
            let Some(changes) = store.watch(&name(1), at(0)) else { unreachable!("it is there") };
            let next = changes.next();
            match step {
                "change" => drop(store.update(&name(1), at(0), Ok::<_, ()>)),
                _ => drop(store.take(&name(1), at(0))),
            }
            next.await;
        }
    }
}
