//! The letters of the last while, findable by whom they are for.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use deskpass_core::{CorpId, Digest, EmployeeKey, MessageId, Recipient, Role, SocketKind, StreamProgress, Timestamp};

use super::{KEPT, Letter, PAUSE};

/// The most that is kept, in letters and in bytes; a flood shortens how long.
const LETTERS: usize = 100_000;
const BYTES: usize = 64 << 20;

/// The recipients of whom is known what they cannot get any more.
const FORGOTTEN: usize = 50_000;

/// The replies that may be under way at once.
const STREAMS: usize = 50_000;

/// Whoever reads: a socket, by what messages to it are addressed to.
#[derive(Clone, Debug)]
pub struct Reader {
    person: Recipient,
    role: Recipient,
    /// Messages to the role count after this one: before it another role was active.
    since: MessageId,
    socket: SocketKind,
}

impl Reader {
    /// A socket of this kind of a person of a corporation, who is active in a role since then.
    #[must_use]
    pub fn new(person: &EmployeeKey, corp: &CorpId, (role, since): (Role, MessageId), socket: SocketKind) -> Self {
        Self { person: Recipient::Person(person.clone()), role: Recipient::Role(corp.clone(), role), since, socket }
    }

    /// Whether a letter is for them.
    #[must_use]
    pub fn gets(&self, letter: &Letter) -> bool {
        let in_role = letter.id > self.since;
        self.is_on(letter) && letter.to.iter().any(|to| *to == self.person || in_role && *to == self.role)
    }

    fn is_on(&self, letter: &Letter) -> bool {
        letter.socket.is_none_or(|socket| socket == self.socket)
    }
}

/// Where somebody begins.
#[derive(Debug)]
pub struct Start {
    /// Everything up to here is seen, or not to be sent.
    pub seen: MessageId,
    /// Whether nothing was missed since they were here last.
    pub resumed: bool,
    /// The pieces of replies that are still being written, for whoever comes in the middle.
    pub joined: Vec<Arc<Letter>>,
}

/// The letters.
pub(super) struct Ring {
    letters: VecDeque<Arc<Letter>>,
    by_recipient: HashMap<Recipient, VecDeque<Arc<Letter>>>,
    bytes: usize,
    newest: MessageId,
    /// Before this one nothing is known, once anything is.
    since: Option<MessageId>,
    /// The newest one that is not here any more: of all, and by whom they were for.
    gone: MessageId,
    forgotten: HashMap<Recipient, MessageId>,
    streams: HashMap<Digest, (StreamProgress, Timestamp)>,
}

impl Ring {
    pub(super) fn new() -> Self {
        let (letters, by_recipient, streams) = (VecDeque::new(), HashMap::new(), HashMap::new());
        let (newest, gone, forgotten) = (MessageId::default(), MessageId::default(), HashMap::new());
        Self { letters, by_recipient, bytes: 0, newest, since: None, gone, forgotten, streams }
    }

    pub(super) fn newest(&self) -> MessageId {
        self.newest
    }

    /// Everything after `place` will be here.
    pub(super) fn begin(&mut self, place: MessageId) {
        if self.since.is_none() {
            self.since = Some(place);
            self.newest = self.newest.max(place);
        }
    }

    /// What came between here and `place` is not known.
    pub(super) fn lose(&mut self, place: MessageId) {
        self.since = Some(place);
    }

    pub(super) fn append(&mut self, letter: Letter) -> Arc<Letter> {
        let letter = Arc::new(letter);
        self.newest = letter.id;
        self.bytes += weight(&letter);
        for to in &letter.to {
            let theirs = self.by_recipient.entry(to.clone()).or_default();
            // Somebody may be named twice.
            if theirs.back().is_none_or(|last| last.id != letter.id) {
                theirs.push_back(Arc::clone(&letter));
            }
        }
        self.letters.push_back(Arc::clone(&letter));
        letter
    }

    /// Forgets what is too old or too much.
    pub(super) fn forget(&mut self, now: Timestamp) {
        while self
            .letters
            .front()
            .is_some_and(|oldest| now.since(oldest.at) > KEPT || self.letters.len() > LETTERS || self.bytes > BYTES)
        {
            let Some(oldest) = self.letters.pop_front() else { return };
            self.bytes -= weight(&oldest);
            self.gone = oldest.id;
            for to in &oldest.to {
                self.forget_for(to, oldest.id);
            }
        }
    }

    fn forget_for(&mut self, to: &Recipient, id: MessageId) {
        if self.forgotten.len() >= FORGOTTEN {
            self.forgotten.clear();
            self.since = Some(id);
        }
        self.forgotten.insert(to.clone(), id);
        let Some(theirs) = self.by_recipient.get_mut(to) else { return };
        if theirs.front().is_some_and(|first| first.id == id) {
            theirs.pop_front();
        }
        if theirs.is_empty() {
            self.by_recipient.remove(to);
        }
    }

