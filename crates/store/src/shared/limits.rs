//! Rate limits: counted for all nodes together or, while they cannot reach each other, per node. One always applies.

mod debt_table;

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Digest, Rate, Timestamp};

use self::debt_table::DebtTable;
use super::redis::RedisBackend;
use crate::Result;

/// The maximum number of tracked clients; a client under four limits counts as four. Each takes sixteen bytes.
const MAX_CLIENTS: usize = 1 << 19;
const MAX_TICKETS: usize = 1 << 17;

/// The subject of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSubject {
    /// The requests of a client.
    Client,
    /// The requests for a ticket.
    Ticket,
}

/// The rate limiter.
#[derive(Debug)]
pub struct RateLimits {
    clients: DebtTable,
    tickets: DebtTable,
    /// The backend where the nodes count together, when there may be several.
    server: Option<Arc<RedisBackend>>,
}

impl RateLimits {
    pub(super) fn new(server: Option<Arc<RedisBackend>>) -> Self {
        Self { clients: DebtTable::new(MAX_CLIENTS), tickets: DebtTable::new(MAX_TICKETS), server }
    }

    /// Admits one more request of `key`; otherwise, the error is the time until the next request is admitted.
    pub async fn admit(&self, counted: LimitSubject, key: &Digest, rate: Rate, now: Timestamp) -> Result<(), Duration> {
        let debts = self.debts(counted);
        let Some(server) = &self.server else { return debts.admit(key, rate, now) };
        match Box::pin(admit_with_nodes(server, debts, (counted, key), rate, now)).await {
            Ok(admitted) => admitted,
            Err(_) => debts.admit(key, rate, now),
        }
    }

    /// Whether the next request of `key` would not be admitted. Counts none.
    pub async fn is_exhausted(&self, counted: LimitSubject, key: &Digest, rate: Rate, now: Timestamp) -> bool {
        let debts = self.debts(counted);
        let known = debts.debt_of(key);
        let debt = match &self.server {
            // While the server does not answer, what this node knows counts.
            Some(server) => Box::pin(server.debt(counted, key, known, rate, now)).await.unwrap_or(known),
            None => known,
        };
        let is_exhausted = rate.admit(debt, now).is_err();
        if is_exhausted {
            debts.raise(key, debt);
        }
        is_exhausted
    }

    fn debts(&self, counted: LimitSubject) -> &DebtTable {
        match counted {
            LimitSubject::Client => &self.clients,
            LimitSubject::Ticket => &self.tickets,
        }
    }
}

/// Counts together with the other nodes. This node stores the debt that it receives and sends the debt that it knows,
/// so no debt is forgotten when the server is lost or comes back empty.
async fn admit_with_nodes(
    server: &RedisBackend,
    debts: &DebtTable,
    (counted, key): (LimitSubject, &Digest),
    rate: Rate,
    now: Timestamp,
) -> Result<Result<(), Duration>> {
    let debt = server.charge(counted, key, debts.debt_of(key), rate, now).await?;
    let judged = rate.admit(debt, now);
    debts.raise(key, judged.unwrap_or(debt));
    Ok(judged.map(drop))
}
