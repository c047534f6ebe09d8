//! How many connections there may be, in all and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Desk;

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Connections {
    desk: Desk,
    room: Arc<Semaphore>,
    size: u32,
    from: Counts,
}

/// How many connections each address has.
type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// Room for one more.
pub(super) type Room = Option<OwnedSemaphorePermit>;

/// A connection's place; it is free again once this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _room: Room,
    counted: Option<(IpAddr, Counts)>,
}

impl Connections {
    pub(super) fn new(desk: &Desk) -> Self {
        let size = u32::try_from(desk.settings.server.max_connections).unwrap_or(u32::MAX);
        let room = Arc::new(Semaphore::new(size as usize));
        Self { desk: desk.clone(), room, size, from: Arc::default() }
    }

    /// Waits until there is room for one more.
    pub(super) async fn room(&self) -> Room {
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// A place for a connection from `address`, unless it has too many. A trusted proxy speaks for many clients and is not
    /// counted.
    pub(super) fn admit(&self, room: Room, address: IpAddr) -> Option<Place> {
        let address = address.to_canonical();
        let mut place = Place { _room: room, counted: None };
        if !self.desk.trusted.contain(address) {
            let mut from = self.from.lock().unwrap_or_else(PoisonError::into_inner);
            let count = from.entry(address).or_default();
            if *count >= self.desk.settings.server.max_connections_per_address {
                return None;
            }
            *count += 1;
            place.counted = Some((address, Arc::clone(&self.from)));
        }
        Some(place)
    }

    /// Waits until every place is free.
    pub(super) async fn all_gone(&self) {
        drop(self.room.acquire_many(self.size).await);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some((address, from)) = self.counted.take() else { return };
        let mut from = from.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = from.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                from.remove(&address);
            }
        }
    }
}
