//! Messages for those who are connected: what they are, whom they are for, and in which order they come.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{CorpId, EmployeeKey, Role, Roles};

/// What a message is about. The set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// The assistant works on a reply.
    AiThinking,
    /// Something to recommend beside the conversation.
    DynamicRecommend,
    /// A reply with options to choose from.
    AiStructured,
    /// A card for somebody's own device.
    ByodCard,
    /// A piece of a reply that is being written.
    Typewriter,
    /// Something about the session itself; only the desk says that.
    Session,
}

impl MessageKind {
    /// The kinds that services send.
    pub const POSTED: [Self; 5] =
        [Self::AiThinking, Self::DynamicRecommend, Self::AiStructured, Self::ByodCard, Self::Typewriter];

    /// The words for them.
    pub const NAMES: [&'static str; 5] = [
        Self::AiThinking.name(),
        Self::DynamicRecommend.name(),
        Self::AiStructured.name(),
        Self::ByodCard.name(),
        Self::Typewriter.name(),
    ];

    /// The word for it.
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

    /// The kind with exactly this name, of those that services send.
    #[must_use]
    pub fn posted(name: &str) -> Option<Self> {
        Self::POSTED.into_iter().find(|kind| kind.name() == name)
    }
}

/// Which client a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketKind {
    /// The employees'.
    Employee,
    /// The agents'.
    Agent,
}

impl SocketKind {
    /// The words for them.
    pub const NAMES: [&'static str; 2] = [Self::Employee.name(), Self::Agent.name()];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Employee => "employee",
            Self::Agent => "agent",
        }
    }

    /// The kind with exactly this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Employee, Self::Agent].into_iter().find(|kind| kind.name() == name)
    }

    /// The active roles that may open one, where not all may.
    #[must_use]
    pub fn roles(self) -> Option<Roles> {
        match self {
            Self::Employee => None,
            Self::Agent => Some([Role::Agent, Role::Supervisor, Role::Admin].into_iter().collect()),
        }
    }
}

/// Whom a message is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    /// A person, wherever they are connected.
    Person(EmployeeKey),
    /// Everybody of a corporation who is connected in this active role.
    Role(CorpId, Role),
}

/// A message on its way in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whom it is for.
    pub to: Vec<Recipient>,
    /// On which sockets; on both kinds where none is said.
    pub socket: Option<SocketKind>,
    /// Its place in a stream, where it is a piece of one.
    pub chunk: Option<Chunk>,
    /// The frame, all but its end.
    pub frame: FrameDraft,
}

/// A frame before its place among all others is known: a JSON object that lacks its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameDraft(String);

impl FrameDraft {
    /// No frame is longer.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// The longest end that a frame can get.
    const ID_BYTES: usize = 64;

    /// A frame of these parts, which are JSON already: they go out byte for byte as they came. `ts` says when. `None` where
    /// it would be too long.
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

    /// The whole frame.
    #[must_use]
    pub fn with_id(self, id: MessageId) -> String {
        self.0 + &format!(r#","id":"{id}"}}"#)
    }
}

/// A message's place in the order of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// When, in milliseconds, by the clock of whoever orders them.
    pub at: u64,
    /// Which of those of that millisecond.
    pub step: u64,
}

impl MessageId {
    /// The first place that is free at `at`, after this one.
    #[must_use]
    pub fn next(self, at: u64) -> Self {
        match self.step.checked_add(1) {
            _ if at > self.at => Self { at, step: 0 },
            Some(step) => Self { at: self.at, step },
            None => Self { at: self.at.saturating_add(1), step: 0 },
        }
    }

    /// The place right before this one.
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

/// A text that is no message's place.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("is not the id of a message")]
pub struct InvalidMessageId;

impl FromStr for MessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        // Digits alone: the standard library would take a sign, too.
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().ok()).flatten().ok_or(InvalidMessageId)
        };
        let (at, step) = text.split_once('-').ok_or(InvalidMessageId)?;
        Ok(Self { at: number(at)?, step: number(step)? })
    }
}

/// A piece of a reply that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Which reply.
    pub stream: StreamId,
    /// Which piece of it.
    pub seq: u64,
    /// Whether it is the last.
    pub done: bool,
}

impl Chunk {
    /// The largest number of a piece that every client can count to.
    pub const MAX_SEQ: u64 = (1 << 53) - 1;
}

/// Names a reply that is being written, among those to the same recipients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamId(String);

impl StreamId {
    /// Reads a name: 1 to 64 printable ASCII characters.
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

/// How far a reply has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamProgress {
    /// The piece that comes next.
    pub next: u64,
    /// Whether none does.
    pub done: bool,
}

/// A piece that does not follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkOutOfOrder {
    /// This one comes next.
    Gap(u64),
    /// The reply is whole.
    Done,
}

impl StreamProgress {
    /// How far a reply is with this piece. `None` for a piece that was there before: whoever sends it did not hear that it
    /// arrived. A reply may begin with any number.
    ///
    /// # Errors
    /// When the piece does not follow.
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
    fn a_stream_goes_on_by_ones_from_where_it_begins() {
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
    fn parts_go_out_byte_for_byte() {
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
    fn no_frame_is_too_long_with_its_end() {
        let most = MessageId { at: u64::MAX, step: u64::MAX };
        let long = |length: usize| format!("\"{}\"", "a".repeat(length));
        let fits = |length| FrameDraft::new(MessageKind::Typewriter, Some(&long(length)), None, "now");
        let longest = (60_000..66_000).rev().find_map(fits).unwrap();
        assert!((FrameDraft::MAX_BYTES - 64..=FrameDraft::MAX_BYTES).contains(&longest.with_id(most).len()));
    }

    #[test]
    fn nothing_is_between_a_place_and_the_one_before() {
        let place = |at, step| MessageId { at, step };
        assert_eq!((place(3, 2).before(), place(3, 0).before()), (place(3, 1), place(2, u64::MAX)));
    }

    #[test]
    fn what_is_no_place_is_not_read_as_one() {
        for text in ["", "-", "1", "1-", "-1", "+1-2", "1-+2", "1-2-3", "a-1", "1-2 ", "18446744073709551616-0"] {
            assert_eq!(text.parse::<MessageId>(), Err(InvalidMessageId), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn places_are_read_as_written_and_only_grow(
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
