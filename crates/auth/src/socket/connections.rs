//! The connections to this node.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskpass_core::{CorpId, Digest, EmployeeKey, MessageId, Recipient, Role, SocketKind, Timestamp};
use deskpass_store::{Invalidation, StoredMessage, Subscriber};
use tokio::sync::Notify;

use super::EXPIRY_WARNING;
use crate::{Refusal, TokenHolder};

/// The reason why a socket is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The session, its role or its address is not valid any more.
    Refused(Refusal),
    /// The employee opened too many sockets, and this was the oldest.
    Replaced,
    /// The client does not read its messages.
    TooSlow,
}

/// A connection, as it is shared between the socket and the registry.
#[derive(Debug)]
pub(super) struct SocketConnection {
    pub(super) digest: Digest,
    pub(super) employee: EmployeeKey,
    corp: CorpId,
    kind: SocketKind,
    pub(super) from: IpAddr,
    pub(super) expires_at: Timestamp,
    /// Fires when the connection has to be checked.
    pub(super) wake: Notify,
    /// The number of times that the session may have changed.
    generation: AtomicU64,
    state: Mutex<SocketState>,
}

#[derive(Debug)]
struct SocketState {
    role: Role,
    /// The position in the message log when the role became active, if it changed during the connection.
    since: MessageId,
    end: Option<CloseReason>,
    /// The generation up to which the connection was validated, and the position in the message log when it became stale again.
    validated: u64,
    stale_since: MessageId,
}

impl SocketConnection {
    /// A connection for a session that was valid a moment ago. It is validated before anything is sent.
    pub(super) fn new(holder: &TokenHolder, kind: SocketKind, from: IpAddr) -> Self {
        let session = holder.session();
        Self {
            digest: holder.digest(),
            employee: session.employee.clone(),
            corp: session.employee.corp_id(),
            kind,
            from,
            expires_at: session.expires_at,
            wake: Notify::new(),
            generation: AtomicU64::new(1),
            state: Mutex::new(SocketState {
                role: session.current_role,
                since: MessageId::default(),
                end: None,
                validated: 0,
                stale_since: MessageId::default(),
            }),
        }
    }

    pub(super) fn role(&self) -> Role {
        self.state().role
    }

    pub(super) fn ended(&self) -> Option<CloseReason> {
        self.state().end.clone()
    }

    pub(super) fn reader(&self) -> Subscriber {
        let state = self.state();
        Subscriber::new(&self.employee, &self.corp, (state.role, state.since), self.kind)
    }

    pub(super) fn end(&self, end: CloseReason) {
        self.state().end.get_or_insert(end);
        self.wake.notify_one();
    }

    /// The generation to validate, if the connection is stale. Several tasks may validate at once; until one has finished, the
    /// connection stays stale for all of them.
    pub(super) fn stale_generation(&self) -> Option<u64> {
        let generation = self.generation.load(Ordering::SeqCst);
        (self.state().validated < generation).then_some(generation)
    }

    /// Marks this generation as valid, with this role. Closes a socket that the role may not have.
    pub(super) fn mark_valid(&self, role: Role, generation: u64) {
        let end =
            self.kind.roles().filter(|roles| !roles.holds(role)).map(Refusal::RoleNeeded).map(CloseReason::Refused);
        let mut state = self.state();
        // The result of an older generation may be out of date.
        if state.validated < generation {
            state.validated = generation;
            if state.role != role {
                (state.role, state.since) = (role, state.stale_since);
            }
            state.end = state.end.take().or(end);
        }
    }

