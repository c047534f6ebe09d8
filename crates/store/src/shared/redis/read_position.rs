//! How far a node has read the message log, and whether what it reads next continues the same log.

use std::collections::{HashMap, HashSet};

use deskpass_core::MessageId;
use redis::Value;

use super::log_end::{AcknowledgedEnds, LogEnd, millis};
use crate::shared::messages::MESSAGE_RETENTION;

/// The position of a node in the log.
#[derive(Clone, Debug)]
pub(super) struct ReadPosition {
    /// The id at which reading started.
    pub(super) since: MessageId,
    /// The id up to which everything was read.
    pub(super) id: MessageId,
    /// The end that the log must have if nothing comes after that. Redis may lose messages, or all of its memory, and
    /// take new ones: only the epoch, the number and the id together tell that this is still the same log.
    pub(super) end: LogEnd,
    /// The time of Redis, in milliseconds, when everything was read.
    pub(super) at: u64,
}

/// What one read returns.
#[derive(Debug)]
pub(super) struct LogPage {
    pub(super) end: LogEnd,
    /// The time of Redis, in milliseconds.
    pub(super) now: u64,
    /// The number of messages in the log.
    pub(super) kept: u64,
    /// The messages that were asked for.
    pub(super) rows: LogRows,
}

/// Messages as Redis returns them: the id, and the names and values of the fields.
pub(super) type LogRows = Vec<(String, Vec<Value>)>;

/// How a message follows what was read before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Succession {
    /// It is the next one.
    Next,
    /// Others are missing before it.
    Missing,
    /// Redis has lost a message that was read, and has another one in its place.
    Replaced,
}

impl LogPage {
    /// Returns whether the log lacks one of these messages, which it has acknowledged. They are from before this read. Those of
    /// another epoch do not count.
    pub(super) fn lacks(&self, acknowledged: &AcknowledgedEnds) -> bool {
        if acknowledged.is_empty() {
            return false;
        }
        let mut ids = HashMap::new();
        for (id, fields) in &self.rows {
            let Some(number) = number(fields) else { continue };
            // The message before this one may have an id that is too early to be read.
            ids.extend(previous(fields).map(|previous| (number.saturating_sub(1), previous)));
            ids.extend(id.parse::<MessageId>().ok().map(|id| (number, id)));
        }
        ids.insert(self.end.number, self.end.last);
        let is_lost = |sent: &LogEnd| {
            sent.number > self.end.number || ids.get(&sent.number).is_some_and(|there| *there != sent.last)
        };
        acknowledged.of_epoch(&self.end.epoch).any(is_lost)
    }

    /// Returns whether this page, which has everything up to the end, lacks one of these messages of an earlier epoch. They were posted
    /// after this node had read everything. The other nodes may have noticed the end of that epoch before the messages were posted:
    /// where some nodes used an old master for longer.
    pub(super) fn lacks_of_earlier_epochs(&self, acknowledged: &AcknowledgedEnds) -> bool {
        let mut earlier = acknowledged.of_other_epochs(&self.end.epoch).peekable();
        if earlier.peek().is_none() {
            return false;
        }
        let ids: HashSet<MessageId> = self.rows.iter().filter_map(|(id, _)| id.parse().ok()).collect();
        earlier.any(|sent| sent.last != self.end.last && !ids.contains(&sent.last))
    }
}

impl ReadPosition {
    /// Returns the position before the first read. When the log is empty, that is its last id, which is the same for
    /// every node. What was there before the log began is unknown.
    pub(super) fn first(page: &LogPage) -> Self {
        let end = page.end.clone();
        let oldest = MessageId { at: page.now.saturating_sub(millis(MESSAGE_RETENTION)), step: 0 };
        let kept_since = if page.kept == 0 { end.last } else { oldest };
        let since = kept_since.max(end.began());
        let id = since.max(end.last);
        let end = match page.rows.first() {
            Some((_, fields)) => LogEnd {
                number: number(fields).unwrap_or_default().saturating_sub(1),
                last: previous(fields).unwrap_or(end.last),
                ..end
            },
            None => end,
        };
        Self { since, id, end, at: page.now }
    }

