//! Who is connected to this node.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskpass_core::{CorpId, Digest, EmployeeKey, MessageId, Recipient, Role, SocketKind, Timestamp};
use deskpass_store::{Letter, Reader, Touched};
use tokio::sync::Notify;

use super::WARNING;
use crate::{Holder, Refusal};

/// Why a socket is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The session, its role or its address does not count any more.
    Refused(Refusal),
    /// The person opened more than there is room for, and this was the oldest.
    Replaced,
    /// The client does not read what it is sent.
    TooSlow,
}

/// A socket as others see it.
#[derive(Debug)]
pub(super) struct Seat {
    digest: Digest,
    employee: EmployeeKey,
    corp: CorpId,
    kind: SocketKind,
    from: IpAddr,
    expires_at: Timestamp,
    /// Fires when there is something to look at.
    told: Notify,
    /// How often something may have changed.
    doubts: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    role: Role,
    /// Where the order of messages was when it became the active one, if it was another before.
    since: MessageId,
    end: Option<End>,
    /// How many of the doubts are settled, and where the order of messages was when the first of the others came up.
    settled: u64,
    doubted_at: MessageId,
}

impl Seat {
    /// Somebody whose session stood a moment ago: whether it still does is looked into before anything is said.
    pub(super) fn new(holder: &Holder, kind: SocketKind, from: IpAddr) -> Self {
        let session = holder.session();
        Self {
            digest: holder.digest(),
            employee: session.employee.clone(),
            corp: session.employee.corp_id(),
            kind,
            from,
            expires_at: session.expires_at,
            told: Notify::new(),
            doubts: AtomicU64::new(1),
            state: Mutex::new(State {
                role: session.current_role,
                since: MessageId::default(),
                end: None,
                settled: 0,
                doubted_at: MessageId::default(),
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

    pub(super) fn ended(&self) -> Option<End> {
        self.state().end.clone()
    }

    pub(super) fn reader(&self) -> Reader {
        let state = self.state();
        Reader::new(&self.employee, &self.corp, (state.role, state.since), self.kind)
    }

    /// Waits until there is something to look at.
    pub(super) async fn told(&self) {
        self.told.notified().await;
    }

    pub(super) fn tell(&self) {
        self.told.notify_one();
    }

    pub(super) fn end(&self, end: End) {
        self.state().end.get_or_insert(end);
        self.tell();
    }

    /// The doubt that nobody has looked into, if there is one. Several may look into it at once; whoever asks before that has
    /// come to an end is in doubt, too.
    pub(super) fn doubted(&self) -> Option<u64> {
        let doubts = self.doubts.load(Ordering::SeqCst);
        (self.state().settled < doubts).then_some(doubts)
    }

    /// It stands, in this role, as far as this doubt goes. What not every role may have ends with the role.
    pub(super) fn stands_as(&self, role: Role, doubt: u64) {
        let end = self.kind.roles().filter(|roles| !roles.holds(role)).map(Refusal::RoleNeeded).map(End::Refused);
        let mut state = self.state();
        // What was read for an older doubt may be older than what is known by now.
        if state.settled < doubt {
            state.settled = doubt;
            if state.role != role {
                (state.role, state.since) = (role, state.doubted_at);
            }
            state.end = state.end.take().or(end);
        }
    }

    /// Something may have changed, while the order of messages was at `place`.
    fn doubt(&self, place: MessageId) {
        let mut state = self.state();
        if state.settled == self.doubts.fetch_add(1, Ordering::SeqCst) {
            state.doubted_at = place;
        }
        drop(state);
        self.tell();
    }

    /// Whether a message to one of these roles may be meant for it: certainly, or once it is known what its role is.
    fn may_be_in(&self, roles: &[(&CorpId, Role)]) -> bool {
        let (role, doubted) = (self.role(), self.doubted().is_some());
        roles.iter().any(|(corp, wanted)| **corp == self.corp && (doubted || *wanted == role))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everybody who is connected to this node.
#[derive(Debug, Default)]
pub struct Sockets(Arc<Mutex<Book>>);

#[derive(Debug, Default)]
struct Book {
    next: u64,
    seats: HashMap<u64, Arc<Seat>>,
    by_session: HashMap<Digest, Vec<u64>>,
    /// Oldest first.
    by_person: HashMap<EmployeeKey, Vec<u64>>,
    /// When somebody is to look at the clock.
    due: BTreeSet<(Timestamp, u64)>,
}

/// A place that is taken; free again once this is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    seat: Arc<Seat>,
    number: u64,
    book: Arc<Mutex<Book>>,
}

impl Taken {
    pub(super) fn seat(&self) -> &Seat {
        &self.seat
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        lock(&self.book).remove(self.number, &self.seat);
    }
}

/// Over how many ticks everybody's standing is looked at again, whatever was heard or not.
const TURNS: u64 = 120;

impl Sockets {
    /// Gives a seat a place. The oldest of the same person makes room where there are as many as there may be.
    pub(super) fn take(&self, seat: Seat, most: usize) -> Taken {
        let (seat, mut book) = (Arc::new(seat), lock(&self.0));
        let number = book.next;
        book.next += 1;
        book.seats.insert(number, Arc::clone(&seat));
        book.by_session.entry(seat.digest).or_default().push(number);
        for moment in [seat.expires_at - WARNING, seat.expires_at] {
            book.due.insert((moment, number));
        }
        let theirs = book.by_person.entry(seat.employee.clone()).or_default();
        theirs.push(number);
        let too_many = theirs.len().saturating_sub(most);
        let oldest: Vec<_> = theirs.iter().take(too_many).copied().collect();
        for seat in oldest.iter().filter_map(|number| book.seats.get(number)) {
            seat.end(End::Replaced);
        }
        Taken { seat, number, book: Arc::clone(&self.0) }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.0).seats.len()
    }

    /// Whether there is nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Something may have changed: nobody whom it concerns is told anything before that is looked into.
    pub fn doubt(&self, touched: Touched<'_>, place: MessageId) {
        let book = lock(&self.0);
        let of = |numbers: Option<&Vec<u64>>| {
            for seat in numbers.into_iter().flatten().filter_map(|number| book.seats.get(number)) {
                seat.doubt(place);
            }
        };
        match touched {
            Touched::Session(digest) => of(book.by_session.get(digest)),
            Touched::Person(key) => of(book.by_person.get(key)),
            Touched::All => book.seats.values().for_each(|seat| seat.doubt(place)),
        }
    }

    /// Has those look at the clock whose time has come, and, in turns, everybody.
    pub(super) fn tick(&self, now: Timestamp, turn: u64, place: MessageId) {
        let mut book = lock(&self.0);
        while let Some((_, number)) = book.due.first().copied().filter(|(moment, _)| *moment <= now) {
            book.due.pop_first();
            if let Some(seat) = book.seats.get(&number) {
                seat.doubt(place);
            }
        }
        for (_, seat) in book.seats.iter().filter(|(number, _)| **number % TURNS == turn % TURNS) {
            seat.doubt(place);
        }
    }

    /// It is over for everybody.
    pub(super) fn end_all(&self, end: &End) {
        lock(&self.0).seats.values().for_each(|seat| seat.end(end.clone()));
    }

    /// Those for whom a message is, or may be.
    pub(super) fn addressed(&self, letter: &Letter) -> Vec<Arc<Seat>> {
        let book = lock(&self.0);
        let (mut found, mut roles): (HashMap<u64, &Arc<Seat>>, Vec<_>) = (HashMap::new(), Vec::new());
        for to in &letter.to {
            match to {
                Recipient::Person(key) => {
                    let numbers = book.by_person.get(key).into_iter().flatten();
                    found.extend(numbers.filter_map(|number| Some((*number, book.seats.get(number)?))));
                }
                Recipient::Role(corp, role) => roles.push((corp, *role)),
            }
        }
        if !roles.is_empty() {
            let in_role = book.seats.iter().filter(|(_, seat)| seat.may_be_in(&roles));
            found.extend(in_role.map(|(number, seat)| (*number, seat)));
        }
        found.into_values().cloned().collect()
    }
}

impl Book {
    fn remove(&mut self, number: u64, seat: &Seat) {
        self.seats.remove(&number);
        for moment in [seat.expires_at - WARNING, seat.expires_at] {
            self.due.remove(&(moment, number));
        }
        if let Some(numbers) = self.by_session.get_mut(&seat.digest) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_session.remove(&seat.digest);
            }
        }
        if let Some(numbers) = self.by_person.get_mut(&seat.employee) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.by_person.remove(&seat.employee);
            }
        }
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}
