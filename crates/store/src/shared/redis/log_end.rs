//! The end of the message log, by which nodes notice that Redis has lost messages.

use std::collections::VecDeque;
use std::time::Duration;

use deskpass_core::MessageId;

/// The maximum number of posts to remember for the feed, which compares them at each read. A process without one has no use
/// for them.
const MAX_ACKNOWLEDGED: usize = 1_000;

/// The end of the log, which stays when old messages are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogEnd {
    /// The name of the log, since Redis last lost messages: the time from which it is known, the time at which it got this
    /// name, and the node that named it.
    pub(super) epoch: String,
    /// The number and the id of the last message.
    pub(super) number: u64,
    pub(super) last: MessageId,
}

impl LogEnd {
    /// Returns the id before the first one that the log could give.
    pub(super) fn began(&self) -> MessageId {
        let at = self.part(0);
        if at == 0 { MessageId::default() } else { MessageId { at, step: 0 }.before() }
    }

    /// Returns the time at which the log got its name, in milliseconds.
    pub(super) fn named_at(&self) -> u64 {
        self.part(1)
    }

    fn part(&self, index: usize) -> u64 {
        self.epoch.split('-').nth(index).and_then(|at| at.parse().ok()).unwrap_or_default()
    }
}

/// The ends of the log after posts of this node that Redis has acknowledged: the latest ones.
#[derive(Debug, Default)]
pub(super) struct AcknowledgedEnds(VecDeque<LogEnd>);

impl AcknowledgedEnds {
    /// Adds the end after the latest post. Drops the oldest if there are too many.
    pub(super) fn push(&mut self, end: LogEnd) {
        if self.0.len() >= MAX_ACKNOWLEDGED {
            self.0.pop_front();
        }
        self.0.push_back(end);
    }

    /// Moves the ends of later posts here.
    pub(super) fn append(&mut self, later: &mut Self) {
        for end in later.0.drain(..) {
            self.push(end);
        }
    }

    /// Returns the ends of this epoch.
    pub(super) fn of_epoch<'a>(&'a self, epoch: &'a str) -> impl Iterator<Item = &'a LogEnd> {
        self.0.iter().filter(move |end| end.epoch == epoch)
    }

    /// Returns the ends of other epochs.
    pub(super) fn of_other_epochs<'a>(&'a self, epoch: &'a str) -> impl Iterator<Item = &'a LogEnd> {
        self.0.iter().filter(move |end| end.epoch != epoch)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps what is not compared yet: the ends of the same epoch that come after `read`.
    pub(super) fn keep_after(&mut self, read: &LogEnd) {
        self.0.retain(|end| end.epoch == read.epoch && end.number > read.number);
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_posts_are_remembered() {
        let end =
            |number: u64| LogEnd { epoch: "1-1-node".to_owned(), number, last: MessageId { at: number, step: 0 } };
        let numbers = |ends: &AcknowledgedEnds| ends.of_epoch("1-1-node").map(|end| end.number).collect::<Vec<_>>();
        let (mut kept, mut later) = (AcknowledgedEnds::default(), AcknowledgedEnds::default());
        // The feed takes them over again and again, while it cannot read.
        for round in 0..3 {
            for number in 0..1_005 {
                later.push(end(round * 1_005 + number));
            }
            assert_eq!(numbers(&later).len(), 1_000);
            kept.append(&mut later);
            assert!(later.is_empty());
        }
        assert_eq!(numbers(&kept), (2_015..3_015).collect::<Vec<_>>());
        kept.keep_after(&end(3_012));
        assert_eq!(numbers(&kept), [3_013, 3_014]);
        kept.keep_after(&LogEnd { epoch: "2-2-node".to_owned(), ..end(0) });
        assert!(kept.is_empty(), "the end of the other epoch was noticed");
    }
}
