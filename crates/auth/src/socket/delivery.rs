//! Messages from services to those who are connected.

use std::time::Duration;

use deskpass_core::{Message, MessageId};
use deskpass_store::{PostOutcome, StoredMessage};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::CloseReason;
use crate::{Auth, Error, Refusal};

/// How long the database may take to say what has changed before others count without this node.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(300);

/// How often the clock is looked at for sessions that have expired.
const CLOCK_TICK: Duration = Duration::from_millis(250);

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its place among all; `None` for one that was there before.
    pub id: Option<MessageId>,
    /// How many sockets it is on its way to, on all nodes.
    pub recipients: usize,
}

impl Auth {
    /// Takes messages, all or none, and tells those who are connected.
    ///
    /// # Errors
    /// When one does not follow in its stream, or what nodes share does not answer.
    pub async fn publish(&self, messages: Vec<Message>) -> Result<Vec<Delivery>, Error> {
        let posted = self.shared.messages.post(messages, self.clock.now()).await?;
        let posted = posted.map_err(|unfit| Refusal::OutOfStream(unfit.place, unfit.why))?;
        let mut deliveries = Vec::with_capacity(posted.len());
        for posted in posted {
            deliveries.push(match posted {
                PostOutcome::Duplicate => Delivery { id: None, recipients: 0 },
                PostOutcome::Local(message) => {
                    Delivery { id: Some(message.id), recipients: self.deliver(&message).await }
                }
                PostOutcome::AllNodes(id, counting) => Delivery { id: Some(id), recipients: counting.told().await },
            });
        }
        Ok(deliveries)
    }

    /// Tells those of this node for whom a message is; returns how many that were.
    async fn deliver(&self, message: &StoredMessage) -> usize {
        let (mut told, connections) = (0, self.sockets.addressed(message));
        // First of all, since each looks for itself whether it may stay.
        for connection in &connections {
            connection.wake();
        }
        for connection in connections {
            let stands = self.revalidate(&connection).await.is_ok() && connection.ended().is_none();
            told += usize::from(stands && connection.reader().gets(message));
        }
        told
    }

    /// Brings what other nodes have taken to those who are connected to this one. Does not end.
    pub async fn relay_messages(&self) {
        let Some(mut round) = self.shared.messages.feed() else { return };
        loop {
            // As of now: handing them out may have to wait for the database.
            let arrived = self.shared.messages.filter_fresh(round.next().await, self.clock.now());
            // Whoever ended a session and sent a message afterwards, on whatever nodes: the end is heard of first.
            if timeout(CATCH_UP_TIMEOUT, self.store.wait_until_caught_up()).await.is_err() {
                // Nobody waits for a node that cannot tell anyone anything.
                round.set_delivering(false);
                self.store.wait_until_caught_up().await;
                round.set_delivering(true);
            }
            if arrived.has_gap() {
                tracing::warn!("messages could not be read for too long; whoever is connected reads anew");
                self.sockets.end_all(&CloseReason::TooSlow);
            }
            let mut told = Vec::new();
            for (message, ask) in self.shared.messages.ingest(arrived, self.clock.now()) {
                told.push((ask, self.deliver(&message).await));
            }
            round.report(told).await;
        }
    }

    /// Has sockets look at the clock. Does not end.
    pub async fn watch_sockets(&self) {
        let mut ticks = interval(CLOCK_TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for turn in 0_u64.. {
            ticks.tick().await;
            self.sockets.tick(self.clock.now(), turn, self.shared.messages.newest());
        }
    }
}
