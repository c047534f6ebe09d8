//! Messages to those who are connected, where several nodes have connections: one stream in Redis has them all in order, and
//! every node reads it.

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
use crate::{StoreError, StoreErrorKind};

/// Keeps messages, provided that streams are as far as was read before. They are numbered, so that whoever reads notices one
/// that is not there any more. Then tells every node that there is something to read, and trims by age, by number and by size:
/// should that fail, the messages are kept all the same.
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

/// How often a post is tried while others write to the same streams.
const MAX_POST_ATTEMPTS: usize = 16;
/// Letters that are read at once.
const READ_BATCH: usize = 500;
/// How often to look when nobody says that there is something.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long to wait for nodes to say how many they told.
const COUNT_TIMEOUT: Duration = Duration::from_secs(1);
/// Whoever has read nothing for so long may have missed what is not kept any more.
const MAX_READ_GAP: Duration = MESSAGE_RETENTION.saturating_sub(Duration::from_secs(10));
/// How far the clock of Redis may get ahead of ours.
const MAX_CLOCK_LEAD: Duration = Duration::from_mins(1);
/// How long to wait after a failure.
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// The way of messages over Redis.
#[derive(Debug)]
pub(crate) struct RedisMessageLog {
    server: Arc<RedisBackend>,
    log: String,
    next: AtomicU64,
}

/// What stands in Redis, sealed.
#[derive(Serialize, Deserialize)]
struct SealedMessage {
    to: Vec<Recipient>,
    socket: Option<SocketKind>,
    frame: FrameDraft,
    at: Timestamp,
    stream: Option<(Digest, bool)>,
    asks: DeliveryQuery,
}

/// Letters on their way into this node.
#[derive(Debug)]
pub struct MessageFeed {
    server: Arc<RedisBackend>,
    log: String,
    /// How far it has read; `None` before it began.
    read: Option<ReadPosition>,
}

/// How far somebody has read.
#[derive(Clone, Copy, Debug)]
struct ReadPosition {
    /// Where it began.
    since: MessageId,
    /// The last one, and its number, if there was one.
    id: MessageId,
    number: Option<u64>,
    /// When.
    at: Instant,
}

impl RedisMessageLog {
    pub(crate) fn new(server: Arc<RedisBackend>) -> Self {
        // The braces keep everything that one script touches on one server of a cluster.
        let log = format!("{}{{mail}}", server.prefix);
        Self { server, log, next: AtomicU64::new(0) }
    }

    pub(crate) fn feed(&self) -> MessageFeed {
        self.server.delivers.store(true, Ordering::Relaxed);
        MessageFeed { server: Arc::clone(&self.server), log: self.log.clone(), read: None }
    }

    /// No place later than this is taken yet, as far as is known.
    pub(crate) fn latest(&self) -> u64 {
        let since = |at: Instant| u64::try_from(at.elapsed().as_millis()).unwrap_or_default();
        let slack = u64::try_from(MAX_CLOCK_LEAD.as_millis()).unwrap_or_default();
        self.server.time.get().map_or(u64::MAX, |(time, at)| time + since(*at) + slack)
    }

    pub(crate) async fn post(
        &self,
        messages: Vec<Message>,
        now: Timestamp,
    ) -> Result<Result<Vec<PostOutcome>, RejectedMessage>, StoreError> {
        for _ in 0..MAX_POST_ATTEMPTS {
            let known = self.streams(&messages).await?;
            let was = |stream: &Digest| known.iter().find(|(other, ..)| other == stream);
            let read = |stream: &Digest| was(stream).and_then(|(_, text)| serde_json::from_str(text).ok());
            let (drafts, progress) = match check_streams(&messages, now, read) {
                Ok(followed) => followed,
                Err(unfit) => return Ok(Err(unfit)),
            };
            let steps: Vec<_> = progress
                .into_iter()
                .map(|(stream, next)| (stream, was(&stream).map_or("", |(_, text)| text).to_owned(), next))
                .collect();
            if let Some(posted) = self.keep(drafts, &steps).await? {
                return Ok(Ok(posted));
            }
        }
        Err(StoreError::shared("too many write to the same stream".to_owned()))
    }

