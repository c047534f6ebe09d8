//! The recent messages, indexed by recipient.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use deskpass_core::{CorpId, Digest, EmployeeKey, MessageId, Recipient, Role, SocketKind, StreamProgress, Timestamp};

use super::message::{MESSAGE_RETENTION, STREAM_IDLE_TIMEOUT, StoredMessage};

/// The limits of the buffer, in messages and in bytes. A flood shortens the retention.
const MAX_MESSAGES: usize = 100_000;
const MAX_BYTES: usize = 64 << 20;

/// The maximum number of recipients whose newest evicted message is recorded.
const MAX_FORGOTTEN_RECIPIENTS: usize = 50_000;

const MAX_STREAMS: usize = 50_000;

/// A reader: a socket with the recipients whose messages it gets.
#[derive(Clone, Debug)]
pub struct Subscriber {
    person: Recipient,
    role: Recipient,
    /// Messages to the role count only after this id, because another role was active before.
    since: MessageId,
    socket: SocketKind,
}

impl Subscriber {
    /// Creates the subscriber for a socket of a person, whose role is active since the given message id.
    #[must_use]
    pub fn new(person: &EmployeeKey, corp: &CorpId, (role, since): (Role, MessageId), socket: SocketKind) -> Self {
        Self { person: Recipient::Person(person.clone()), role: Recipient::Role(corp.clone(), role), since, socket }
    }

    /// Returns whether this subscriber gets a message.
    #[must_use]
    pub fn gets(&self, message: &StoredMessage) -> bool {
        let in_role = message.id > self.since;
        self.is_on(message) && message.to.iter().any(|to| *to == self.person || in_role && *to == self.role)
    }

    fn is_on(&self, message: &StoredMessage) -> bool {
        message.socket.is_none_or(|socket| socket == self.socket)
    }
}

/// The position from which a client reads.
#[derive(Debug)]
pub struct StartPosition {
    /// Messages up to this id are seen, or must not be sent.
    pub seen: MessageId,
    /// Whether the client has missed no message since its last connection.
    pub resumed: bool,
    /// The pieces of unfinished replies, for a client that connects in the middle of them.
    pub joined: Vec<Arc<StoredMessage>>,
}

#[derive(Default)]
pub(super) struct MessageBuffer {
    messages: VecDeque<Arc<StoredMessage>>,
    by_recipient: HashMap<Recipient, VecDeque<Arc<StoredMessage>>>,
    bytes: usize,
    pub(super) newest: MessageId,
    /// The id after which the buffer is complete, once known.
    since: Option<MessageId>,
    /// The newest evicted message, in total and per recipient.
    evicted: MessageId,
    forgotten: HashMap<Recipient, MessageId>,
    streams: HashMap<Digest, (StreamProgress, Timestamp)>,
}

impl MessageBuffer {
    /// Sets the id after which the buffer is complete, if it is not known yet.
    pub(super) fn begin(&mut self, place: MessageId) {
        if self.since.is_none() {
            self.since = Some(place);
            self.newest = self.newest.max(place);
        }
    }

    /// Records a gap: messages up to `place` may be missing. A client that connects now starts after it.
    pub(super) fn mark_gap(&mut self, place: MessageId) {
        self.since = self.since.max(Some(place));
        self.newest = self.newest.max(place);
    }

    pub(super) fn append(&mut self, message: StoredMessage) -> Arc<StoredMessage> {
        let message = Arc::new(message);
        self.newest = message.id;
        self.bytes += size_of_message(&message);
        for to in &message.to {
            let queue = self.by_recipient.entry(to.clone()).or_default();
            // A message may name a recipient twice.
            if queue.back().is_none_or(|last| last.id != message.id) {
                queue.push_back(Arc::clone(&message));
            }
        }
        self.messages.push_back(Arc::clone(&message));
        message
    }

    pub(super) fn evict(&mut self, now: Timestamp) {
        while self.messages.front().is_some_and(|oldest| {
            now.since(oldest.at) > MESSAGE_RETENTION || self.messages.len() > MAX_MESSAGES || self.bytes > MAX_BYTES
        }) {
            let Some(oldest) = self.messages.pop_front() else { return };
            self.bytes -= size_of_message(&oldest);
            self.evicted = oldest.id;
            for to in &oldest.to {
                self.evict_for(to, oldest.id);
            }
        }
    }

    fn evict_for(&mut self, to: &Recipient, id: MessageId) {
        if self.forgotten.len() >= MAX_FORGOTTEN_RECIPIENTS {
            self.forgotten.clear();
            self.since = self.since.max(Some(id));
        }
        self.forgotten.insert(to.clone(), id);
        let Some(queue) = self.by_recipient.get_mut(to) else { return };
        if queue.front().is_some_and(|first| first.id == id) {
            queue.pop_front();
        }
        if queue.is_empty() {
            self.by_recipient.remove(to);
        }
    }

    pub(super) fn is_evicted(&self, id: MessageId) -> bool {
        id <= self.evicted
    }

