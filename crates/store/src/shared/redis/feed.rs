//! The reader of the message log: one per node, which reads every message that any node has stored.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use deskpass_core::{Digest, FrameDraft, MessageId, Recipient, SocketKind, Timestamp};
use redis::{Value, cmd};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use super::bus;
use super::connection::script;
use super::log_end::LogEnd;
use super::server::RedisBackend;
use crate::Result;
use crate::shared::messages::{DeliveryQuery, DraftMessage, IncomingMessages, MESSAGE_RETENTION, StoredMessage};

/// Reads messages, together with the end of the log at the same moment: the epoch, the last number and the last id.
/// Writes only to give the log an epoch if it has none, so that messages can be read while Redis is full. The first part
/// of an epoch is the time at which the log began, or 0 if it is older: nodes of version 0.1.0 neither write nor read
/// epochs. Arguments: the id to read from or nothing, the age of the oldest message without it, the maximum number of
/// messages, this node.
const READ_SCRIPT: &str = "local time = redis.call('TIME') \
    local now = time[1] * 1000 + math.floor(time[2] / 1000) \
    local log = redis.call('HMGET', KEYS[2], 'epoch', 'number', 'last') \
    if not log[1] then \
        log[1] = string.format('%.0f-%.0f-%s', log[2] and 0 or now, now, ARGV[4]) \
        redis.call('HSET', KEYS[2], 'epoch', log[1]) end \
    local from = ARGV[1] \
    if from == '' then from = string.format('%.0f', math.max(now - ARGV[2], 0)) end \
    return {log[1], log[2], log[3], now, redis.call('XLEN', KEYS[1]), \
        redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', ARGV[3])}";

/// Gives the log another epoch, because it lacks messages: nodes that had not read them cannot notice it otherwise, and nodes
/// that start later must not promise to know what was there before. Returns the epoch, which another node may have changed
/// first. Arguments: the epoch that lacks messages, the earliest time of the new one, this node.
const RENAME_SCRIPT: &str = "local epoch = redis.call('HGET', KEYS[1], 'epoch') \
    if epoch ~= ARGV[1] then return epoch end \
    local time = redis.call('TIME') \
    local now = math.max(time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[2])) \
    epoch = string.format('%.0f-%.0f-%s', now, now, ARGV[3]) \
    redis.call('HSET', KEYS[1], 'epoch', epoch) \
    return epoch";

const READ_BATCH: usize = 500;
/// The interval between reads without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A node that has not read for this long may find messages that are too old to be delivered.
const MAX_READ_GAP: Duration = MESSAGE_RETENTION.saturating_sub(Duration::from_secs(10));
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// A message as it is stored in Redis, before sealing.
#[derive(Serialize, Deserialize)]
pub(super) struct SealedMessage {
    pub(super) to: Vec<Recipient>,
    pub(super) socket: Option<SocketKind>,
    pub(super) frame: FrameDraft,
    pub(super) at: Timestamp,
    pub(super) stream: Option<(Digest, bool)>,
    pub(super) asks: DeliveryQuery,
}

/// The feed of messages into this node.
#[derive(Debug)]
pub struct MessageFeed {
    server: Arc<RedisBackend>,
    log: String,
    /// The position up to which it has read; `None` before the first read.
    read: Option<ReadPosition>,
    /// The ends of posts of this node that are still to be compared with what it reads.
    acknowledged: Vec<LogEnd>,
}

#[derive(Clone, Debug)]
struct ReadPosition {
    /// The id at which reading started.
    since: MessageId,
    /// The id up to which everything was read.
    id: MessageId,
    /// The end that the log must have if nothing comes after that. Redis may lose messages, or all of its memory, and
    /// take new ones: only the epoch, the number and the id together tell that this is still the same log.
    end: LogEnd,
    /// The time of Redis, in milliseconds, when everything was read.
    at: u64,
}

/// What one read returns.
#[derive(Debug)]
struct LogPage {
    end: LogEnd,
    /// The time of Redis, in milliseconds.
    now: u64,
    /// The number of messages in the log.
    kept: u64,
    /// The messages that were asked for.
    rows: LogRows,
}

/// Messages as Redis returns them: the id, and the names and values of the fields.
type LogRows = Vec<(String, Vec<Value>)>;

impl LogPage {
    /// Returns whether the log lacks one of these messages, which it has acknowledged. They are from before this read. Those of
    /// another epoch do not count: its end was noticed.
    fn lacks(&self, acknowledged: &[LogEnd]) -> bool {
        if acknowledged.is_empty() {
            return false;
        }
        let numbered =
            self.rows.iter().filter_map(|(id, fields)| Some((number(fields)?, id.parse::<MessageId>().ok()?)));
        let ids: HashMap<u64, MessageId> = numbered.chain([(self.end.number, self.end.last)]).collect();
        let is_lost = |sent: &LogEnd| {
            sent.number > self.end.number || ids.get(&sent.number).is_some_and(|there| *there != sent.last)
        };
        acknowledged.iter().filter(|sent| sent.epoch == self.end.epoch).any(is_lost)
    }
}

