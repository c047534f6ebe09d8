//! Limits the connections, in total and per address, and asks them to close.
//!
//! When all places are taken, the connection that has waited longest for its client is closed for the new one. If every
//! connection is answering a request or is a socket, the new one gets a place in a small reserve, which serves only
//! health checks and operators.

mod registry;

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::rate_limit_address;
use rustix::io::Errno;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use self::registry::{Connection, Registry};
use crate::App;
use crate::config::Server;
use crate::connection_state::ConnectionState;
use crate::telemetry::{Gauge, Metrics};

/// Connections beyond `server.max_connections`, for health checks and operators.
const RESERVED_CONNECTIONS: usize = 16;

/// The fraction (1/n) of all connections that a trusted proxy leaves to other clients.
const NON_PROXY_SHARE: usize = 8;

/// The maximum number of reserve places per address, unless it is a trusted proxy's.
const MAX_RESERVED_PER_ADDRESS: usize = 4;

/// The minimum interval between log lines that all connections are in use.
const LOG_INTERVAL: Duration = Duration::from_mins(1);

/// The open connections.
#[derive(Debug)]
pub(super) struct Slots {
    metrics: Arc<Metrics>,
    table: Arc<Mutex<ConnectionTable>>,
    /// Every connection holds a receiver, including one that was asked to close.
    alive: watch::Sender<()>,
}

/// The ordinary connections and those of the reserve.
#[derive(Debug, Default)]
struct ConnectionTable {
    next: u64,
    ordinary: Registry,
    reserve: Registry,
    closed: bool,
    /// When it was last logged that all connections are in use.
    logged: Option<Instant>,
}

/// The slot of an admitted connection.
#[derive(Debug)]
pub(super) struct Slot {
    /// Dropped first, so that no connection is asked to close that cannot hear it.
    pub(super) place: Place,
    /// Completes when the connection is asked to close; with success if it must close immediately.
    pub(super) leave: oneshot::Receiver<()>,
    pub(super) state: ConnectionState,
}

/// The place of a connection. It becomes free when this is dropped, or when the connection is evicted for another one.
#[derive(Debug)]
pub(super) struct Place {
    /// Whether the place is in the reserve.
    pub(super) reserve: bool,
    number: u64,
    table: Arc<Mutex<ConnectionTable>>,
    /// The number of open connections.
    open: Gauge,
    _alive: watch::Receiver<()>,
}

/// The place of a new connection.
#[derive(Debug)]
enum Admission {
    /// A place that was free, or that another connection was evicted from.
    Ordinary {
        evicted: bool,
    },
    Reserve,
    Rejected,
}

impl Slots {
    pub(super) fn new(app: &App) -> Self {
        Self { metrics: Arc::clone(&app.metrics), table: Arc::default(), alive: watch::Sender::new(()) }
    }

    /// Returns a slot for a connection from `address`, unless the address has too many.
    pub(super) fn admit(&self, app: &App, address: IpAddr) -> Option<Slot> {
        let state = ConnectionState::new();
        let (leave, asked) = oneshot::channel();
        let trusted = app.trusted.contains(address);
        let connection = Connection { leave, state: state.clone(), address: registered_as(address, trusted) };
        let mut table = lock(&self.table);
        let admission = table.decide(&app.settings.server, connection.address, trusted);
        let reserve = match admission {
            Admission::Ordinary { .. } => false,
            Admission::Reserve => true,
            Admission::Rejected => {
                drop(table);
                self.metrics.rejected_connections.inc();
                return None;
            }
        };
        let number = table.next;
        table.next += 1;
        if !table.closed {
            table.registry(reserve).insert(number, connection);
        }
        self.record(&admission, &mut table, app.settings.server.max_connections);
        drop(table);
        let (table, alive) = (Arc::clone(&self.table), self.alive.subscribe());
        let open = self.metrics.connections.clone();
        open.inc();
        let place = Place { reserve, number, table, open, _alive: alive };
        Some(Slot { place, leave: asked, state })
    }

    fn record(&self, admission: &Admission, table: &mut ConnectionTable, max_connections: usize) {
        match admission {
            Admission::Ordinary { evicted: false } | Admission::Rejected => return,
            Admission::Ordinary { evicted: true } => self.metrics.evicted_connections.inc(),
            Admission::Reserve => self.metrics.reserve_connections.inc(),
        };
        if table.logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL) {
            table.logged = Some(Instant::now());
            tracing::warn!(
                max_connections,
                "all connections in use: closing those that have waited longest for their clients"
            );
        }
    }

    /// Closes the connection that has waited longest, if the system has no resources for another one.
    pub(super) fn evict_on_exhaustion(&self, error: &io::Error) {
        if is_resource_exhaustion(error) && lock(&self.table).ordinary.evict(None, Instant::now()) {
            self.metrics.evicted_connections.inc();
        }
    }

    /// Asks every connection to close after its current response, and waits until all are closed.
    pub(super) async fn close(&self) {
        let asked = {
            let mut table = lock(&self.table);
            table.closed = true;
            (std::mem::take(&mut table.ordinary), std::mem::take(&mut table.reserve))
        };
        drop(asked);
        self.alive.closed().await;
    }
}

