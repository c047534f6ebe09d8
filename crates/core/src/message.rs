//! Messages to connected clients: their content, their recipients and their order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;
use crate::{CorpId, EmployeeKey, Role, Roles};

/// The kind of a message. The set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// The assistant is working on a reply.
    AiThinking,
    /// A recommendation to show beside the conversation.
    DynamicRecommend,
    /// A reply with options to choose from.
    AiStructured,
    /// A card for the user's own device.
    ByodCard,
    /// A chunk of a reply that is being written.
    Typewriter,
    /// An event of the session itself; only the service sends it.
    Session,
}

impl MessageKind {
    /// The kinds that other services send.
    pub const POSTED: [Self; 5] =
        [Self::AiThinking, Self::DynamicRecommend, Self::AiStructured, Self::ByodCard, Self::Typewriter];

    /// The names of these kinds.
    pub const NAMES: [&'static str; 5] = [
        Self::AiThinking.name(),
        Self::DynamicRecommend.name(),
        Self::AiStructured.name(),
        Self::ByodCard.name(),
        Self::Typewriter.name(),
    ];

    /// The name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AiThinking => "ai_thinking",
            Self::DynamicRecommend => "dynamic_recommend",
            Self::AiStructured => "ai_structured",
            Self::ByodCard => "byod_card",
            Self::Typewriter => "typewriter",
            Self::Session => "session",
        }
    }

    /// The kind with exactly this name, among the kinds that other services send.
    #[must_use]
    pub fn posted(name: &str) -> Option<Self> {
        Self::POSTED.into_iter().find(|kind| kind.name() == name)
    }
}

named_enum! {
    /// The client that a socket belongs to.
    SocketKind {
        /// The employees' client.
        Employee => "employee",
        /// The agents' client.
        Agent => "agent",
    }
}

impl SocketKind {
    /// The active roles that may open a socket of this kind, if restricted.
    #[must_use]
    pub fn roles(self) -> Option<Roles> {
        match self {
            Self::Employee => None,
            Self::Agent => Some([Role::Agent, Role::Supervisor, Role::Admin].into_iter().collect()),
        }
    }
}

/// The recipient of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    /// An employee, on all their connections.
    Person(EmployeeKey),
    /// All connected employees of a corporation with this active role.
    Role(CorpId, Role),
}

/// An incoming message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The recipients.
    pub to: Vec<Recipient>,
    /// The kind of sockets; both kinds if `None`.
    pub socket: Option<SocketKind>,
    /// The position in a stream, if the message is a chunk of a stream.
    pub chunk: Option<Chunk>,
    /// The frame without its id.
    pub frame: FrameDraft,
}

/// A frame before its id is assigned: an unterminated JSON object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameDraft(String);

impl FrameDraft {
    /// The maximum length of a frame.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// The maximum length of the id part of a frame.
    const ID_BYTES: usize = 64;

    /// Creates a frame from parts that are already JSON and are sent byte for byte. `ts` is the time of the message. `None` if
    /// the frame would be too long.
    #[must_use]
    pub fn new(kind: MessageKind, content: Option<&str>, extra_data: Option<&str>, ts: &str) -> Option<Self> {
        let mut text = format!(r#"{{"msg_type":"{}","ts":"{ts}""#, kind.name());
        for (name, part) in [("content", content), ("extra_data", extra_data)] {
            if let Some(part) = part {
                text.extend([",\"", name, "\":", part]);
            }
        }
        (text.len() + Self::ID_BYTES <= Self::MAX_BYTES).then_some(Self(text))
    }

    /// Completes the frame.
    #[must_use]
    pub fn with_id(self, id: MessageId) -> String {
        self.0 + &format!(r#","id":"{id}"}}"#)
    }
}

/// The position of a message in the total order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The time in milliseconds, by the clock of the node that orders the messages.
    pub at: u64,
    /// The index among the messages of that millisecond.
    pub step: u64,
}

impl MessageId {
    /// The first free id at `at`, after this one.
    #[must_use]
    pub fn next(self, at: u64) -> Self {
        match self.step.checked_add(1) {
            _ if at > self.at => Self { at, step: 0 },
            Some(step) => Self { at: self.at, step },
            None => Self { at: self.at.saturating_add(1), step: 0 },
        }
    }

    /// The id immediately before this one.
    #[must_use]
    pub const fn before(self) -> Self {
        match self.step.checked_sub(1) {
            Some(step) => Self { at: self.at, step },
            None => Self { at: self.at.saturating_sub(1), step: u64::MAX },
        }
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.at, self.step)
    }
}

/// An error: the text is not a message id.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("is not the id of a message")]
pub struct InvalidMessageId;

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        // Only digits: the standard library would also accept a sign.
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten().ok_or(InvalidMessageId)
        };
        let (at, step) = text.split_once('-').ok_or(InvalidMessageId)?;
        Ok(Self { at: number(at)?, step: number(step)? })
    }
}

