//! Messages from services to connected sockets.

use std::time::Duration;

use deskpass_core::{Message, MessageId};
use deskpass_store::{PostOutcome, StoredMessage};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::CloseReason;
use crate::{Auth, Error, Refusal};

/// How long the database may take to report changes before other nodes stop counting on this one.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(300);

/// How often expired sessions are looked for.
const CLOCK_TICK: Duration = Duration::from_millis(250);

/// The result of publishing a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The position in the message log; `None` for a duplicate.
    pub id: Option<MessageId>,
    /// The number of sockets that get the message, on all nodes.
    pub recipients: usize,
}

impl Auth {
    /// Publishes messages, all or none, to connected sockets. Refused if a message does not follow in its stream.
    pub async fn publish(&self, messages: Vec<Message>) -> Result<Vec<Delivery>, Error> {
        let posted = self.shared.messages.post(messages, self.clock.now()).await?;
        let posted = posted.map_err(Refusal::from)?;
        let mut deliveries = Vec::with_capacity(posted.len());
        for posted in posted {
            deliveries.push(match posted {
                PostOutcome::Duplicate => Delivery { id: None, recipients: 0 },
                PostOutcome::Local(message) => {
                    Delivery { id: Some(message.id), recipients: self.deliver(&message).await }
                }
                PostOutcome::AllNodes(id, counting) => {
                    Delivery { id: Some(id), recipients: counting.delivered().await }
                }
            });
        }
        Ok(deliveries)
    }

    /// Delivers a message to the sockets of this node; returns how many get it.
    async fn deliver(&self, message: &StoredMessage) -> usize {
        let (mut delivered, connections) = (0, self.sockets.addressed(message));
        // All are woken first, since each revalidates itself.
        for connection in &connections {
            connection.wake.notify_one();
        }
        for connection in connections {
            let valid = self.revalidate(&connection).await.is_ok() && connection.ended().is_none();
            delivered += usize::from(valid && connection.reader().gets(message));
        }
        delivered
    }

    /// Relays messages of other nodes to the sockets of this one. Never returns.
    pub async fn relay_messages(&self) {
        let Some(mut round) = self.shared.messages.feed() else { return };
        loop {
            // Filtered at once, because the delivery may have to wait for the database.
            let arrived = self.shared.messages.filter_fresh(round.next().await, self.clock.now());
            // A message that was posted after a session ended, on any node, must be delivered after this node knows of the end.
            if timeout(CATCH_UP_TIMEOUT, self.store.wait_until_caught_up()).await.is_err() {
                // Other nodes do not wait for a node that cannot deliver.
                round.set_delivering(false);
                self.store.wait_until_caught_up().await;
                round.set_delivering(true);
            }
            let has_gap = arrived.has_gap();
            if has_gap {
                tracing::warn!("Redis has lost messages, or they were read too late: connected clients must reload");
                self.sockets.end_all(&CloseReason::TooSlow);
            }
            let arrived = self.shared.messages.ingest(arrived, self.clock.now());
            if has_gap {
                // Sockets that were opened meanwhile, before the gap was recorded.
                self.sockets.end_all(&CloseReason::TooSlow);
            }
            let mut delivered = Vec::new();
            for (message, ask) in arrived {
                delivered.push((ask, self.deliver(&message).await));
            }
            round.report(delivered).await;
        }
    }

    /// Makes sockets check the clock. Never returns.
    pub async fn watch_sockets(&self) {
        let mut ticks = interval(CLOCK_TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for turn in 0_u64.. {
            ticks.tick().await;
            self.sockets.tick(self.clock.now(), turn, self.shared.messages.newest());
        }
    }
}
