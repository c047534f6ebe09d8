//! The open connections, and which of them is evicted when another one needs its place.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::connection_state::ConnectionState;

/// The number of candidates for eviction that one scan finds. A scan of all connections for each new one would make a
/// flood of connections cost the service more than its sender.
const EVICTION_BATCH: usize = 64;

/// The pause after a scan that found no connection to evict.
const SCAN_PAUSE: Duration = Duration::from_millis(10);

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    /// Dropping it asks the connection to close after its response; sending asks it to close immediately. A channel per
    /// connection costs almost nothing while it waits; a shared signal would make all connections contend for one lock
    /// with every request.
    pub(super) leave: oneshot::Sender<()>,
    pub(super) state: ConnectionState,
    pub(super) address: IpAddr,
}

/// Connections by number, any of which may be evicted for another one.
#[derive(Debug, Default)]
pub(super) struct Registry {
    open: HashMap<u64, Connection>,
    from: HashMap<IpAddr, usize>,
    /// The next connections to evict, per address that has connections, and overall.
    next: HashMap<Option<IpAddr>, Candidates>,
}

/// The result of a scan for connections to evict.
#[derive(Debug, Default)]
struct Candidates {
    /// The connections that had waited longest at the scan: since when, and their numbers.
    found: VecDeque<(Instant, u64)>,
    /// The earliest time of the next scan.
    next_scan: Option<Instant>,
}

impl Registry {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// The number of connections of an address.
    pub(super) fn from(&self, address: IpAddr) -> usize {
        self.from.get(&address).copied().unwrap_or_default()
    }

    pub(super) fn insert(&mut self, number: u64, connection: Connection) {
        *self.from.entry(connection.address).or_default() += 1;
        self.open.insert(number, connection);
    }

    /// Removes a connection, if it is still there.
    pub(super) fn remove(&mut self, number: u64) -> Option<Connection> {
        let connection = self.open.remove(&number)?;
        if let Some(count) = self.from.get_mut(&connection.address) {
            *count -= 1;
            if *count == 0 {
                self.from.remove(&connection.address);
                self.next.remove(&Some(connection.address));
            }
        }
        Some(connection)
    }

    /// Closes the connection that has waited longest for its client, of one address or of all. It never closes a
    /// connection that is answering a request, or a socket. Returns whether there was one.
    pub(super) fn evict(&mut self, of: Option<IpAddr>, now: Instant) -> bool {
        let evicted = self.longest_waiting(of, now).and_then(|number| self.remove(number));
        evicted.is_some_and(|connection| connection.leave.send(()).is_ok())
    }

    /// A candidate of the last scan that still waits has waited longest: all others opened later or were active since.
    fn longest_waiting(&mut self, of: Option<IpAddr>, now: Instant) -> Option<u64> {
        if of.is_some_and(|of| self.from(of) == 0) {
            return None;
        }
        let Self { open, next, .. } = self;
        let candidates = next.entry(of).or_default();
        if let Some(number) = candidates.first(open) {
            return Some(number);
        }
        if candidates.next_scan.is_some_and(|next| now < next) {
            return None;
        }
        candidates.found = scan(open, of);
        if candidates.found.is_empty() {
            candidates.next_scan = Some(now + SCAN_PAUSE);
        }
        candidates.first(open)
    }
}

impl Candidates {
    /// The first candidate that still waits.
    fn first(&mut self, open: &HashMap<u64, Connection>) -> Option<u64> {
        while let Some((since, number)) = self.found.pop_front() {
            let still = open.get(&number).and_then(|connection| connection.state.waiting_since());
            if still == Some(since) {
                return Some(number);
            }
        }
        None
    }
}