impl ConnectionTable {
    /// Decides whether a new connection may stay, and which other one leaves for it.
    fn decide(&mut self, limits: &Server, address: IpAddr, trusted: bool) -> Admission {
        let size = limits.max_connections;
        let now = Instant::now();
        // A trusted proxy speaks for many clients. It may have nearly all places; beyond that, its own connections are evicted.
        let most = if trusted { size - size / NON_PROXY_SHARE } else { limits.max_connections_per_address };
        let from = self.ordinary.from(address) + self.reserve.from(address);
        if from >= most && !trusted {
            return Admission::Rejected;
        }
        let of = if self.ordinary.from(address) >= most {
            Some(address)
        } else if self.ordinary.len() >= size {
            None
        } else {
            return Admission::Ordinary { evicted: false };
        };
        if self.ordinary.evict(of, now) {
            Admission::Ordinary { evicted: true }
        } else if self.can_use_reserve(address, trusted, now) {
            Admission::Reserve
        } else {
            Admission::Rejected
        }
    }

    fn registry(&mut self, reserve: bool) -> &mut Registry {
        if reserve { &mut self.reserve } else { &mut self.ordinary }
    }

    /// Whether the reserve has a place for an address, which may be freed by an eviction. An address with many places
    /// there evicts its own connections, so that health checks from other addresses find a place.
    fn can_use_reserve(&mut self, address: IpAddr, trusted: bool, now: Instant) -> bool {
        let most = if trusted {
            RESERVED_CONNECTIONS - RESERVED_CONNECTIONS / NON_PROXY_SHARE
        } else {
            MAX_RESERVED_PER_ADDRESS
        };
        let of = if self.reserve.from(address) >= most {
            Some(address)
        } else if self.reserve.len() >= RESERVED_CONNECTIONS {
            None
        } else {
            return true;
        };
        self.reserve.evict(of, now)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let removed = lock(&self.table).registry(self.reserve).remove(self.number);
        drop(removed);
        self.open.dec();
    }
}

/// The address that a connection is counted under: a trusted proxy's is exact, so that its neighbours do not share its count.
fn registered_as(address: IpAddr, trusted: bool) -> IpAddr {
    if trusted { address.to_canonical() } else { rate_limit_address(address) }
}

/// Whether accepting failed for lack of a resource that other connections hold, rather than for a reason of its own.
fn is_resource_exhaustion(error: &io::Error) -> bool {
    let wanting = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| wanting.contains(&errno))
}

fn lock(table: &Mutex<ConnectionTable>) -> MutexGuard<'_, ConnectionTable> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use tokio::sync::oneshot::Receiver;

    use super::*;

    #[test]
    fn a_trusted_proxy_is_not_counted_with_its_neighbours() {
        let registered = |text: &str, trusted| registered_as(text.parse().unwrap(), trusted).to_string();
        assert_eq!(registered("2001:db8::5", true), "2001:db8::5");
        assert_eq!(registered("2001:db8::6", false), "2001:db8::");
        for trusted in [true, false] {
            assert_eq!(registered("::ffff:192.0.2.1", trusted), "192.0.2.1");
        }
    }

    #[test]
    fn only_want_of_room_costs_another_connection_its_place() {
        for (errno, out) in
            [(Errno::MFILE, true), (Errno::NOMEM, true), (Errno::CONNABORTED, false), (Errno::PROTO, false)]
        {
            assert_eq!(is_resource_exhaustion(&errno.into()), out, "{errno}");
        }
    }

    /// Takes a place in the reserve for a connection that is answering a request.
    fn take(table: &mut ConnectionTable, address: IpAddr, trusted: bool) -> Option<Receiver<()>> {
        // Later than any pause between two looks for a connection to evict.
        if !table.can_use_reserve(address, trusted, Instant::now() + Duration::from_hours(1)) {
            return None;
        }
        let (leave, left) = oneshot::channel();
        let state = ConnectionState::new();
        state.begin_answer();
        table.next += 1;
        table.reserve.insert(table.next, Connection { leave, state, address });
        Some(left)
    }

    #[test]
    fn no_address_takes_the_whole_reserve() {
        let taken = |trusted| {
            let mut table = ConnectionTable::default();
            let held: Vec<_> = (0..20).filter_map(|_| take(&mut table, [192, 0, 2, 1].into(), trusted)).collect();
            assert!(take(&mut table, [192, 0, 2, 2].into(), false).is_some());
            held.len()
        };
        assert_eq!((taken(false), taken(true)), (MAX_RESERVED_PER_ADDRESS, 14));
        let mut table = ConnectionTable::default();
        let held = (0..40).filter_map(|turn: u8| take(&mut table, [192, 0, 2, turn % 10].into(), false)).count();
        assert_eq!(held, RESERVED_CONNECTIONS);
    }
}
