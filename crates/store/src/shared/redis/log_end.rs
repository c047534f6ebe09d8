//! The end of the message log, by which nodes notice that Redis has lost messages.

use deskpass_core::MessageId;

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