/// A chunk of a reply that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The reply that the chunk belongs to.
    pub stream: StreamId,
    /// The sequence number of the chunk.
    pub seq: u64,
    /// Whether it is the last chunk.
    pub done: bool,
}

impl Chunk {
    /// The largest sequence number that every client can represent.
    pub const MAX_SEQ: u64 = (1 << 53) - 1;
}

/// The name of a reply that is being written, unique among the replies to the same recipients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamId(String);

impl StreamId {
    /// Parses a name: 1 to 64 printable ASCII characters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(text.to_owned()))
    }

    /// The name as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The progress of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamProgress {
    /// The sequence number of the next chunk.
    pub next: u64,
    /// Whether the reply is complete.
    pub done: bool,
}

/// An error: the chunk is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkOutOfOrder {
    /// The expected sequence number.
    Gap(u64),
    /// The reply is complete.
    Done,
}

impl StreamProgress {
    /// The progress after this chunk. `None` for a chunk that was received before: its sender did not receive the
    /// acknowledgement. A reply may begin with any number.
    pub fn advance(was: Option<Self>, chunk: &Chunk) -> Result<Option<Self>, ChunkOutOfOrder> {
        let next = Self { next: chunk.seq.saturating_add(1), done: chunk.done };
        match was {
            Some(was) if chunk.seq < was.next => Ok(None),
            Some(was) if was.done => Err(ChunkOutOfOrder::Done),
            Some(was) if chunk.seq > was.next => Err(ChunkOutOfOrder::Gap(was.next)),
            Some(_) | None => Ok(Some(next)),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunk(seq: u64, done: bool) -> Chunk {
        Chunk { stream: StreamId::parse("s").unwrap(), seq, done }
    }

    #[test]
    fn chunks_of_a_stream_are_numbered_without_gaps() {
        let first = StreamProgress::advance(None, &chunk(7, false)).unwrap();
        assert_eq!(first, Some(StreamProgress { next: 8, done: false }));
        assert_eq!(StreamProgress::advance(first, &chunk(7, false)), Ok(None));
        assert_eq!(StreamProgress::advance(first, &chunk(9, false)), Err(ChunkOutOfOrder::Gap(8)));
        let last = StreamProgress::advance(first, &chunk(8, true)).unwrap();
        assert_eq!(last, Some(StreamProgress { next: 9, done: true }));
        assert_eq!(StreamProgress::advance(last, &chunk(8, true)), Ok(None));
        assert_eq!(StreamProgress::advance(last, &chunk(9, false)), Err(ChunkOutOfOrder::Done));
    }

    #[test]
    fn frames_contain_the_parts_byte_for_byte() {
        let extra = r#"{"b":1.0,"a":1e400,"a":[ 1,2 ],"长":"\u0000"}"#;
        let open = FrameDraft::new(MessageKind::ByodCard, Some("\"hi\""), Some(extra), "now").unwrap();
        let whole = open.with_id(MessageId { at: 3, step: 4 });
        assert_eq!(
            whole,
            format!(r#"{{"msg_type":"byod_card","ts":"now","content":"hi","extra_data":{extra},"id":"3-4"}}"#)
        );
        let bare = FrameDraft::new(MessageKind::AiThinking, None, None, "now").unwrap().with_id(MessageId::default());
        assert_eq!(bare, r#"{"msg_type":"ai_thinking","ts":"now","id":"0-0"}"#);
    }

    #[test]
    fn a_frame_with_its_id_fits_the_limit() {
        let largest = MessageId { at: u64::MAX, step: u64::MAX };
        let long = |length: usize| format!("\"{}\"", "a".repeat(length));
        let fits = |length| FrameDraft::new(MessageKind::Typewriter, Some(&long(length)), None, "now");
        let longest = (60_000..66_000).rev().find_map(fits).unwrap();
        assert!((FrameDraft::MAX_BYTES - 64..=FrameDraft::MAX_BYTES).contains(&longest.with_id(largest).len()));
    }

    #[test]
    fn no_id_lies_between_an_id_and_its_predecessor() {
        let place = |at, step| MessageId { at, step };
        assert_eq!((place(3, 2).before(), place(3, 0).before()), (place(3, 1), place(2, u64::MAX)));
    }

    #[test]
    fn an_invalid_message_id_is_rejected() {
        for text in ["", "-", "1", "1-", "-1", "+1-2", "1-+2", "1-2-3", "a-1", "1-2 ", "18446744073709551616-0"] {
            assert_eq!(text.parse::<MessageId>(), Err(InvalidMessageId), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn message_ids_round_trip_and_only_grow(
            at in 1..u64::MAX,
            step in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)],
            clock: u64,
        ) {
            let id = MessageId { at, step };
            prop_assert_eq!(id.to_string().parse(), Ok(id));
            prop_assert!(id.next(clock) > id && id.before() < id);
            prop_assert_eq!(id.before().next(id.at.saturating_sub(1)), id);
        }
    }
}