    /// Moves to the next message, which has this number, and says which message was before it. Returns how it follows what was
    /// read. The numbers alone do not tell: after a loss, the log may get a message with the same number as a lost one and an
    /// earlier id, by a clock that is behind, and then one with the next number. Only that one is read.
    pub(super) fn advance(&mut self, id: MessageId, number: Option<u64>, previous: Option<MessageId>) -> Succession {
        let next = self.end.number.saturating_add(1);
        let succession = match number {
            Some(number) if number < next => Succession::Replaced,
            Some(number) if number > next => Succession::Missing,
            Some(_) if previous.is_none_or(|previous| previous == self.end.last) => Succession::Next,
            Some(_) => Succession::Replaced,
            None => Succession::Missing,
        };
        (self.id, self.end.last) = (id, id);
        self.end.number = number.unwrap_or(self.end.number);
        succession
    }

    /// Moves to the end of a log that did not continue from here, and returns the new position. It is after every id that
    /// a client can have from the log before, so that no client resumes as if it had missed nothing. A message that gets
    /// an earlier id later, by a clock that is behind, is not read; it changes the end of the log and is noticed as well.
    pub(super) fn skip_to(&mut self, page: &LogPage) -> MessageId {
        let now = MessageId { at: page.now, step: 0 }.before();
        let read = if self.id == page.end.last { self.id } else { self.id.next(0) };
        self.id = read.max(page.end.last).max(now);
        self.end = page.end.clone();
        self.id
    }
}

