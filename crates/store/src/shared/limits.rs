//! Who has asked how often. Counted for all nodes together while they can reach each other, and by every node for itself while
//! they cannot: a limit never fails.

mod ledger;

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Digest, Rate, Timestamp};

use self::ledger::Ledger;
use super::redis::Server;
use crate::StoreError;

/// Clients remembered at once; one that is limited in four ways counts as four. Sixteen bytes each.
const CLIENTS: usize = 1 << 19;
/// Tickets remembered at once.
const TICKETS: usize = 1 << 17;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// What a client does.
    Client,
    /// What is asked of a ticket.
    Ticket,
}

/// Keeps count.
#[derive(Debug)]
pub struct Limits {
    clients: Ledger,
    tickets: Ledger,
    /// Where the nodes count together, when there may be several.
    server: Option<Arc<Server>>,
}

impl Limits {
    pub(super) fn new(server: Option<Arc<Server>>) -> Self {
        Self { clients: Ledger::new(CLIENTS), tickets: Ledger::new(TICKETS), server }
    }

    /// Lets one more of `key` through, unless there were too many.
    ///
    /// # Errors
    /// When there were: how long until there is one to be had.
    pub async fn admit(&self, counted: Counted, key: &Digest, rate: Rate, now: Timestamp) -> Result<(), Duration> {
        let ledger = match counted {
            Counted::Client => &self.clients,
            Counted::Ticket => &self.tickets,
        };
        let Some(server) = &self.server else { return ledger.admit(key, rate, now) };
        match Box::pin(together(server, ledger, (counted, key), rate, now)).await {
            Ok(admitted) => admitted,
            Err(_) => ledger.admit(key, rate, now),
        }
    }
}

/// Asks where the nodes count together. This node remembers what it is told, and tells what it remembers: so neither the loss
/// of the server nor its return with nothing in it makes anyone's debt forgotten.
async fn together(
    server: &Server,
    ledger: &Ledger,
    (counted, key): (Counted, &Digest),
    rate: Rate,
    now: Timestamp,
) -> Result<Result<(), Duration>, StoreError> {
    let debt = server.charge(counted, key, ledger.look(key), rate, now).await?;
    let judged = rate.admit(debt, now);
    ledger.raise(key, judged.unwrap_or(debt));
    Ok(judged.map(drop))
}
