//! How many connections there may be, in all and from one address, and how they are asked to leave.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::Desk;
use crate::tally::{Present, Tally};

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Connections {
    desk: Desk,
    room: Arc<Semaphore>,
    size: u32,
    from: Tally,
    book: Arc<Mutex<Book>>,
}

/// Who is here.
#[derive(Debug, Default)]
struct Book {
    next: u64,
    /// One for each connection; dropping it asks the connection to leave. A channel of its own costs a connection next to
    /// nothing while it waits, where a shared signal would make all of them meet at one lock with every request.
    open: HashMap<u64, oneshot::Sender<()>>,
    closed: bool,
}

/// Room for one more.
pub(super) type Room = Option<OwnedSemaphorePermit>;

/// A connection's place; it is free again once this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    /// Completes when the connection is asked to leave.
    pub(super) leave: oneshot::Receiver<()>,
    number: u64,
    book: Arc<Mutex<Book>>,
    _counted: Option<Present>,
    _room: Room,
}

impl Connections {
    pub(super) fn new(desk: &Desk) -> Self {
        let size = u32::try_from(desk.settings.server.max_connections).unwrap_or(u32::MAX);
        let room = Arc::new(Semaphore::new(size as usize));
        let from = Tally::new(usize::MAX, desk.settings.server.max_connections_per_address);
        Self { desk: desk.clone(), room, size, from, book: Arc::default() }
    }

    /// Waits until there is room for one more.
    pub(super) async fn room(&self) -> Room {
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// A place for a connection from `address`, unless it has too many. A trusted proxy speaks for many clients and is not
    /// counted.
    pub(super) fn admit(&self, room: Room, address: IpAddr) -> Option<Place> {
        let counted = if self.desk.trusted.contain(address) { None } else { Some(self.from.enter(address)?) };
        let mut book = lock(&self.book);
        let (stay, leave) = oneshot::channel();
        let number = book.next;
        book.next += 1;
        if !book.closed {
            book.open.insert(number, stay);
        }
        drop(book);
        Some(Place { leave, number, book: Arc::clone(&self.book), _counted: counted, _room: room })
    }

    /// Asks every connection to leave when it has answered, and waits until all have.
    pub(super) async fn close(&self) {
        let asked = {
            let mut book = lock(&self.book);
            book.closed = true;
            std::mem::take(&mut book.open)
        };
        drop(asked);
        drop(self.room.acquire_many(self.size).await);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.book).open.remove(&self.number);
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}