    /// Returns where a client starts. A returning client gets every buffered message after `last` and learns whether
    /// any is missing. On another node, it may have seen messages that this node has not read yet.
    pub(super) fn start_position(&self, reader: &Subscriber, last: Option<MessageId>) -> StartPosition {
        let Some(seen) = last else {
            return StartPosition { seen: self.newest, resumed: false, joined: self.under_way(reader) };
        };
        let forgotten = |recipient| self.forgotten.get(recipient).is_some_and(|gone| *gone > seen);
        let known = self.since.is_some_and(|since| seen >= since);
        let resumed = known && !forgotten(&reader.person) && !forgotten(&reader.role);
        StartPosition { seen, resumed, joined: Vec::new() }
    }

    /// Returns the buffered pieces of unfinished replies to this reader.
    fn under_way(&self, reader: &Subscriber) -> Vec<Arc<StoredMessage>> {
        let queue = |recipient| self.by_recipient.get(recipient).into_iter().flatten();
        let pieces = queue(&reader.person).chain(queue(&reader.role)).filter(|message| reader.is_on(message));
        let mut pieces: Vec<_> = pieces.filter(|message| message.stream.is_some()).cloned().collect();
        let ends = pieces.iter().filter_map(|message| message.stream).filter(|(_, done)| *done);
        let whole: HashSet<_> = ends.map(|(stream, _)| stream).collect();
        pieces.retain(|message| message.stream.is_some_and(|(stream, _)| !whole.contains(&stream)));
        pieces.sort_by_key(|message| message.id);
        pieces.dedup_by_key(|message| message.id);
        pieces
    }

    /// Returns the next message. When there is none, marks everything up to the newest as seen.
    pub(super) fn next_after(&self, seen: &mut MessageId, reader: &Subscriber) -> Option<Arc<StoredMessage>> {
        let found = self.find(*seen, reader);
        if found.is_none() {
            *seen = self.newest.max(*seen);
        }
        found
    }

    fn find(&self, seen: MessageId, reader: &Subscriber) -> Option<Arc<StoredMessage>> {
        let next = |recipient, seen| self.unseen(seen, recipient).find(|message| reader.is_on(message));
        let (person, role) = (next(&reader.person, seen), next(&reader.role, seen.max(reader.since)));
        person.into_iter().chain(role).min_by_key(|message| message.id).cloned()
    }

    /// Returns whether this reader has more than `at_most` unseen messages.
    pub(super) fn is_lagging(&self, seen: MessageId, reader: &Subscriber, at_most: usize) -> bool {
        let queue = self.unseen(seen, &reader.person).chain(self.unseen(seen.max(reader.since), &reader.role));
        queue.filter(|message| reader.is_on(message)).nth(at_most).is_some()
    }

    fn unseen(&self, seen: MessageId, recipient: &Recipient) -> impl Iterator<Item = &Arc<StoredMessage>> {
        let queue = self.by_recipient.get(recipient);
        queue.into_iter().flat_map(move |queue| queue.range(queue.partition_point(|message| message.id <= seen)..))
    }

    pub(super) fn progress(&self, stream: &Digest, now: Timestamp) -> Option<StreamProgress> {
        self.streams.get(stream).filter(|(_, until)| now < *until).map(|(progress, _)| *progress)
    }

    pub(super) fn keep_progress(&mut self, stream: Digest, progress: StreamProgress, now: Timestamp) {
        if self.streams.len() >= MAX_STREAMS {
            self.streams.retain(|_, (_, until)| now < *until);
        }
        if self.streams.len() >= MAX_STREAMS {
            // More concurrent replies than a desk has people: drop all progress. The next chunk of each is then not checked.
            self.streams.clear();
        }
        self.streams
            .insert(stream, (progress, now + if progress.done { MESSAGE_RETENTION } else { STREAM_IDLE_TIMEOUT }));
    }
}