impl ReadPosition {
    /// Returns the position before the first read. When the log is empty, that is its last id, which is the same for
    /// every node. What was there before the log began is unknown.
    fn first(page: &LogPage) -> Self {
        let end = page.end.clone();
        let oldest = MessageId { at: page.now.saturating_sub(millis(MESSAGE_RETENTION)), step: 0 };
        let kept_since = if page.kept == 0 { end.last } else { oldest };
        let since = kept_since.max(end.began());
        let first = page.rows.first().map(|(_, fields)| number(fields).unwrap_or_default().saturating_sub(1));
        let number = first.unwrap_or(end.number);
        Self { since, id: since.max(end.last), end: LogEnd { number, ..end }, at: page.now }
    }

    /// Moves to the next message. Returns whether none is missing before it.
    fn advance(&mut self, id: MessageId, number: Option<u64>) -> bool {
        let is_next = number == Some(self.end.number.saturating_add(1));
        (self.id, self.end.last) = (id, id);
        self.end.number = number.unwrap_or(self.end.number);
        is_next
    }

    /// Moves to the end of a log that did not continue from here, and returns the new position. It is after every id that
    /// a client can have from the log before, so that no client resumes as if it had missed nothing. A message that gets
    /// an earlier id later, by a clock that is behind, is not read; it changes the end of the log and is noticed as well.
    fn skip_to(&mut self, page: &LogPage) -> MessageId {
        let now = MessageId { at: page.now, step: 0 }.before();
        let read = if self.id == page.end.last { self.id } else { self.id.next(0) };
        self.id = read.max(page.end.last).max(now);
        self.end = page.end.clone();
        self.id
    }
}

impl MessageFeed {
    pub(super) fn new(server: Arc<RedisBackend>, log: String) -> Self {
        Self { server, log, read: None, acknowledged: Vec::new() }
    }

