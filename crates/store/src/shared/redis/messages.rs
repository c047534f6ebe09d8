//! The message log for several nodes: one Redis stream holds all messages in order, and every node reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deskpass_core::{Digest, FrameDraft, Message, MessageId, Recipient, SocketKind, StreamProgress, Timestamp};
use redis::{Cmd, Value, cmd};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use super::bus;
use super::connection::RedisCall;
use super::server::RedisBackend;
use crate::shared::messages::{
    DeliveryQuery, DraftMessage, IncomingMessages, MESSAGE_RETENTION, PostOutcome, RejectedMessage,
    STREAM_IDLE_TIMEOUT, StoredMessage, check_streams, stream_of,
};
use crate::{Result, StoreError};

/// Stores messages, provided that the streams have the expected progress. Messages are numbered, so that readers notice
/// a missing one. Then notifies every node and trims by age, count and size; the messages stay stored when that fails.
const POST_SCRIPT: &str = "local streams, first = #KEYS - 2, 3 * #KEYS - 3 \
    for i = 1, streams do \
        if (redis.call('GET', KEYS[i + 2]) or '') ~= ARGV[3 * i] then return false end end \
    local ids, kept, time = {}, tonumber(ARGV[2]), redis.call('TIME') \
    local number = redis.call('HINCRBY', KEYS[2], 'number', #ARGV - first + 1) - (#ARGV - first + 1) \
    for i = 1, streams do redis.call('SET', KEYS[i + 2], ARGV[3 * i + 1], 'PX', ARGV[3 * i + 2]) end \
    for i = first, #ARGV do number = number + 1 \
        ids[#ids + 1] = redis.call('XADD', KEYS[1], 'MAXLEN', '~', 100000, '*', 'n', number, 'm', ARGV[i]) end \
    redis.call('HSET', KEYS[2], 'last', ids[#ids]) \
    redis.pcall('PUBLISH', ARGV[1], 'mail') \
    redis.pcall('PEXPIRE', KEYS[1], 2 * kept) \
    redis.pcall('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', time[1] * 1000 - kept)) \
    local used = redis.pcall('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 16) \
    if type(used) == 'number' and used > 67108864 then \
        redis.pcall('XTRIM', KEYS[1], 'MAXLEN', math.floor(redis.call('XLEN', KEYS[1]) / 2)) end \
    return ids";

/// The maximum number of attempts while others write to the same streams.
const MAX_POST_ATTEMPTS: usize = 16;
const READ_BATCH: usize = 500;
/// The interval between reads without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait for the delivery counts of other nodes.
const COUNT_TIMEOUT: Duration = Duration::from_secs(1);
/// A node that has not read for this long may have missed messages that are no longer kept.
const MAX_READ_GAP: Duration = MESSAGE_RETENTION.saturating_sub(Duration::from_secs(10));
/// How far the clock of Redis may run ahead of ours.
const MAX_CLOCK_LEAD: Duration = Duration::from_mins(1);
const RETRY_DELAY: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct RedisMessageLog {
    server: Arc<RedisBackend>,
    log: String,
    next: AtomicU64,
}

/// A message as it is stored in Redis, before sealing.
#[derive(Serialize, Deserialize)]
struct SealedMessage {
    to: Vec<Recipient>,
    socket: Option<SocketKind>,
    frame: FrameDraft,
    at: Timestamp,
    stream: Option<(Digest, bool)>,
    asks: DeliveryQuery,
}

/// The feed of messages into this node.
#[derive(Debug)]
pub struct MessageFeed {
    server: Arc<RedisBackend>,
    log: String,
    /// The position up to which it has read; `None` before the first read.
    read: Option<ReadPosition>,
}

#[derive(Clone, Copy, Debug)]
struct ReadPosition {
    /// The id at which reading started.
    since: MessageId,
    /// The last message, and its number if there is one.
    id: MessageId,
    number: Option<u64>,
    /// When it was read.
    at: Instant,
}

impl RedisMessageLog {
    pub(crate) fn new(server: Arc<RedisBackend>) -> Self {
        // The braces keep all keys of a script on one server of a cluster.
        let log = format!("{}{{mail}}", server.prefix);
        Self { server, log, next: AtomicU64::new(0) }
    }

    pub(crate) fn feed(&self) -> MessageFeed {
        let feed = MessageFeed { server: Arc::clone(&self.server), log: self.log.clone(), read: None };
        feed.set_delivering(true);
        feed
    }

