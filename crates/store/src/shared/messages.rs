//! Messages to connected clients, in one total order. Recent ones are kept, so that a client can reconnect and resume.

mod buffer;
mod delivery_count;
mod message;
mod replays;
mod streams;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{Message, MessageId, Timestamp};
use tokio::sync::watch;
use tokio::time::timeout;

use self::buffer::MessageBuffer;
pub use self::buffer::{StartPosition, Subscriber};
pub use self::delivery_count::DeliveryCount;
pub(super) use self::delivery_count::DeliveryCounts;
pub use self::message::{DeliveryQuery, IncomingMessages, PostOutcome, StoredMessage};
pub(super) use self::message::{DraftMessage, MESSAGE_RETENTION, STREAM_IDLE_TIMEOUT};
use self::replays::{FreshnessError, ReplayGuard};
pub use self::streams::RejectedMessage;
pub(super) use self::streams::{check_streams, stream_of};
use super::redis::{MessageFeed, RedisBackend, RedisMessageLog};
use crate::{Result, StoreError};

/// How long a caller waits for a node that has just started.
const LOAD_TIMEOUT: Duration = Duration::from_secs(1);

fn first_id_at(now: Timestamp) -> MessageId {
    MessageId { at: u64::try_from(now.millis()).unwrap_or_default(), step: 0 }
}

/// Recent messages of other nodes that this node reads for the first time.
#[derive(Debug)]
pub struct FreshMessages(IncomingMessages);

impl FreshMessages {
    /// Returns whether messages are lost, or may be.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.0.gap.is_some()
    }
}

/// Accepts messages and keeps them in order.
pub struct MessageLog {
    buffer: Mutex<MessageBuffer>,
    /// Whether the messages from before this node's start have been read.
    begun: watch::Sender<bool>,
    /// The messages accepted from other nodes.
    replays: Mutex<ReplayGuard>,
    /// The number of messages in Redis that were dropped as not fresh.
    dropped: AtomicU64,
    nodes: Option<RedisMessageLog>,
}

impl MessageLog {
    pub(super) fn new(server: Option<&Arc<RedisBackend>>) -> Self {
        let nodes = server.map(|server| RedisMessageLog::new(Arc::clone(server)));
        let (buffer, replays, dropped) = (Mutex::default(), Mutex::default(), AtomicU64::new(0));
        Self { buffer, begun: watch::Sender::default(), replays, dropped, nodes }
    }

    /// Posts messages, all or none of them.
    pub async fn post(
        &self,
        messages: Vec<Message>,
        now: Timestamp,
    ) -> Result<Result<Vec<PostOutcome>, RejectedMessage>> {
        match &self.nodes {
            Some(nodes) => nodes.post(messages, now).await,
            None => Ok(self.post_locally(&messages, now)),
        }
    }

    fn post_locally(&self, messages: &[Message], now: Timestamp) -> Result<Vec<PostOutcome>, RejectedMessage> {
        let mut buffer = self.buffer();
        buffer.begin(first_id_at(now).before());
        let (drafts, progress) = check_streams(messages, now, |stream| buffer.progress(stream, now))?;
        for (stream, progress) in progress {
            buffer.keep_progress(stream, progress, now);
        }
        let posted = drafts.into_iter().map(|draft| {
            draft.map_or(PostOutcome::Duplicate, |draft| {
                let id = buffer.newest.next(first_id_at(now).at);
                PostOutcome::Local(buffer.append(StoredMessage::new(id, draft)))
            })
        });
        let posted = posted.collect();
        buffer.evict(now);
        Ok(posted)
    }

    /// Returns the feed of messages that other nodes accept, where there may be others.
    pub fn feed(&self) -> Option<MessageFeed> {
        self.nodes.as_ref().map(RedisMessageLog::feed)
    }