/// Returns the approximate memory of a message: its frame, and an entry per recipient.
fn size_of_message(message: &StoredMessage) -> usize {
    message.frame.len() + 256 * (1 + message.to.len())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::{FrameDraft, MessageKind};
    use proptest::prelude::*;

    use super::super::DraftMessage;
    use super::*;

    fn person(id: &str) -> Recipient {
        Recipient::Person(EmployeeKey::from_parts("ww", id))
    }

    fn reader(id: &str, role: Role) -> Subscriber {
        let person = EmployeeKey::from_parts("ww", id);
        Subscriber::new(&person, &person.corp_id(), (role, MessageId::default()), SocketKind::Employee)
    }

    fn role(role: Role) -> Recipient {
        Recipient::Role(EmployeeKey::from_parts("ww", "x").corp_id(), role)
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(i64::try_from(millis).unwrap())
    }

    fn put(buffer: &mut MessageBuffer, millis: u64, to: Vec<Recipient>, stream: Option<(Digest, bool)>) -> MessageId {
        buffer.begin(MessageId { at: 1, step: 0 });
        let frame = FrameDraft::new(MessageKind::AiThinking, None, None, "").unwrap();
        let id = buffer.newest.next(millis);
        let message =
            buffer.append(StoredMessage::new(id, DraftMessage { to, socket: None, frame, at: at(millis), stream }));
        buffer.evict(at(millis));
        message.id
    }

    #[test]
    fn an_idle_subscriber_misses_no_recent_message() {
        let mut buffer = MessageBuffer::default();
        let seen = put(&mut buffer, 1_000, vec![person("a")], None);
        let long = u64::try_from(MESSAGE_RETENTION.as_millis()).unwrap() * 10;
        for step in 0..50 {
            put(&mut buffer, long + step * 60_000, vec![person("b")], None);
        }
        let fresh = put(&mut buffer, long + 50 * 60_000, vec![person("a")], None);
        let start = buffer.start_position(&reader("a", Role::User), Some(seen));
        assert!(start.resumed, "nothing of theirs was forgotten since");
        assert_eq!(buffer.find(start.seen, &reader("a", Role::User)).unwrap().id, fresh);
        let start = buffer.start_position(&reader("b", Role::User), Some(seen));
        assert!(!start.resumed, "of this one's much was");
        assert!(buffer.find(start.seen, &reader("b", Role::User)).is_some(), "and what is left comes");
        let before = MessageId { at: 0, step: 9 };
        assert!(!buffer.start_position(&reader("a", Role::User), Some(before)).resumed, "of another life");
    }

    #[test]
    fn no_client_from_before_a_gap_resumes() {
        let (mut buffer, reader) = (MessageBuffer::default(), reader("a", Role::User));
        let seen = put(&mut buffer, 1_000, vec![person("a")], None);
        assert!(buffer.start_position(&reader, Some(seen)).resumed);
        buffer.mark_gap(MessageId { at: 1_999, step: u64::MAX });
        assert!(!buffer.start_position(&reader, Some(seen)).resumed, "it had everything that is here");
        let joined = buffer.start_position(&reader, None).seen;
        assert!(buffer.start_position(&reader, Some(joined)).resumed);
        assert!(put(&mut buffer, 2_000, vec![person("a")], None) > joined);
    }

    #[test]
    fn a_joining_subscriber_gets_the_pieces_of_unfinished_replies() {
        let (mut buffer, [open, whole]) =
            (MessageBuffer::default(), [b"open", b"done"].map(|name| Digest::of(&[name])));
        let first = put(&mut buffer, 10, vec![person("a")], Some((open, false)));
        put(&mut buffer, 11, vec![person("a")], Some((whole, false)));
        put(&mut buffer, 12, vec![person("a")], None);
        put(&mut buffer, 13, vec![person("b")], Some((open, false)));
        let second = put(&mut buffer, 14, vec![role(Role::User), person("a")], Some((open, false)));
        put(&mut buffer, 15, vec![person("a")], Some((whole, true)));
        let start = buffer.start_position(&reader("a", Role::User), None);
        let joined: Vec<_> = start.joined.iter().map(|message| message.id).collect();
        assert_eq!((joined, start.seen), (vec![first, second], buffer.newest));
    }

    #[test]
    fn a_flood_stays_within_the_capacity() {
        let mut buffer = MessageBuffer::default();
        let many: Vec<_> = (0..1_000).map(|number| person(&format!("p{number}"))).collect();
        for step in 0..1_000 {
            put(&mut buffer, 10 + step, many.clone(), None);
        }
        assert!(buffer.bytes <= MAX_BYTES && buffer.messages.len() < 300, "{} messages", buffer.messages.len());
        let kept: usize = buffer.by_recipient.values().map(VecDeque::len).sum();
        assert_eq!(kept, buffer.messages.len() * many.len(), "nothing is left behind");
    }

    #[test]
    fn messages_to_a_role_count_from_when_it_is_active() {
        let mut buffer = MessageBuffer::default();
        let old = put(&mut buffer, 10, vec![role(Role::Agent)], None);
        let own = put(&mut buffer, 11, vec![person("a")], None);
        let switched = buffer.newest;
        let new = put(&mut buffer, 12, vec![role(Role::Agent)], None);
        let reader = Subscriber { since: switched, ..reader("a", Role::Agent) };
        assert_eq!(buffer.find(MessageId::default(), &reader).unwrap().id, own, "not {old}");
        assert_eq!(buffer.find(own, &reader).unwrap().id, new);
        assert!(
            buffer.is_lagging(MessageId::default(), &reader, 1) && !buffer.is_lagging(MessageId::default(), &reader, 2)
        );
    }

    proptest! {
        #[test]
        fn a_reader_gets_each_of_its_messages_once_and_in_order(sends in proptest::collection::vec((0..3_usize, 0..3_usize), 1..60)) {
            let (mut buffer, names) = (MessageBuffer::default(), ["a", "b", "c"]);
            let mut queue = Vec::new();
            for (one, other) in sends {
                let id = put(&mut buffer, 10, vec![person(names[one]), role(Role::ALL[other]), person(names[one])], None);
                if one == 0 || other == 0 {
                    queue.push(id);
                }
            }
            let (mut seen, mut got) = (MessageId::default(), Vec::new());
            while let Some(message) = buffer.next_after(&mut seen, &reader("a", Role::ALL[0])) {
                seen = message.id;
                got.push(message.id);
            }
            prop_assert_eq!(got, queue);
            prop_assert_eq!(seen, buffer.newest);
        }
    }
}