    /// Returns the latest time, in milliseconds, that a message id can have, as far as is known.
    pub(crate) fn latest(&self) -> u64 {
        let since = |at: Instant| u64::try_from(at.elapsed().as_millis()).unwrap_or_default();
        let lead = u64::try_from(MAX_CLOCK_LEAD.as_millis()).unwrap_or_default();
        self.server.time.get().map_or(u64::MAX, |(time, at)| time + since(*at) + lead)
    }

    pub(crate) async fn post(
        &self,
        messages: Vec<Message>,
        now: Timestamp,
    ) -> Result<Result<Vec<PostOutcome>, RejectedMessage>> {
        for _ in 0..MAX_POST_ATTEMPTS {
            let known = self.streams(&messages).await?;
            let was = |stream: &Digest| known.iter().find(|(other, ..)| other == stream);
            let read = |stream: &Digest| was(stream).and_then(|(_, text)| serde_json::from_str(text).ok());
            let (drafts, progress) = match check_streams(&messages, now, read) {
                Ok(followed) => followed,
                Err(rejected) => return Ok(Err(rejected)),
            };
            let steps: Vec<_> = progress
                .into_iter()
                .map(|(stream, next)| (stream, was(&stream).map_or("", |(_, text)| text).to_owned(), next))
                .collect();
            if let Some(posted) = self.keep(drafts, &steps).await? {
                return Ok(Ok(posted));
            }
        }
        Err(StoreError::shared("too many concurrent writes to the same stream".to_owned()))
    }

    /// Reads the progress of the streams of these messages from Redis.
    async fn streams(&self, messages: &[Message]) -> Result<Vec<(Digest, String)>> {
        let mut streams: Vec<_> = messages.iter().filter_map(stream_of).map(|(stream, _)| stream).collect();
        streams.dedup();
        if streams.is_empty() {
            return Ok(Vec::new());
        }
        let mut get = cmd("MGET");
        get.arg(streams.iter().map(|stream| self.key(stream)).collect::<Vec<_>>());
        let texts: Vec<Option<String>> = self.server.connection.call().await?.ask(&get).await?;
        Ok(streams.into_iter().zip(texts.into_iter().map(Option::unwrap_or_default)).collect())
    }

    fn key(&self, stream: &Digest) -> String {
        format!("{}:stream:{}", self.log, stream.to_text())
    }

    /// Stores messages. Returns `None` when a stream has advanced meanwhile.
    async fn keep(
        &self,
        drafts: Vec<Option<DraftMessage>>,
        steps: &[(Digest, String, StreamProgress)],
    ) -> Result<Option<Vec<PostOutcome>>> {
        let fresh = drafts.iter().flatten().count();
        if fresh == 0 {
            return Ok(Some(drafts.iter().map(|_| PostOutcome::Duplicate).collect()));
        }
        let mut post = self.script(steps);
        let (mut counting, nodes) = (Vec::with_capacity(fresh), self.server.peers.alive());
        let before: Vec<_> = drafts.iter().map(Option::is_none).collect();
        for draft in drafts.into_iter().flatten() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            post.arg(self.sealed(draft, number)?);
            counting.push(self.server.counts.begin(number, nodes.clone()));
        }
        let ids: Option<Vec<String>> = self.server.connection.call().await?.ask(&post).await?;
        let Some(ids) = ids else { return Ok(None) };
        // One deadline for all, so that a sender of many messages does not wait for each.
        let late = Instant::now() + COUNT_TIMEOUT;
        let mut kept = ids.iter().filter_map(|id| id.parse().ok()).zip(counting);
        let mut next = || kept.next().map(|(id, counting)| PostOutcome::AllNodes(id, counting.until(late)));
        let posted = before.into_iter().map(|before| if before { Some(PostOutcome::Duplicate) } else { next() });
        posted
            .collect::<Option<Vec<_>>>()
            .map(Some)
            .ok_or_else(|| StoreError::shared("Redis stored fewer messages than it was sent".to_owned()))
    }

    fn script(&self, steps: &[(Digest, String, StreamProgress)]) -> Cmd {
        let mut post = cmd("EVAL");
        post.arg(POST_SCRIPT).arg(2 + steps.len()).arg(&self.log).arg(end(&self.log));
        for (stream, ..) in steps {
            post.arg(self.key(stream));
        }
        post.arg(&self.server.channel).arg(u64::try_from(MESSAGE_RETENTION.as_millis()).unwrap_or_default());
        for (_, was, next) in steps {
            let lasts = if next.done { MESSAGE_RETENTION } else { STREAM_IDLE_TIMEOUT };
            post.arg(was)
                .arg(serde_json::to_string(next).unwrap_or_default())
                .arg(u64::try_from(lasts.as_millis()).unwrap_or_default());
        }
        post
    }

    fn sealed(&self, draft: DraftMessage, number: u64) -> Result<Vec<u8>> {
        let DraftMessage { to, socket, frame, at, stream } = draft;
        let record = SealedMessage { to, socket, frame, at, stream, asks: (self.server.node.clone(), number) };
        self.server.sealed(&self.log, &record)
    }
}