    /// Waits for messages that this node has not read. Retries after a failure.
    pub async fn next(&mut self) -> IncomingMessages {
        loop {
            let first = self.read.is_none();
            match self.read().await {
                Ok(arrived) if first || arrived.gap.is_some() || !arrived.messages.is_empty() => return arrived,
                Ok(_) => drop(timeout(POLL_INTERVAL, self.server.new_messages.notified()).await),
                Err(error) => {
                    tracing::debug!(%error, "cannot read messages");
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn read(&mut self) -> Result<IncomingMessages> {
        // Before the read, which must find them.
        self.acknowledged.append(&mut self.server.acknowledged.lock().unwrap_or_else(PoisonError::into_inner));
        let page = self.page().await?;
        let mut read = self.read.clone().unwrap_or_else(|| ReadPosition::first(&page));
        let is_whole = page.rows.len() < READ_BATCH;
        let whole_since = is_whole.then_some(read.since);
        let mut arrived = IncomingMessages { messages: Vec::new(), whole_since, gap: None };
        let mut is_lost = page.lacks(&self.acknowledged);
        for (id, fields) in &page.rows {
            let Ok(id) = id.parse::<MessageId>() else { continue };
            let number = number(fields);
            // It has the number of a message that was read.
            is_lost |= number.is_some_and(|number| number <= read.end.number);
            if !read.advance(id, number) {
                arrived.gap = Some(id.before());
            }
            if let Some(record) = self.opened(fields) {
                let SealedMessage { to, socket, frame, at, stream, asks } = record;
                arrived.messages.push((StoredMessage::new(id, DraftMessage { to, socket, frame, at, stream }), asks));
            }
        }
        if !page.rows.is_empty() && page.now.saturating_sub(read.at) > millis(MAX_READ_GAP) {
            arrived.gap = Some(read.id);
        }
        if is_lost || is_whole && read.end != page.end {
            // Otherwise the other nodes notice it as well.
            let is_unnoticed = page.end.named_at() <= read.end.named_at();
            arrived.gap = Some(if is_whole { read.skip_to(&page) } else { read.id });
            if is_unnoticed {
                read.end.epoch = self.rename(&page.end, read.id).await?;
            }
        }
        if is_whole {
            // Clients start after this. A later message with an earlier id changes the end of the log and is noticed.
            read.id = read.id.max(read.since);
            read.at = page.now;
        }
        self.acknowledged.retain(|sent| sent.epoch == read.end.epoch && sent.number > read.end.number);
        self.read = Some(read);
        Ok(arrived)
    }

    /// Gives the log another epoch, which is after `read` and after the present one. Returns the epoch that it has now.
    async fn rename(&self, end: &LogEnd, read: MessageId) -> Result<String> {
        let mut rename = script(RENAME_SCRIPT, &log_end(&self.log));
        let after = read.at.max(end.named_at()).saturating_add(1);
        rename.arg(&end.epoch).arg(after).arg(&self.server.node);
        let epoch: Option<String> = self.server.connection.call().await?.ask(&rename).await?;
        // Without one, Redis has lost everything meanwhile, and the next read finds another.
        Ok(epoch.unwrap_or_else(|| end.epoch.clone()))
    }

    async fn page(&self) -> Result<LogPage> {
        let from = self.read.as_ref().map(|read| read.id.next(0).to_string()).unwrap_or_default();
        let mut read = cmd("EVAL");
        read.arg(READ_SCRIPT).arg(2).arg(&self.log).arg(log_end(&self.log));
        read.arg(from).arg(millis(MESSAGE_RETENTION)).arg(READ_BATCH).arg(&self.server.node);
        let call = self.server.connection.call().await?;
        let (epoch, number, last, now, kept, rows): (String, Option<u64>, Option<String>, u64, u64, LogRows) =
            call.ask(&read).await?;
        *self.server.time.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, Instant::now()));
        let last = last.and_then(|last| last.parse().ok()).unwrap_or_default();
        Ok(LogPage { end: LogEnd { epoch, number: number.unwrap_or_default(), last }, now, kept, rows })
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

/// Returns the key that permanently holds the end of the log.
pub(super) fn log_end(log: &str) -> String {
    format!("{log}:end")
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn id(at: u64, step: u64) -> MessageId {
        MessageId { at, step }
    }

    /// A page of a log that began at `began`, with these messages.
    fn page(began: u64, end: (u64, MessageId), kept: u64, rows: &[(u64, MessageId)]) -> LogPage {
        let field = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let fields = |number: u64| vec![field("n"), field(&number.to_string()), field("m"), field("")];
        let rows = rows.iter().map(|(number, id)| (id.to_string(), fields(*number))).collect();
        let end = LogEnd { epoch: format!("{began}-{NOW}-node"), number: end.0, last: end.1 };
        LogPage { end, now: NOW, kept, rows }
    }

    #[test]
    fn a_node_starts_after_the_beginning_of_the_log() {
        let began = id(NOW - 5_001, u64::MAX);
        let empty = ReadPosition::first(&page(NOW - 5_000, (0, id(0, 0)), 0, &[]));
        assert_eq!((empty.since, empty.id, empty.end.number), (began, began, 0));
        let last = id(NOW - 3_000, 1);
        let trimmed = ReadPosition::first(&page(NOW - 5_000, (7, last), 0, &[]));
        assert_eq!((trimmed.since, trimmed.id, trimmed.end.number), (last, last, 7));
        let filled = page(NOW - 5_000, (7, last), 2, &[(6, id(NOW - 4_000, 0)), (7, last)]);
        let mut filled = (ReadPosition::first(&filled), filled);
        assert_eq!((filled.0.since, filled.0.end.number), (began, 5));
        assert!(filled.0.advance(id(NOW - 4_000, 0), Some(6)) && filled.0.advance(last, Some(7)));
        assert_eq!(filled.0.end, filled.1.end);
        // A log that nodes without epochs have begun.
        let older = ReadPosition::first(&page(0, (7, last), 9, &[]));
        assert_eq!((older.since, older.id), (id(NOW - 120_000, 0), last));
    }

    #[test]
    fn a_missing_number_and_another_log_are_noticed() {
        let last = id(NOW - 9, 0);
        let mut read = ReadPosition::first(&page(NOW - 50, (1, last), 0, &[]));
        assert!(!read.clone().advance(id(NOW - 5, 0), Some(3)) && !read.clone().advance(id(NOW - 5, 0), None));
        assert!(read.clone().advance(id(NOW - 5, 0), Some(2)));
        // The same message in a log with another name, and another message with the same number.
        assert_ne!(read.end, page(NOW - 40, (1, last), 0, &[]).end);
        let behind = page(NOW - 50, (1, id(NOW - 10, 0)), 1, &[]);
        assert_ne!(read.end, behind.end);
        assert_eq!(read.skip_to(&behind), id(NOW - 1, u64::MAX));
        assert_eq!((read.id, &read.end), (id(NOW - 1, u64::MAX), &behind.end));
    }

    /// The clock of a server that has become master may be behind, and the same millisecond may not be over.
    #[test]
    fn the_position_after_a_loss_is_after_what_clients_have_and_not_after_what_comes() {
        let ahead = id(NOW + 9_000, 4);
        let mut read = ReadPosition::first(&page(NOW - 50, (1, ahead), 0, &[]));
        assert_eq!(read.skip_to(&page(NOW - 50, (1, id(NOW, 0)), 1, &[])), id(NOW + 9_000, 5));
        let mut read = ReadPosition::first(&page(NOW - 50, (0, id(0, 0)), 0, &[]));
        let lost = page(NOW - 1, (1, id(NOW, 2)), 1, &[(1, id(NOW, 2))]);
        assert!(read.advance(id(NOW, 2), Some(1)) && read.end != lost.end);
        assert_eq!(read.skip_to(&lost), id(NOW, 2), "the next message is {NOW}-3");
    }
}
