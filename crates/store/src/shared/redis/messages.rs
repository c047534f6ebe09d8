//! The message log for several nodes: one Redis stream holds all messages in order, and every node reads it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use deskpass_core::{Digest, Message, MessageId, StreamProgress, Timestamp};
use redis::{Cmd, cmd};
use tokio::time::Instant;

use super::feed::{MessageFeed, SealedMessage, log_end};
use super::log_end::{LogEnd, millis};
use super::server::RedisBackend;
use crate::shared::messages::{
    DraftMessage, MESSAGE_RETENTION, PostOutcome, RejectedMessage, STREAM_IDLE_TIMEOUT, check_streams, stream_of,
};
use crate::{Result, StoreError};

/// Stores messages, provided that the streams have the expected progress. Messages are numbered, so that readers notice
/// a missing one (`n`), and have the id of the message before (`p`), so that readers notice another one in its place. The log
/// has an epoch (see the feed). Then notifies every node and trims by age, count and size; the messages stay stored when that
/// fails. Returns the epoch, the number of the last message and the ids, separated by spaces.
///
/// In a cluster, the client library sends a command again when the connection is lost, although it may have run. So the
/// answer is kept for a minute under a key of this post, and the second run only returns it.
const POST_SCRIPT: &str = "local stored = redis.call('GET', KEYS[3]) \
    if stored then return stored end \
    local streams = #KEYS - 3 \
    local first = 3 * streams + 4 \
    for i = 1, streams do \
        if (redis.call('GET', KEYS[i + 3]) or '') ~= ARGV[3 * i + 1] then return false end end \
    local ids, kept, count, time = {}, tonumber(ARGV[2]), #ARGV - first + 1, redis.call('TIME') \
    local now = time[1] * 1000 + math.floor(time[2] / 1000) \
    local log = redis.call('HMGET', KEYS[2], 'epoch', 'number', 'last') \
    if not log[1] then \
        log[1] = string.format('%.0f-%.0f-%s', log[2] and 0 or now, now, ARGV[3]) \
        redis.call('HSET', KEYS[2], 'epoch', log[1]) end \
    local number, last = redis.call('HINCRBY', KEYS[2], 'number', count) - count, log[3] or '0-0' \
    for i = 1, streams do redis.call('SET', KEYS[i + 3], ARGV[3 * i + 2], 'PX', ARGV[3 * i + 3]) end \
    for i = first, #ARGV do number = number + 1 \
        last = redis.call('XADD', KEYS[1], 'MAXLEN', '~', 100000, '*', 'n', number, 'p', last, 'm', ARGV[i]) \
        ids[#ids + 1] = last end \
    redis.call('HSET', KEYS[2], 'last', last) \
    stored = string.format('%s %.0f %s', log[1], number, table.concat(ids, ' ')) \
    redis.call('SET', KEYS[3], stored, 'PX', 60000) \
    redis.pcall('PUBLISH', ARGV[1], 'mail') \
    redis.pcall('PEXPIRE', KEYS[1], 2 * kept) \
    redis.pcall('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', now - kept)) \
    local used = redis.pcall('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 16) \
    if type(used) == 'number' and used > 67108864 then \
        redis.pcall('XTRIM', KEYS[1], 'MAXLEN', math.floor(redis.call('XLEN', KEYS[1]) / 2)) end \
    return stored";

/// The maximum number of attempts while others write to the same streams.
const MAX_POST_ATTEMPTS: usize = 16;
/// How long to wait for the delivery counts of other nodes.
const COUNT_TIMEOUT: Duration = Duration::from_secs(1);
/// How far the clock of Redis may run ahead of ours.
const MAX_CLOCK_LEAD: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct RedisMessageLog {
    server: Arc<RedisBackend>,
    log: String,
    next: AtomicU64,
}