    /// How far the streams of these messages are, as Redis has it.
    async fn streams(&self, messages: &[Message]) -> Result<Vec<(Digest, String)>, StoreError> {
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

    /// Keeps messages; `None` when a stream has gone on meanwhile.
    async fn keep(
        &self,
        drafts: Vec<Option<DraftMessage>>,
        steps: &[(Digest, String, StreamProgress)],
    ) -> Result<Option<Vec<PostOutcome>>, StoreError> {
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
        // One time for all of them: whoever sends many must not wait for each.
        let late = Instant::now() + COUNT_TIMEOUT;
        let mut kept = ids.iter().filter_map(|id| id.parse().ok()).zip(counting);
        let mut next = || kept.next().map(|(id, counting)| PostOutcome::AllNodes(id, counting.until(late)));
        let posted = before.into_iter().map(|before| if before { Some(PostOutcome::Duplicate) } else { next() });
        posted
            .collect::<Option<Vec<_>>>()
            .map(Some)
            .ok_or_else(|| StoreError::shared("Redis kept less than it got".to_owned()))
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

    fn sealed(&self, draft: DraftMessage, number: u64) -> Result<Vec<u8>, StoreError> {
        let DraftMessage { to, socket, frame, at, stream } = draft;
        let record = SealedMessage { to, socket, frame, at, stream, asks: (self.server.node.clone(), number) };
        let text =
            serde_json::to_vec(&record).map_err(|error| StoreError::new(StoreErrorKind::Damaged, error.to_string()))?;
        self.server.seal.close(&self.log, &text).map_err(|error| StoreError::shared(error.to_string()))
    }
}

impl MessageFeed {
    /// Waits for messages that this node has not read. What cannot be read now is read later.
    pub async fn next(&mut self) -> IncomingMessages {
        loop {
            let first = self.read.is_none();
            match self.read().await {
                Ok(arrived) if first || arrived.gap || !arrived.messages.is_empty() => return arrived,
                Ok(_) => drop(timeout(POLL_INTERVAL, self.server.new_messages.notified()).await),
                Err(error) => {
                    tracing::debug!(%error, "messages cannot be read");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn read(&mut self) -> Result<IncomingMessages, StoreError> {
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

    /// The place after which everything is kept, by the clock that places are given by. On a quiet desk that is the last one of
    /// all, which every node finds alike.
    async fn oldest(&self, call: &RedisCall<'_>) -> Result<MessageId, StoreError> {
        let (seconds, _): (u64, u64) = call.ask(&cmd("TIME")).await?;
        let _ = self.server.time.set((seconds * 1_000, Instant::now()));
        let kept: u64 = call.ask(cmd("XLEN").arg(&self.log)).await?;
        if kept > 0 {
            return Ok(MessageId { at: seconds.saturating_sub(MESSAGE_RETENTION.as_secs()) * 1_000, step: 0 });
        }
        let last: Option<String> = call.ask(cmd("HGET").arg(end(&self.log)).arg("last")).await?;
        Ok(last.and_then(|last| last.parse().ok()).unwrap_or_default())
    }

    /// Whether others may count on this node.
    pub fn set_delivering(&self, delivers: bool) {
        self.server.delivers.store(delivers, Ordering::Relaxed);
    }

    /// What is not ours, or cannot be read by this version, is passed over.
    fn opened(&self, fields: &[Value]) -> Option<SealedMessage> {
        let [.., Value::BulkString(sealed)] = fields else { return None };
        let text = self.server.seal.open(&self.log, sealed)?;
        serde_json::from_slice(&text).ok()
    }

    /// Tells those who asked how many were told of each of their messages.
    pub async fn report(&self, told: Vec<(DeliveryQuery, usize)>) {
        let mut by_node: Vec<(String, Vec<(u64, usize)>)> = Vec::new();
        for ((node, number), count) in told {
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
            let mut publish = cmd("PUBLISH");
            publish.arg(&self.server.channel).arg(bus::counts_message(&node, &self.server.node, &counts));
            if let Ok(call) = self.server.connection.call().await {
                // Whoever asks does not wait for ever.
                let _ = call.ask::<()>(&publish).await;
            }
        }
    }
}

/// The number of an entry.
fn number(fields: &[Value]) -> Option<u64> {
    let [_, Value::BulkString(number), ..] = fields else { return None };
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Where the last number and the last place are kept, for as long as there is a desk.
fn end(log: &str) -> String {
    format!("{log}:end")
}