/// Returns the number of a message.
pub(super) fn number(fields: &[Value]) -> Option<u64> {
    let [_, Value::BulkString(number), ..] = fields else { return None };
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Returns the id of the message before this one. A node of version 0.1.0 does not store it.
pub(super) fn previous(fields: &[Value]) -> Option<MessageId> {
    let [_, _, Value::BulkString(name), Value::BulkString(id), ..] = fields else { return None };
    if name.as_slice() != b"p" {
        return None;
    }
    std::str::from_utf8(id).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn id(at: u64, step: u64) -> MessageId {
        MessageId { at, step }
    }

    fn fields(number: u64, previous: Option<MessageId>) -> Vec<Value> {
        let mut texts = vec!["n".to_owned(), number.to_string()];
        texts.extend(previous.into_iter().flat_map(|previous| ["p".to_owned(), previous.to_string()]));
        texts.extend(["m".to_owned(), String::new()]);
        texts.into_iter().map(|text| Value::BulkString(text.into_bytes())).collect()
    }

    fn epoch(began: u64) -> String {
        format!("{began}-{NOW}-node")
    }

    /// A page of a log that began at `began`, with these messages.
    fn page(began: u64, end: (u64, MessageId), kept: u64, rows: &[(u64, MessageId)]) -> LogPage {
        let rows = rows.iter().map(|(number, id)| (id.to_string(), fields(*number, None))).collect();
        let end = LogEnd { epoch: epoch(began), number: end.0, last: end.1 };
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
        assert_eq!(filled.0.advance(id(NOW - 4_000, 0), Some(6), None), Succession::Next);
        assert_eq!(filled.0.advance(last, Some(7), None), Succession::Next);
        assert_eq!(filled.0.end, filled.1.end);
        // A log that nodes without epochs have begun.
        let older = ReadPosition::first(&page(0, (7, last), 9, &[]));
        assert_eq!((older.since, older.id), (id(NOW - 120_000, 0), last));
    }

    /// The message before the first one that a node reads may be trimmed, or too old.
    #[test]
    fn the_first_message_follows_one_that_was_not_read() {
        let (before, first) = (id(NOW - 130_000, 0), id(NOW - 4_000, 0));
        let mut page = page(0, (6, first), 1, &[]);
        page.rows = vec![(first.to_string(), fields(6, Some(before)))];
        let mut read = ReadPosition::first(&page);
        assert_eq!(read.advance(first, Some(6), Some(before)), Succession::Next);
        assert_eq!(read.end, page.end);
    }

    #[test]
    fn a_missing_number_and_another_log_are_noticed() {
        let last = id(NOW - 9, 0);
        let mut read = ReadPosition::first(&page(NOW - 50, (1, last), 0, &[]));
        for (number, previous, succession) in [
            (Some(3), None, Succession::Missing),
            (Some(3), Some(id(NOW - 6, 0)), Succession::Missing),
            (None, None, Succession::Missing),
            (Some(1), None, Succession::Replaced),
            (Some(2), None, Succession::Next),
            (Some(2), Some(last), Succession::Next),
            // Another message has the number of the last one and an earlier id, which is not read any more.
            (Some(2), Some(id(NOW - 10, 0)), Succession::Replaced),
        ] {
            assert_eq!(read.clone().advance(id(NOW - 5, 0), number, previous), succession, "{number:?} {previous:?}");
        }
        // The same message in a log with another name, and another message with the same number.
        assert_ne!(read.end, page(NOW - 40, (1, last), 0, &[]).end);
        let behind = page(NOW - 50, (1, id(NOW - 10, 0)), 1, &[]);
        assert_ne!(read.end, behind.end);
        assert_eq!(read.skip_to(&behind), id(NOW - 1, u64::MAX));
        assert_eq!((read.id, &read.end), (id(NOW - 1, u64::MAX), &behind.end));
    }

    #[test]
    fn a_sender_misses_its_message_where_another_one_is_in_its_place() {
        let (sent, other, after) = (id(NOW - 9, 0), id(NOW - 10, 0), id(NOW - 5, 0));
        let mut acknowledged = AcknowledgedEnds::default();
        acknowledged.push(LogEnd { epoch: epoch(0), number: 1, last: sent });
        let mut page = page(0, (2, after), 2, &[]);
        for (previous, is_lost) in [(None, false), (Some(sent), false), (Some(other), true)] {
            page.rows = vec![(after.to_string(), fields(2, previous))];
            assert_eq!(page.lacks(&acknowledged), is_lost, "{previous:?}");
        }
    }

    #[test]
    fn a_sender_misses_a_message_of_an_earlier_epoch() {
        let (sent, after) = (id(NOW - 9, 0), id(NOW - 5, 0));
        let mut acknowledged = AcknowledgedEnds::default();
        let mut page = page(0, (2, after), 2, &[(2, after)]);
        acknowledged.push(LogEnd { epoch: epoch(0), number: 1, last: sent });
        assert!(!page.lacks_of_earlier_epochs(&acknowledged), "it is compared by its number");
        acknowledged.push(LogEnd { epoch: epoch(1), number: 1, last: sent });
        assert!(page.lacks_of_earlier_epochs(&acknowledged));
        page.rows.insert(0, (sent.to_string(), fields(1, None)));
        assert!(!page.lacks_of_earlier_epochs(&acknowledged), "the log only has another name");
        page.rows.clear();
        page.end.last = sent;
        assert!(!page.lacks_of_earlier_epochs(&acknowledged), "it is the last one");
    }

    /// The clock of a server that has become master may be behind, and the same millisecond may not be over.
    #[test]
    fn the_position_after_a_loss_is_after_what_clients_have_and_not_after_what_comes() {
        let ahead = id(NOW + 9_000, 4);
        let mut read = ReadPosition::first(&page(NOW - 50, (1, ahead), 0, &[]));
        assert_eq!(read.skip_to(&page(NOW - 50, (1, id(NOW, 0)), 1, &[])), id(NOW + 9_000, 5));
        let mut read = ReadPosition::first(&page(NOW - 50, (0, id(0, 0)), 0, &[]));
        let lost = page(NOW - 1, (1, id(NOW, 2)), 1, &[(1, id(NOW, 2))]);
        assert!(read.advance(id(NOW, 2), Some(1), None) == Succession::Next && read.end != lost.end);
        assert_eq!(read.skip_to(&lost), id(NOW, 2), "the next message is {NOW}-3");
    }
}