    /// Adds messages from other nodes to the buffer.
    pub fn ingest(
        &self,
        FreshMessages(arrived): FreshMessages,
        now: Timestamp,
    ) -> Vec<(Arc<StoredMessage>, DeliveryQuery)> {
        let mut buffer = self.buffer();
        let fresh: Vec<_> = arrived.messages.into_iter().filter(|(message, _)| message.id > buffer.newest).collect();
        // Dated by their arrival here, because the clocks of other nodes may be wrong.
        let taken = fresh
            .into_iter()
            .map(|(message, ask)| (buffer.append(StoredMessage { at: now, ..message }), ask))
            .collect();
        // After the messages, some of which may precede the gap.
        if let Some(place) = arrived.gap {
            buffer.mark_gap(place);
        }
        if let Some(since) = arrived.whole_since {
            buffer.begin(since);
            self.begun.send_replace(true);
        }
        buffer.evict(now);
        taken
    }

    /// Admits fresh messages. One that was read before, or was not sent recently, is a replay: it is dropped and
    /// counted.
    pub fn filter_fresh(&self, mut arrived: IncomingMessages, now: Timestamp) -> FreshMessages {
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut replayed, mut out_of_time) = (0_u64, 0_u64);
        arrived.messages.retain(|(message, ask)| match replays.admit(ask, message.at, now) {
            Ok(()) => true,
            Err(FreshnessError::Replayed) => {
                replayed += 1;
                false
            }
            Err(FreshnessError::OutOfTime) => {
                out_of_time += 1;
                false
            }
        });
        let dropped = replayed + out_of_time;
        let before = self.dropped.fetch_add(dropped, Ordering::Relaxed);
        // An attacker who writes to Redis must not flood the log: one line at first, then one per thousand messages.
        if dropped > 0 && (before == 0 || before / 1_000 != (before + dropped) / 1_000) {
            tracing::warn!(
                replayed,
                out_of_time,
                "dropped messages from Redis: delivered before, or sent more than 3 minutes ago or in the future; \
                 check the clocks of all nodes, and who can write to Redis"
            );
        }
        FreshMessages(arrived)
    }

    /// Returns how many messages in Redis this node has dropped since its start, as not fresh.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits, for a limited time, for the messages from before this node's start: no client's position is known
    /// without.
    pub async fn wait_until_loaded(&self) -> Result<()> {
        if self.nodes.is_none() {
            return Ok(());
        }
        match timeout(LOAD_TIMEOUT, self.begun.subscribe().wait_for(|begun| *begun)).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(StoreError::shared("messages have not been read yet".to_owned())),
        }
    }

    /// Returns the start position of a client that has seen everything up to `last`, or nothing.
    #[must_use]
    pub fn start_position(&self, reader: &Subscriber, last: Option<MessageId>, now: Timestamp) -> StartPosition {
        let (mut buffer, place) = (self.buffer(), first_id_at(now));
        let latest = self.nodes.as_ref().map_or(place.at, RedisMessageLog::latest).max(buffer.newest.at);
        if self.nodes.is_none() {
            buffer.begin(place.before());
        }
        buffer.evict(now);
        buffer.start_position(reader, last.filter(|last| last.at <= latest))
    }

    /// Returns the next message after `seen` for this reader. When there is none, moves `seen` to the newest message.
    #[must_use]
    pub fn next_after(&self, seen: &mut MessageId, reader: &Subscriber) -> Option<Arc<StoredMessage>> {
        self.buffer().next_after(seen, reader)
    }

    /// Returns whether this reader has more than `at_most` unseen messages.
    #[must_use]
    pub fn is_lagging(&self, seen: MessageId, reader: &Subscriber, at_most: usize) -> bool {
        self.buffer().is_lagging(seen, reader, at_most)
    }

    /// Returns whether a message was evicted.
    #[must_use]
    pub fn is_evicted(&self, id: MessageId) -> bool {
        self.buffer().is_evicted(id)
    }

    /// Returns the newest message id.
    #[must_use]
    pub fn newest(&self) -> MessageId {
        self.buffer().newest
    }

    fn buffer(&self) -> MutexGuard<'_, MessageBuffer> {
        // No operation under the lock leaves partial changes.
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

debug_only!(MessageLog);