impl MessageFeed {
    /// Waits for messages that this node has not read. Retries after a failure.
    pub async fn next(&mut self) -> IncomingMessages {
        loop {
            let first = self.read.is_none();
            match self.read().await {
                Ok(arrived) if first || arrived.gap || !arrived.messages.is_empty() => return arrived,
                Ok(_) => drop(timeout(POLL_INTERVAL, self.server.new_messages.notified()).await),
                Err(error) => {
                    tracing::debug!(%error, "cannot read messages");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn read(&mut self) -> Result<IncomingMessages> {
        let call = self.server.connection.call().await?;
        let now = Instant::now();
        let mut read = if let Some(read) = self.read {
            read
        } else {
            let oldest = self.oldest(&call).await?;
            ReadPosition { since: oldest, id: oldest, number: None, at: now }
        };
        let mut range = cmd("XRANGE");
        range.arg(&self.log).arg(read.id.next(0).to_string()).arg("+").arg("COUNT").arg(READ_BATCH);
        let found: Vec<(String, Vec<Value>)> = call.ask(&range).await?;
        let whole_since = (found.len() < READ_BATCH).then_some(read.since);
        let mut arrived =
            IncomingMessages { messages: Vec::new(), whole_since, gap: now.duration_since(read.at) > MAX_READ_GAP };
        read.at = now;
        for (id, fields) in found {
            let (Ok(id), number) = (id.parse(), number(&fields)) else { continue };
            arrived.gap |= read.number.is_some_and(|last| Some(last + 1) != number);
            (read.id, read.number) = (id, number);
            if let Some(record) = self.opened(&fields) {
                let SealedMessage { to, socket, frame, at, stream, asks } = record;
                arrived.messages.push((StoredMessage::new(id, DraftMessage { to, socket, frame, at, stream }), asks));
            }
        }
        self.read = Some(read);
        Ok(arrived)
    }

    /// Returns the id after which everything is kept, by the clock that assigns ids. When the log is empty, that is the
    /// last id, which is the same for every node.
    async fn oldest(&self, call: &RedisCall<'_>) -> Result<MessageId> {
        let (seconds, _): (u64, u64) = call.ask(&cmd("TIME")).await?;
        let _ = self.server.time.set((seconds * 1_000, Instant::now()));
        let kept: u64 = call.ask(cmd("XLEN").arg(&self.log)).await?;
        if kept > 0 {
            return Ok(MessageId { at: seconds.saturating_sub(MESSAGE_RETENTION.as_secs()) * 1_000, step: 0 });
        }
        let last: Option<String> = call.ask(cmd("HGET").arg(end(&self.log)).arg("last")).await?;
        Ok(last.and_then(|last| last.parse().ok()).unwrap_or_default())
    }

    /// Sets whether other nodes wait for the delivery counts of this node.
    pub fn set_delivering(&self, delivers: bool) {
        self.server.delivers.store(delivers, Ordering::Relaxed);
        self.server.introduce.notify_one();
    }

    /// Opens a sealed message. Messages that are not ours, or that this version cannot read, are skipped.
    fn opened(&self, fields: &[Value]) -> Option<SealedMessage> {
        let [.., Value::BulkString(sealed)] = fields else { return None };
        let text = self.server.seal.open(&self.log, sealed)?;
        serde_json::from_slice(&text).ok()
    }

    /// Sends the delivery counts to the nodes that requested them.
    pub async fn report(&self, deliveries: Vec<(DeliveryQuery, usize)>) {
        let mut by_node: Vec<(String, Vec<(u64, usize)>)> = Vec::new();
        for ((node, number), count) in deliveries {
            if node == self.server.node {
                self.server.counts.report(&self.server.node, number, count);
                continue;
            }
            match by_node.iter_mut().find(|(other, _)| *other == node) {
                Some((_, counts)) => counts.push((number, count)),
                None => by_node.push((node, vec![(number, count)])),
            }
        }
        for (node, counts) in by_node {
            // The requesting node has a timeout, so a failure is ignored.
            self.server.publish(&bus::counts_message(&node, &self.server.node, &counts)).await;
        }
    }
}

fn number(fields: &[Value]) -> Option<u64> {
    let [_, Value::BulkString(number), ..] = fields else { return None };
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Returns the key that holds the last number and the last id permanently.
fn end(log: &str) -> String {
    format!("{log}:end")
}
