//! Messages from services to those who are connected.

use std::time::Duration;

use deskpass_core::{Message, MessageId};
use deskpass_store::{Letter, Posted};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::End;
use crate::{Auth, Error, Refusal};

/// How long the database may take to say what has changed before others count without this node.
const STALLED: Duration = Duration::from_millis(300);

/// How often the clock is looked at for sessions that have expired.
const TICK: Duration = Duration::from_millis(250);

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its place among all; `None` for one that was there before.
    pub id: Option<MessageId>,
    /// How many sockets it is on its way to, on all nodes.
    pub told: usize,
}

impl Auth {
    /// Takes messages, all or none, and tells those who are connected.
    ///
    /// # Errors
    /// When one does not follow in its stream, or what nodes share does not answer.
    pub async fn publish(&self, messages: Vec<Message>) -> Result<Vec<Delivery>, Error> {
        let posted = self.shared.mail.post(messages, self.clock.now()).await?;
        let posted = posted.map_err(|unfit| Refusal::OutOfStream(unfit.place, unfit.why))?;
        let mut deliveries = Vec::with_capacity(posted.len());
        for posted in posted {
            deliveries.push(match posted {
                Posted::Before => Delivery { id: None, told: 0 },
                Posted::Here(letter) => Delivery { id: Some(letter.id), told: self.tell(&letter).await },
                Posted::Everywhere(id, counting) => Delivery { id: Some(id), told: counting.told().await },
            });
        }
        Ok(deliveries)
    }

    /// Tells those of this node for whom a letter is; returns how many that were.
    async fn tell(&self, letter: &Letter) -> usize {
        let (mut told, seats) = (0, self.sockets.addressed(letter));
        // First of all, since each looks for itself whether it may stay.
        for seat in &seats {
            seat.tell();
        }
        for seat in seats {
            let stands = self.examine(&seat).await.is_ok() && seat.ended().is_none();
            told += usize::from(stands && seat.reader().gets(letter));
        }
        told
    }

    /// Brings what other nodes have taken to those who are connected to this one. Does not end.
    pub async fn carry_messages(&self) {
        let Some(mut round) = self.shared.mail.round() else { return };
        loop {
            // As of now: handing them out may have to wait for the database.
            let arrived = self.shared.mail.admit(round.next().await, self.clock.now());
            // Whoever ended a session and sent a message afterwards, on whatever nodes: the end is heard of first.
            if timeout(STALLED, self.store.caught_up()).await.is_err() {
                // Nobody waits for a node that cannot tell anyone anything.
                round.carry(false);
                self.store.caught_up().await;
                round.carry(true);
            }
            if arrived.has_gap() {
                tracing::warn!("messages could not be read for too long; whoever is connected reads anew");
                self.sockets.end_all(&End::TooSlow);
            }
            let mut told = Vec::new();
            for (letter, ask) in self.shared.mail.take_in(arrived, self.clock.now()) {
                told.push((ask, self.tell(&letter).await));
            }
            round.report(told).await;
        }
    }

    /// Has sockets look at the clock. Does not end.
    pub async fn watch_sockets(&self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for turn in 0_u64.. {
            ticks.tick().await;
            self.sockets.tick(self.clock.now(), turn, self.shared.mail.newest());
        }
    }
}
