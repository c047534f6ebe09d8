//! Messages to those who are connected, in one order for all. What was sent lately is kept for a while, so that whoever lost
//! the line can go on where they were.

mod buffer;
mod delivery_count;
mod message;
mod replays;
mod streams;

use std::fmt;
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
use crate::StoreError;

/// How long somebody waits for a node that has just begun.
const LOAD_TIMEOUT: Duration = Duration::from_secs(1);

/// The first place at a moment.
fn first_id_at(now: Timestamp) -> MessageId {
    MessageId { at: u64::try_from(now.millis()).unwrap_or_default(), step: 0 }
}

/// Letters of other nodes that this node reads for the first time, and that were sent lately.
#[derive(Debug)]
pub struct FreshMessages(IncomingMessages);

impl FreshMessages {
    /// Whether nothing could be read for so long that some may be gone.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.0.gap
    }
}

/// Takes messages and keeps them in order.
pub struct MessageLog {
    buffer: Mutex<MessageBuffer>,
    /// Whether what was sent before this node began has been read.
    begun: watch::Sender<bool>,
    /// What was taken in from other nodes.
    replays: Mutex<ReplayGuard>,
    /// How many messages were found in Redis that are not fresh.
    dropped: AtomicU64,
    nodes: Option<RedisMessageLog>,
}

impl MessageLog {
    pub(super) fn new(server: Option<&Arc<RedisBackend>>) -> Self {
        let nodes = server.map(|server| RedisMessageLog::new(Arc::clone(server)));
        let (replays, dropped) = (Mutex::default(), AtomicU64::new(0));
        Self { buffer: Mutex::new(MessageBuffer::new()), begun: watch::Sender::default(), replays, dropped, nodes }
    }

    /// Takes messages, all or none of them.
    ///
    /// # Errors
    /// When what nodes share does not answer.
    pub async fn post(
        &self,
        messages: Vec<Message>,
        now: Timestamp,
    ) -> Result<Result<Vec<PostOutcome>, RejectedMessage>, StoreError> {
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
                let id = buffer.newest().next(first_id_at(now).at);
                PostOutcome::Local(buffer.append(StoredMessage::new(id, draft)))
            })
        });
        let posted = posted.collect();
        buffer.evict(now);
        Ok(posted)
    }

    /// The way in of what other nodes take, where there may be others.
    pub fn feed(&self) -> Option<MessageFeed> {
        self.nodes.as_ref().map(RedisMessageLog::feed)
    }

    /// Puts messages that came from other nodes into their places.
    pub fn ingest(
        &self,
        FreshMessages(arrived): FreshMessages,
        now: Timestamp,
    ) -> Vec<(Arc<StoredMessage>, DeliveryQuery)> {
        let mut buffer = self.buffer();
        if arrived.gap {
            let known = arrived.messages.first().map_or(buffer.newest(), |(message, _)| message.id.before());
            buffer.mark_gap(known);
        }
        let fresh: Vec<_> = arrived.messages.into_iter().filter(|(message, _)| message.id > buffer.newest()).collect();
        // From when it is here: clocks of other nodes may be wrong.
        let taken = fresh
            .into_iter()
            .map(|(message, ask)| (buffer.append(StoredMessage { at: now, ..message }), ask))
            .collect();
        if let Some(since) = arrived.whole_since {
            buffer.begin(since);
            self.begun.send_replace(true);
        }
        buffer.evict(now);
        taken
    }

    /// Admits what was read just now. What was read before, or was not sent lately, was put into Redis again: it is dropped and
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
        // Whoever writes to Redis must not fill the log: one line when it begins, and one for every thousand.
        if dropped > 0 && (before == 0 || before / 1_000 != (before + dropped) / 1_000) {
            tracing::warn!(
                replayed,
                out_of_time,
                "messages in Redis were dropped: delivered before, or sent more than 3 minutes ago or in the future; \
                 check the clocks of all nodes, and who can write to Redis"
            );
        }
        FreshMessages(arrived)
    }

    /// How many messages were found in Redis and dropped since this node began, because they had been taken in before or were
    /// not sent lately.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits a while until this node has read what was sent before it began, without which nobody can be told where they are.
    ///
    /// # Errors
    /// When it has not.
    pub async fn wait_until_loaded(&self) -> Result<(), StoreError> {
        if self.nodes.is_none() {
            return Ok(());
        }
        match timeout(LOAD_TIMEOUT, self.begun.subscribe().wait_for(|begun| *begun)).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(StoreError::shared("messages have not been read yet".to_owned())),
        }
    }

    /// Where somebody begins who has seen everything up to `last`, or nothing.
    #[must_use]
    pub fn start_position(&self, reader: &Subscriber, last: Option<MessageId>, now: Timestamp) -> StartPosition {
        let (mut buffer, place) = (self.buffer(), first_id_at(now));
        let latest = self.nodes.as_ref().map_or(place.at, RedisMessageLog::latest).max(buffer.newest().at);
        if self.nodes.is_none() {
            buffer.begin(place.before());
        }
        buffer.evict(now);
        buffer.start_position(reader, last.filter(|last| last.at <= latest))
    }

    /// The next message after `seen` for this reader; where there is none, `seen` is moved up to the newest.
    #[must_use]
    pub fn next_after(&self, seen: &mut MessageId, reader: &Subscriber) -> Option<Arc<StoredMessage>> {
        self.buffer().next_after(seen, reader)
    }

    /// Whether this reader has not seen more messages than so many.
    #[must_use]
    pub fn is_lagging(&self, seen: MessageId, reader: &Subscriber, most: usize) -> bool {
        self.buffer().is_lagging(seen, reader, most)
    }

    /// Whether a message that was kept is not any more.
    #[must_use]
    pub fn is_evicted(&self, id: MessageId) -> bool {
        self.buffer().is_evicted(id)
    }

    /// The newest place that is taken.
    #[must_use]
    pub fn newest(&self) -> MessageId {
        self.buffer().newest()
    }

    fn buffer(&self) -> MutexGuard<'_, MessageBuffer> {
        // Nothing that is done under the lock leaves it half done.
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MessageLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MessageLog(up to {})", self.newest())
    }
}