impl RedisMessageLog {
    pub(crate) fn new(server: Arc<RedisBackend>) -> Self {
        // The braces keep all keys of a script on one server of a cluster.
        let log = format!("{}{{mail}}", server.prefix);
        Self { server, log, next: AtomicU64::new(0) }
    }

    pub(crate) fn feed(&self) -> MessageFeed {
        let feed = MessageFeed::new(Arc::clone(&self.server), self.log.clone());
        feed.set_delivering(true);
        feed
    }

    /// Returns the latest time, in milliseconds, that a message id can have, as far as is known.
    pub(crate) fn latest(&self) -> u64 {
        let known = *self.server.time.lock().unwrap_or_else(PoisonError::into_inner);
        known.map_or(u64::MAX, |(time, at)| time.saturating_add(millis(at.elapsed() + MAX_CLOCK_LEAD)))
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
        let first = self.next.fetch_add(u64::try_from(fresh).unwrap_or(u64::MAX), Ordering::Relaxed);
        let mut post = self.script(first, steps);
        let (mut counting, nodes) = (Vec::with_capacity(fresh), self.server.peers.alive());
        let before: Vec<_> = drafts.iter().map(Option::is_none).collect();
        for (number, draft) in (first..).zip(drafts.into_iter().flatten()) {
            post.arg(self.sealed(draft, number)?);
            counting.push(self.server.counts.begin(number, nodes.clone()));
        }
        let stored: Option<String> = self.server.connection.call().await?.ask(&post).await?;
        let Some(stored) = stored else { return Ok(None) };
        let ids = self.acknowledge(&stored);
        // One deadline for all, so that a sender of many messages does not wait for each.
        let late = Instant::now() + COUNT_TIMEOUT;
        let mut kept = ids.into_iter().zip(counting);
        let mut next = || kept.next().map(|(id, counting)| PostOutcome::AllNodes(id, counting.until(late)));
        let posted = before.into_iter().map(|before| if before { Some(PostOutcome::Duplicate) } else { next() });
        posted
            .collect::<Option<Vec<_>>>()
            .map(Some)
            .ok_or_else(|| StoreError::shared("Redis stored fewer messages than it was sent".to_owned()))
    }

    /// Reads the answer to a post: returns the ids, and remembers the end of the log for the feed.
    fn acknowledge(&self, stored: &str) -> Vec<MessageId> {
        let mut words = stored.split(' ');
        let (epoch, number) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let ids: Vec<MessageId> = words.filter_map(|id| id.parse().ok()).collect();
        if let (Ok(number), Some(last)) = (number.parse(), ids.last()) {
            let mut acknowledged = self.server.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
            acknowledged.push(LogEnd { epoch: epoch.to_owned(), number, last: *last });
        }
        ids
    }

    /// Creates the command that stores messages, without the messages. `first` is the number of the first one, which no
    /// other post of this node has.
    fn script(&self, first: u64, steps: &[(Digest, String, StreamProgress)]) -> Cmd {
        let node = &self.server.node;
        let mut post = cmd("EVAL");
        post.arg(POST_SCRIPT).arg(3 + steps.len()).arg(&self.log).arg(log_end(&self.log));
        post.arg(format!("{}:post:{node}.{first}", self.log));
        for (stream, ..) in steps {
            post.arg(self.key(stream));
        }
        post.arg(&self.server.channel).arg(millis(MESSAGE_RETENTION)).arg(node);
        for (_, was, next) in steps {
            let lasts = if next.done { MESSAGE_RETENTION } else { STREAM_IDLE_TIMEOUT };
            post.arg(was).arg(serde_json::to_string(next).unwrap_or_default()).arg(millis(lasts));
        }
        post
    }

    fn sealed(&self, draft: DraftMessage, number: u64) -> Result<Vec<u8>> {
        let DraftMessage { to, socket, frame, at, stream } = draft;
        let record = SealedMessage { to, socket, frame, at, stream, asks: (self.server.node.clone(), number) };
        self.server.sealed(&self.log, &record)
    }
}