    /// Whether a letter that was here is not any more.
    pub(super) fn is_gone(&self, id: MessageId) -> bool {
        id <= self.gone
    }

    /// Whoever was here before gets everything that came since and is still here, and is told whether that is all. They may
    /// have seen, on another node, what this one has not read yet.
    pub(super) fn start(&self, reader: &Reader, last: Option<MessageId>) -> Start {
        let Some(seen) = last else {
            return Start { seen: self.newest, resumed: false, joined: self.under_way(reader) };
        };
        let forgotten = |whom| self.forgotten.get(whom).is_some_and(|gone| *gone > seen);
        let known = self.since.is_some_and(|since| seen >= since);
        let resumed = known && !forgotten(&reader.person) && !forgotten(&reader.role);
        Start { seen, resumed, joined: Vec::new() }
    }

    /// The pieces kept of replies to this reader that are not whole.
    fn under_way(&self, reader: &Reader) -> Vec<Arc<Letter>> {
        let theirs = |whom| self.by_recipient.get(whom).into_iter().flatten();
        let pieces = theirs(&reader.person).chain(theirs(&reader.role)).filter(|letter| reader.is_on(letter));
        let mut pieces: Vec<_> = pieces.filter(|letter| letter.stream.is_some()).cloned().collect();
        let ends = pieces.iter().filter_map(|letter| letter.stream).filter(|(_, done)| *done);
        let whole: HashSet<_> = ends.map(|(stream, _)| stream).collect();
        pieces.retain(|letter| letter.stream.is_some_and(|(stream, _)| !whole.contains(&stream)));
        pieces.sort_by_key(|letter| letter.id);
        pieces.dedup_by_key(|letter| letter.id);
        pieces
    }

    /// The next letter; where there is none, everything up to the newest is seen.
    pub(super) fn after(&self, seen: &mut MessageId, reader: &Reader) -> Option<Arc<Letter>> {
        let found = self.find(*seen, reader);
        if found.is_none() {
            *seen = self.newest.max(*seen);
        }
        found
    }

    fn find(&self, seen: MessageId, reader: &Reader) -> Option<Arc<Letter>> {
        let next = |whom, seen| self.unseen(seen, whom).find(|letter| reader.is_on(letter));
        let (person, role) = (next(&reader.person, seen), next(&reader.role, seen.max(reader.since)));
        person.into_iter().chain(role).min_by_key(|letter| letter.id).cloned()
    }

    /// Whether this reader has not seen more than so many.
    pub(super) fn is_behind(&self, seen: MessageId, reader: &Reader, most: usize) -> bool {
        let theirs = self.unseen(seen, &reader.person).chain(self.unseen(seen.max(reader.since), &reader.role));
        theirs.filter(|letter| reader.is_on(letter)).nth(most).is_some()
    }

    fn unseen(&self, seen: MessageId, whom: &Recipient) -> impl Iterator<Item = &Arc<Letter>> {
        let theirs = self.by_recipient.get(whom);
        theirs.into_iter().flat_map(move |theirs| theirs.range(theirs.partition_point(|letter| letter.id <= seen)..))
    }

    pub(super) fn progress(&self, stream: &Digest, now: Timestamp) -> Option<StreamProgress> {
        self.streams.get(stream).filter(|(_, until)| now < *until).map(|(progress, _)| *progress)
    }

    pub(super) fn keep_progress(&mut self, stream: Digest, progress: StreamProgress, now: Timestamp) {
        if self.streams.len() >= STREAMS {
            self.streams.retain(|_, (_, until)| now < *until);
        }
        if self.streams.len() >= STREAMS {
            // More replies at once than a desk has people: which ones are followed closely is then a matter of luck.
            self.streams.clear();
        }
        self.streams.insert(stream, (progress, now + if progress.done { KEPT } else { PAUSE }));
    }
}

