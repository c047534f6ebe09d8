//! Who is connected to this node.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskpass_core::{CorpId, Digest, EmployeeKey, MessageId, Recipient, Role, SocketKind, Timestamp};
use deskpass_store::{Invalidation, StoredMessage, Subscriber};
use tokio::sync::Notify;

use super::EXPIRY_WARNING;
use crate::{Refusal, TokenHolder};

/// Why a socket is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// The session, its role or its address does not count any more.
    Refused(Refusal),
    /// The person opened more than there is room for, and this was the oldest.
    Replaced,
    /// The client does not read what it is sent.
    TooSlow,
}

/// A socket as others see it.
#[derive(Debug)]
pub(super) struct Connection {
    digest: Digest,
    employee: EmployeeKey,
    corp: CorpId,
    kind: SocketKind,
    from: IpAddr,
    expires_at: Timestamp,
    /// Fires when there is something to look at.
    wake: Notify,
    /// How often something may have changed.
    generation: AtomicU64,
    state: Mutex<ConnectionState>,
}

#[derive(Debug)]
struct ConnectionState {
    role: Role,
    /// Where the order of messages was when it became the active one, if it was another before.
    since: MessageId,
    end: Option<CloseReason>,
    /// How many of the doubts are settled, and where the order of messages was when the first of the others came up.
    validated: u64,
    stale_since: MessageId,
}

impl Connection {
    /// Somebody whose session stood a moment ago: whether it still does is looked into before anything is said.
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
            state: Mutex::new(ConnectionState {
                role: session.current_role,
                since: MessageId::default(),
                end: None,
                validated: 0,
                stale_since: MessageId::default(),
            }),
        }
    }

    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    pub(super) fn from(&self) -> IpAddr {
        self.from
    }

    pub(super) fn expires_at(&self) -> Timestamp {
        self.expires_at
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

    /// Waits until there is something to look at.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) fn end(&self, end: CloseReason) {
        self.state().end.get_or_insert(end);
        self.wake();
    }

    /// The doubt that nobody has looked into, if there is one. Several may look into it at once; whoever asks before that has
    /// come to an end is in doubt, too.
    pub(super) fn stale_generation(&self) -> Option<u64> {
        let generation = self.generation.load(Ordering::SeqCst);
        (self.state().validated < generation).then_some(generation)
    }

    /// It stands, in this role, as far as this doubt goes. What not every role may have ends with the role.
    pub(super) fn mark_valid(&self, role: Role, generation: u64) {
        let end =
            self.kind.roles().filter(|roles| !roles.holds(role)).map(Refusal::RoleNeeded).map(CloseReason::Refused);
        let mut state = self.state();
        // What was read for an older doubt may be older than what is known by now.
        if state.validated < generation {
            state.validated = generation;
            if state.role != role {
                (state.role, state.since) = (role, state.stale_since);
            }
            state.end = state.end.take().or(end);
        }
    }

    /// Something may have changed, while the order of messages was at `place`.
    fn mark_stale(&self, place: MessageId) {
        let mut state = self.state();
        if state.validated == self.generation.fetch_add(1, Ordering::SeqCst) {
            state.stale_since = place;
        }
        drop(state);
        self.wake();
    }

    /// Whether a message to one of these roles may be meant for it: certainly, or once it is known what its role is.
    fn may_be_in(&self, roles: &[(&CorpId, Role)]) -> bool {
        let (role, is_stale) = (self.role(), self.stale_generation().is_some());
        roles.iter().any(|(corp, wanted)| **corp == self.corp && (is_stale || *wanted == role))
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everybody who is connected to this node.
#[derive(Debug, Default)]
pub struct LiveSockets(Arc<Mutex<ConnectionRegistry>>);

#[derive(Debug, Default)]
struct ConnectionRegistry {
    next: u64,
    connections: HashMap<u64, Arc<Connection>>,
    by_session: HashMap<Digest, Vec<u64>>,
    /// Oldest first.
    by_person: HashMap<EmployeeKey, Vec<u64>>,
    /// When somebody is to look at the clock.
    due: BTreeSet<(Timestamp, u64)>,
}

/// A place that is taken; free again once this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionGuard {
    connection: Arc<Connection>,
    number: u64,
    registry: Arc<Mutex<ConnectionRegistry>>,
}

impl ConnectionGuard {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        lock(&self.registry).remove(self.number, &self.connection);
    }
}

/// Over how many ticks everybody's standing is looked at again, whatever was heard or not.
const REVALIDATION_TICKS: u64 = 120;

impl LiveSockets {
    /// Gives a seat a place. The oldest of the same person makes room where there are as many as there may be.
    pub(super) fn take(&self, connection: Connection, most: usize) -> ConnectionGuard {
        let (connection, mut registry) = (Arc::new(connection), lock(&self.0));
        let number = registry.next;
        registry.next += 1;
        registry.connections.insert(number, Arc::clone(&connection));
        registry.by_session.entry(connection.digest).or_default().push(number);
        for moment in [connection.expires_at - EXPIRY_WARNING, connection.expires_at] {
            registry.due.insert((moment, number));
        }
        let theirs = registry.by_person.entry(connection.employee.clone()).or_default();
        theirs.push(number);
        let too_many = theirs.len().saturating_sub(most);
        let oldest: Vec<_> = theirs.iter().take(too_many).copied().collect();
        for connection in oldest.iter().filter_map(|number| registry.connections.get(number)) {
            connection.end(CloseReason::Replaced);
        }
        ConnectionGuard { connection, number, registry: Arc::clone(&self.0) }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.0).connections.len()
    }

    /// Whether there is nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Something may have changed: nobody whom it concerns is told anything before that is looked into.
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

    /// Has those look at the clock whose time has come, and, in turns, everybody.
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

    /// It is over for everybody.
    pub(super) fn end_all(&self, end: &CloseReason) {
        lock(&self.0).connections.values().for_each(|connection| connection.end(end.clone()));
    }

    /// Those for whom a message is, or may be.
    pub(super) fn addressed(&self, message: &StoredMessage) -> Vec<Arc<Connection>> {
        let registry = lock(&self.0);
        let (mut found, mut roles): (HashMap<u64, &Arc<Connection>>, Vec<_>) = (HashMap::new(), Vec::new());
        for to in &message.to {
            match to {
                Recipient::Person(key) => {
                    let numbers = registry.by_person.get(key).into_iter().flatten();
                    found.extend(numbers.filter_map(|number| Some((*number, registry.connections.get(number)?))));
                }
                Recipient::Role(corp, role) => roles.push((corp, *role)),
            }
        }
        if !roles.is_empty() {
            let in_role = registry.connections.iter().filter(|(_, connection)| connection.may_be_in(&roles));
            found.extend(in_role.map(|(number, connection)| (*number, connection)));
        }
        found.into_values().cloned().collect()
    }
}

impl ConnectionRegistry {
    fn remove(&mut self, number: u64, connection: &Connection) {
        self.connections.remove(&number);
        for moment in [connection.expires_at - EXPIRY_WARNING, connection.expires_at] {
            self.due.remove(&(moment, number));
        }
        if let Some(numbers) = self.by_session.get_mut(&connection.digest) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_session.remove(&connection.digest);
            }
        }
        if let Some(numbers) = self.by_person.get_mut(&connection.employee) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_person.remove(&connection.employee);
            }
        }
    }
}

fn lock(registry: &Mutex<ConnectionRegistry>) -> MutexGuard<'_, ConnectionRegistry> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}
