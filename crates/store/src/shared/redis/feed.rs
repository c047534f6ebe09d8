//! The reader of the message log: one per node, which reads every message that any node has stored.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use deskpass_core::{Digest, FrameDraft, MessageId, Recipient, SocketKind, Timestamp};
use redis::{Value, cmd};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep, timeout};

use super::bus;
use super::connection::script;
use super::log_end::{AcknowledgedEnds, LogEnd, millis};
use super::read_position::{LogPage, LogRows, ReadPosition, Succession, number, previous};
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
    acknowledged: AcknowledgedEnds,
    rename: EpochRename,
}

/// Whether the log must get another epoch, because this node has noticed a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EpochRename {
    NotDue,
    Due,
    /// It failed, and is tried again at the next read. A warning was logged.
    Failed,
}

impl MessageFeed {
    pub(super) fn new(server: Arc<RedisBackend>, log: String) -> Self {
        Self { server, log, read: None, acknowledged: AcknowledgedEnds::default(), rename: EpochRename::NotDue }
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
        let is_own_lost = is_whole && page.lacks_of_earlier_epochs(&self.acknowledged);
        let mut is_lost = is_own_lost || page.lacks(&self.acknowledged);
        for (id, fields) in &page.rows {
            let Ok(id) = id.parse::<MessageId>() else { continue };
            let succession = read.advance(id, number(fields), previous(fields));
            is_lost |= succession == Succession::Replaced;
            if succession != Succession::Next {
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
            // After another name of the log, the other nodes notice it as well; but not what this node posted before it noticed.
            let is_noticed = page.end.named_at() > read.end.named_at() && !is_own_lost;
            self.rename = if is_noticed { EpochRename::NotDue } else { EpochRename::Due };
            arrived.gap = Some(if is_whole { read.skip_to(&page) } else { read.id });
            // This loss is noticed, whether or not the log gets another name now.
            self.acknowledged = AcknowledgedEnds::default();
        }
        if self.rename != EpochRename::NotDue {
            self.rename_log(&page.end, &mut read).await;
        }
        if is_whole {
            // Clients start after this. A later message with an earlier id changes the end of the log and is noticed.
            read.id = read.id.max(read.since);
            read.at = page.now;
        }
        self.acknowledged.keep_after(&read.end);
        self.read = Some(read);
        Ok(arrived)
    }

    /// Gives the log another epoch. If that fails, for example because Redis is full, this node goes on with what it has read and
    /// tries again at its next read.
    async fn rename_log(&mut self, end: &LogEnd, read: &mut ReadPosition) {
        match self.renamed(end, read.id).await {
            Ok(epoch) => {
                read.end.epoch = epoch;
                self.rename = EpochRename::NotDue;
            }
            Err(error) if self.rename == EpochRename::Due => {
                tracing::warn!(
                    %error,
                    "messages in Redis were lost, and the other nodes cannot be told: Redis does not store another epoch of the \
                     message log; trying again"
                );
                self.rename = EpochRename::Failed;
            }
            Err(error) => tracing::debug!(%error, "cannot store another epoch of the message log"),
        }
    }

    /// Stores an epoch that is after `read` and after the present one. Returns the epoch that the log has now.
    async fn renamed(&self, end: &LogEnd, read: MessageId) -> Result<String> {
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

/// Returns the key that permanently holds the end of the log.
pub(super) fn log_end(log: &str) -> String {
    format!("{log}:end")
}