/// About what a letter takes: its frame, and an entry for each of its recipients.
fn weight(letter: &Letter) -> usize {
    letter.frame.len() + 256 * (1 + letter.to.len())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::{MessageKind, OpenFrame};
    use proptest::prelude::*;

    use super::super::Draft;
    use super::*;

    fn person(id: &str) -> Recipient {
        Recipient::Person(EmployeeKey::from_parts("ww", id))
    }

    fn reader(id: &str, role: Role) -> Reader {
        let person = EmployeeKey::from_parts("ww", id);
        Reader::new(&person, &person.corp_id(), (role, MessageId::default()), SocketKind::Employee)
    }

    fn role(role: Role) -> Recipient {
        Recipient::Role(EmployeeKey::from_parts("ww", "x").corp_id(), role)
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(i64::try_from(millis).unwrap())
    }

    fn put(ring: &mut Ring, millis: u64, to: Vec<Recipient>, stream: Option<(Digest, bool)>) -> MessageId {
        ring.begin(MessageId { at: 1, step: 0 });
        let frame = OpenFrame::new(MessageKind::AiThinking, None, None, "").unwrap();
        let id = ring.newest().next(millis);
        let letter = ring.append(Letter::new(id, Draft { to, socket: None, frame, at: at(millis), stream }));
        ring.forget(at(millis));
        letter.id
    }

    #[test]
    fn whoever_was_idle_for_long_misses_nothing_that_came_lately() {
        let mut ring = Ring::new();
        let seen = put(&mut ring, 1_000, vec![person("a")], None);
        let long = u64::try_from(KEPT.as_millis()).unwrap() * 10;
        for step in 0..50 {
            put(&mut ring, long + step * 60_000, vec![person("b")], None);
        }
        let fresh = put(&mut ring, long + 50 * 60_000, vec![person("a")], None);
        let start = ring.start(&reader("a", Role::User), Some(seen));
        assert!(start.resumed, "nothing of theirs was forgotten since");
        assert_eq!(ring.find(start.seen, &reader("a", Role::User)).unwrap().id, fresh);
        let start = ring.start(&reader("b", Role::User), Some(seen));
        assert!(!start.resumed, "of this one's much was");
        assert!(ring.find(start.seen, &reader("b", Role::User)).is_some(), "and what is left comes");
        let before = MessageId { at: 0, step: 9 };
        assert!(!ring.start(&reader("a", Role::User), Some(before)).resumed, "of another life");
    }

    #[test]
    fn whoever_joins_gets_the_pieces_of_what_is_not_whole() {
        let (mut ring, [open, whole]) = (Ring::new(), [b"open", b"done"].map(|name| Digest::of(&[name])));
        let first = put(&mut ring, 10, vec![person("a")], Some((open, false)));
        put(&mut ring, 11, vec![person("a")], Some((whole, false)));
        put(&mut ring, 12, vec![person("a")], None);
        put(&mut ring, 13, vec![person("b")], Some((open, false)));
        let second = put(&mut ring, 14, vec![role(Role::User), person("a")], Some((open, false)));
        put(&mut ring, 15, vec![person("a")], Some((whole, true)));
        let start = ring.start(&reader("a", Role::User), None);
        let joined: Vec<_> = start.joined.iter().map(|letter| letter.id).collect();
        assert_eq!((joined, start.seen), (vec![first, second], ring.newest()));
    }

    #[test]
    fn a_flood_ends_at_the_room_there_is() {
        let mut ring = Ring::new();
        let many: Vec<_> = (0..1_000).map(|number| person(&format!("p{number}"))).collect();
        for step in 0..1_000 {
            put(&mut ring, 10 + step, many.clone(), None);
        }
        assert!(ring.bytes <= BYTES && ring.letters.len() < 300, "{} letters", ring.letters.len());
        let kept: usize = ring.by_recipient.values().map(VecDeque::len).sum();
        assert_eq!(kept, ring.letters.len() * many.len(), "nothing is left behind");
    }

    #[test]
    fn messages_to_a_role_count_from_when_it_is_active() {
        let mut ring = Ring::new();
        let old = put(&mut ring, 10, vec![role(Role::Agent)], None);
        let own = put(&mut ring, 11, vec![person("a")], None);
        let switched = ring.newest();
        let new = put(&mut ring, 12, vec![role(Role::Agent)], None);
        let reader = Reader { since: switched, ..reader("a", Role::Agent) };
        assert_eq!(ring.find(MessageId::default(), &reader).unwrap().id, own, "not {old}");
        assert_eq!(ring.find(own, &reader).unwrap().id, new);
        assert!(ring.is_behind(MessageId::default(), &reader, 1) && !ring.is_behind(MessageId::default(), &reader, 2));
    }

    proptest! {
        #[test]
        fn a_reader_gets_what_is_theirs_once_and_in_order(sends in proptest::collection::vec((0..3_usize, 0..3_usize), 1..60)) {
            let (mut ring, names) = (Ring::new(), ["a", "b", "c"]);
            let mut theirs = Vec::new();
            for (one, other) in sends {
                let id = put(&mut ring, 10, vec![person(names[one]), role(Role::ALL[other]), person(names[one])], None);
                if one == 0 || other == 0 {
                    theirs.push(id);
                }
            }
            let (mut seen, mut got) = (MessageId::default(), Vec::new());
            while let Some(letter) = ring.after(&mut seen, &reader("a", Role::ALL[0])) {
                seen = letter.id;
                got.push(letter.id);
            }
            prop_assert_eq!(got, theirs);
            prop_assert_eq!(seen, ring.newest());
        }
    }
}