/// Finds the connections that have waited longest.
fn scan(open: &HashMap<u64, Connection>, of: Option<IpAddr>) -> VecDeque<(Instant, u64)> {
    let concerned = open.iter().filter(|(_, connection)| of.is_none_or(|of| of == connection.address));
    let mut waiting: Vec<_> =
        concerned.filter_map(|(number, connection)| Some((connection.state.waiting_since()?, *number))).collect();
    if waiting.len() > EVICTION_BATCH {
        waiting.select_nth_unstable(EVICTION_BATCH);
        waiting.truncate(EVICTION_BATCH);
    }
    waiting.sort_unstable();
    waiting.into()
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests {
    use tokio::sync::oneshot::Receiver;

    use super::*;
    use crate::connection_state::{State, Wait};

    struct Opened {
        registry: Registry,
        evictions: Vec<Receiver<()>>,
        states: Vec<ConnectionState>,
        first: Instant,
    }

    impl Opened {
        /// Opens this many connections, one microsecond apart, from two addresses in turn.
        fn new(count: u8) -> Self {
            let mut opened = Self {
                registry: Registry::default(),
                evictions: Vec::new(),
                states: Vec::new(),
                first: Instant::now(),
            };
            for number in 0..count {
                let (leave, left) = oneshot::channel();
                let address = IpAddr::from([192, 0, 2, number % 2]);
                let state = ConnectionState::new();
                opened.registry.insert(number.into(), Connection { leave, state: state.clone(), address });
                opened.evictions.push(left);
                opened.states.push(state);
                opened.waits(number.into(), number.into());
            }
            opened
        }

        /// Has a connection wait since so many microseconds after the first one.
        fn waits(&self, number: usize, micros: u64) {
            let since = self.first + Duration::from_micros(micros);
            self.states[number].set(State::Client { what: Wait::Request, since });
        }

        /// A time after all others here.
        fn now(&self) -> Instant {
            self.first + Duration::from_secs(1)
        }

        /// Evicts a connection, and returns the one that was asked to close, if any.
        fn evict(&mut self, of: Option<IpAddr>) -> Option<usize> {
            let evicted = self.registry.evict(of, self.now());
            let closed = self.evictions.iter_mut().position(|eviction| eviction.try_recv().is_ok());
            assert_eq!(evicted, closed.is_some());
            closed
        }
    }

    #[test]
    fn the_connection_that_waited_longest_goes_first() {
        let mut opened = Opened::new(5);
        // The client was active again.
        opened.waits(0, 100);
        // The connection is answering a request.
        opened.states[1].begin_answer();
        let order: Vec<_> = (0..6).map(|_| opened.evict(None)).collect();
        assert_eq!(
            order,
            [Some(2), Some(3), Some(4), Some(0), None, None],
            "never a connection with a response in progress"
        );
        assert_eq!(opened.registry.len(), 1);
    }

    #[test]
    fn an_address_evicts_its_own_connections() {
        let (mut opened, one) = (Opened::new(4), IpAddr::from([192, 0, 2, 1]));
        let order = [Some(one), Some(one), Some(one), None].map(|of| opened.evict(of));
        assert_eq!(order, [Some(1), Some(3), None, Some(0)]);
        assert_eq!((opened.registry.from(one), opened.registry.len()), (0, 1));
    }

    #[test]
    fn candidates_of_an_address_and_of_all_are_kept() {
        let (mut opened, one) = (Opened::new(8), IpAddr::from([192, 0, 2, 1]));
        let order: Vec<_> = [Some(one), None].repeat(5).into_iter().map(|of| opened.evict(of)).collect();
        let expected = [Some(1), Some(0), Some(3), Some(2), Some(5), Some(4), Some(7), Some(6), None, None];
        assert_eq!(order, expected);
        let scans: Vec<_> = opened.registry.next.keys().copied().collect();
        assert_eq!(scans, [None], "an address that is gone is forgotten: {scans:?}");

        let mut opened = Opened::new(4);
        for state in &opened.states {
            state.begin_answer();
        }
        for of in [Some(one), None, Some(one), None] {
            assert_eq!(opened.evict(of), None);
        }
        assert!(
            opened.registry.next.values().all(|next| next.next_scan > Some(opened.now())),
            "neither is looked for again at once"
        );
    }

    #[test]
    fn a_connection_that_is_heard_of_after_it_was_found_stays() {
        let mut opened = Opened::new(3);
        assert_eq!(opened.evict(None), Some(0));
        opened.waits(1, 100);
        assert_eq!((opened.evict(None), opened.evict(None)), (Some(2), Some(1)));
    }

    #[test]
    fn more_than_a_batch_goes_in_order() {
        let mut opened = Opened::new(200);
        let order: Vec<_> = (0..200).map(|_| opened.evict(None)).collect();
        assert_eq!(order, (0..200).map(Some).collect::<Vec<_>>());
    }
}