    /// Marks the session as possibly changed, with the current position in the message log.
    fn mark_stale(&self, place: MessageId) {
        let mut state = self.state();
        if state.validated == self.generation.fetch_add(1, Ordering::SeqCst) {
            state.stale_since = place;
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Whether a message to one of these roles may be for this connection. A stale connection may have any role.
    fn may_be_in(&self, roles: &[(&CorpId, Role)]) -> bool {
        let (role, is_stale) = (self.role(), self.stale_generation().is_some());
        roles.iter().any(|(corp, wanted)| **corp == self.corp && (is_stale || *wanted == role))
    }

    fn state(&self) -> MutexGuard<'_, SocketState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sockets that are connected to this node.
#[derive(Debug, Default)]
pub struct LiveSockets(Arc<Mutex<ConnectionRegistry>>);

#[derive(Debug, Default)]
struct ConnectionRegistry {
    next: u64,
    connections: HashMap<u64, Arc<SocketConnection>>,
    by_session: HashMap<Digest, Vec<u64>>,
    /// Connection numbers, oldest first.
    by_person: HashMap<EmployeeKey, Vec<u64>>,
    /// When a connection has to check the clock.
    due: BTreeSet<(Timestamp, u64)>,
}

/// A registered connection. Dropping it removes the connection.
#[derive(Debug)]
pub(super) struct SocketGuard {
    pub(super) connection: Arc<SocketConnection>,
    number: u64,
    registry: Arc<Mutex<ConnectionRegistry>>,
}

impl Drop for SocketGuard {
    fn drop(&mut self) {
        lock(&self.registry).remove(self.number, &self.connection);
    }
}

/// The number of ticks over which all connections are revalidated, regardless of invalidations.
const REVALIDATION_TICKS: u64 = 120;

impl LiveSockets {
    /// Registers a connection. If the employee has too many, the oldest is closed.
    pub(super) fn take(&self, connection: SocketConnection, limit: usize) -> SocketGuard {
        let (connection, mut registry) = (Arc::new(connection), lock(&self.0));
        let number = registry.next;
        registry.next += 1;
        registry.connections.insert(number, Arc::clone(&connection));
        registry.by_session.entry(connection.digest).or_insert_with(room_for_one).push(number);
        for moment in [connection.expires_at - EXPIRY_WARNING, connection.expires_at] {
            registry.due.insert((moment, number));
        }
        let own = registry.by_person.entry(connection.employee.clone()).or_insert_with(room_for_one);
        own.push(number);
        let too_many = own.len().saturating_sub(limit);
        let oldest: Vec<_> = own.iter().take(too_many).copied().collect();
        for connection in oldest.iter().filter_map(|number| registry.connections.get(number)) {
            connection.end(CloseReason::Replaced);
        }
        SocketGuard { connection, number, registry: Arc::clone(&self.0) }
    }

    /// The number of connections.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.0).connections.len()
    }

    /// Whether there are no connections.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Marks the affected connections as stale. They get no message before they are revalidated.
    pub fn mark_stale(&self, touched: Invalidation<'_>, place: MessageId) {
        let registry = lock(&self.0);
        let of = |numbers: Option<&Vec<u64>>| {
            for connection in numbers.into_iter().flatten().filter_map(|number| registry.connections.get(number)) {
                connection.mark_stale(place);
            }
        };
        match touched {
            Invalidation::Session(digest) => of(registry.by_session.get(digest)),
            Invalidation::Person(key) => of(registry.by_person.get(key)),
            Invalidation::All => registry.connections.values().for_each(|connection| connection.mark_stale(place)),
        }
    }

    /// Marks connections as stale that expire or must be warned, and all others in turns.
    pub(super) fn tick(&self, now: Timestamp, turn: u64, place: MessageId) {
        let mut registry = lock(&self.0);
        while let Some((_, number)) = registry.due.first().copied().filter(|(moment, _)| *moment <= now) {
            registry.due.pop_first();
            if let Some(connection) = registry.connections.get(&number) {
                connection.mark_stale(place);
            }
        }
        for (_, connection) in
            registry.connections.iter().filter(|(number, _)| **number % REVALIDATION_TICKS == turn % REVALIDATION_TICKS)
        {
            connection.mark_stale(place);
        }
    }

    pub(super) fn end_all(&self, end: &CloseReason) {
        lock(&self.0).connections.values().for_each(|connection| connection.end(end.clone()));
    }

    /// The connections that a message is for, or may be for.
    pub(super) fn addressed(&self, message: &StoredMessage) -> Vec<Arc<SocketConnection>> {
        let registry = lock(&self.0);
        let (mut people, mut roles): (HashMap<u64, &Arc<SocketConnection>>, Vec<_>) = (HashMap::new(), Vec::new());
        for to in &message.to {
            match to {
                Recipient::Person(key) => {
                    let numbers = registry.by_person.get(key).into_iter().flatten();
                    people.extend(numbers.filter_map(|number| Some((*number, registry.connections.get(number)?))));
                }
                Recipient::Role(corp, role) => roles.push((corp, *role)),
            }
        }
        let mut found: Vec<_> = people.values().copied().cloned().collect();
        if !roles.is_empty() {
            // Nearly all connections may be in a role, so they are not collected in a table first.
            let others = registry.connections.iter().filter(|(number, _)| !people.contains_key(*number));
            found.extend(others.map(|(_, connection)| connection).filter(|other| other.may_be_in(&roles)).cloned());
        }
        found
    }
}

impl ConnectionRegistry {
    fn remove(&mut self, number: u64, connection: &SocketConnection) {
        self.connections.remove(&number);
        for moment in [connection.expires_at - EXPIRY_WARNING, connection.expires_at] {
            self.due.remove(&(moment, number));
        }
        remove_number(&mut self.by_session, &connection.digest, number);
        remove_number(&mut self.by_person, &connection.employee, number);
    }
}

/// A list for the only connection of a session or person, as it usually is: a list that grows by itself begins with room for four.
fn room_for_one() -> Vec<u64> {
    Vec::with_capacity(1)
}

fn remove_number<K: Eq + Hash>(index: &mut HashMap<K, Vec<u64>>, key: &K, number: u64) {
    if let Some(numbers) = index.get_mut(key) {
        numbers.retain(|other| *other != number);
        if numbers.is_empty() {
            index.remove(key);
        }
    }
}

fn lock(registry: &Mutex<ConnectionRegistry>) -> MutexGuard<'_, ConnectionRegistry> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}
