//! How many connections there may be, in all and from one address, and how they are asked to leave.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use deskpass_core::counted_as;

use crate::Desk;

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Connections {
    desk: Desk,
    room: Arc<Semaphore>,
    size: u32,
    book: Arc<Mutex<Book>>,
}

/// Who is here.
#[derive(Debug, Default)]
struct Book {
    next: u64,
    /// One for each connection; dropping it asks the connection to leave. A channel of its own costs a connection next to
    /// nothing while it waits, where a shared signal would make all of them meet at one lock with every request.
    open: HashMap<u64, oneshot::Sender<()>>,
    from: HashMap<IpAddr, usize>,
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
    counted: Option<IpAddr>,
    book: Arc<Mutex<Book>>,
    _room: Room,
}

impl Connections {
    pub(super) fn new(desk: &Desk) -> Self {
        let size = u32::try_from(desk.settings.server.max_connections).unwrap_or(u32::MAX);
        let room = Arc::new(Semaphore::new(size as usize));
        Self { desk: desk.clone(), room, size, book: Arc::default() }
    }

    /// Waits until there is room for one more.
    pub(super) async fn room(&self) -> Room {
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// A place for a connection from `address`, unless it has too many. A trusted proxy speaks for many clients and is not
    /// counted.
    pub(super) fn admit(&self, room: Room, address: IpAddr) -> Option<Place> {
        let counted = (!self.desk.trusted.contain(address)).then(|| counted_as(address));
        let mut book = lock(&self.book);
        if let Some(address) = counted {
            let count = book.from.entry(address).or_default();
            if *count >= self.desk.settings.server.max_connections_per_address {
                return None;
            }
            *count += 1;
        }
        let (stay, leave) = oneshot::channel();
        let number = book.next;
        book.next += 1;
        if !book.closed {
            book.open.insert(number, stay);
        }
        drop(book);
        Some(Place { leave, number, counted, book: Arc::clone(&self.book), _room: room })
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
        let mut book = lock(&self.book);
        book.open.remove(&self.number);
        let Some(address) = self.counted else { return };
        if let Some(count) = book.from.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                book.from.remove(&address);
            }
        }
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}
