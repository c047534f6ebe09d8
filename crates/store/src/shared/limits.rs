//! Who has asked how often. Counted for all nodes together while they can reach each other, and by every node for itself while
//! they cannot: a limit never fails.

mod debt_table;

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Digest, Rate, Timestamp};

use self::debt_table::DebtTable;
use super::redis::RedisBackend;
use crate::StoreError;

/// Clients remembered at once; one that is limited in four ways counts as four. Sixteen bytes each.
const MAX_CLIENTS: usize = 1 << 19;
/// Tickets remembered at once.
const MAX_TICKETS: usize = 1 << 17;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSubject {
    /// What a client does.
    Client,
    /// What is asked of a ticket.
    Ticket,
}

/// Keeps count.
#[derive(Debug)]
pub struct RateLimits {
    clients: DebtTable,
    tickets: DebtTable,
    /// Where the nodes count together, when there may be several.
    server: Option<Arc<RedisBackend>>,
}

impl RateLimits {
    pub(super) fn new(server: Option<Arc<RedisBackend>>) -> Self {
        Self { clients: DebtTable::new(MAX_CLIENTS), tickets: DebtTable::new(MAX_TICKETS), server }
    }

    /// Lets one more of `key` through, unless there were too many.
    ///
    /// # Errors
    /// When there were: how long until there is one to be had.
    pub async fn admit(&self, counted: LimitSubject, key: &Digest, rate: Rate, now: Timestamp) -> Result<(), Duration> {
        let debts = match counted {
            LimitSubject::Client => &self.clients,
            LimitSubject::Ticket => &self.tickets,
        };
        let Some(server) = &self.server else { return debts.admit(key, rate, now) };
        match Box::pin(admit_with_nodes(server, debts, (counted, key), rate, now)).await {
            Ok(admitted) => admitted,
            Err(_) => debts.admit(key, rate, now),
        }
    }
}

/// Asks where the nodes count together. This node remembers what it is told, and tells what it remembers: so neither the loss
/// of the server nor its return with nothing in it makes anyone's debt forgotten.
async fn admit_with_nodes(
    server: &RedisBackend,
    debts: &DebtTable,
    (counted, key): (LimitSubject, &Digest),
    rate: Rate,
    now: Timestamp,
) -> Result<Result<(), Duration>, StoreError> {
    let debt = server.charge(counted, key, debts.debt_of(key), rate, now).await?;
    let judged = rate.admit(debt, now);
    debts.raise(key, judged.unwrap_or(debt));
    Ok(judged.map(drop))
}
