//! The letters of the last while, findable by whom they are for.

use std::collections::{HashMap, VecDeque};
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
    socket: SocketKind,
}

impl Reader {
    /// A socket of this kind of a person in an active role.
    #[must_use]
    pub fn new(person: &EmployeeKey, role: Role, socket: SocketKind) -> Self {
        Self { person: Recipient::Person(person.clone()), role: Recipient::Role(person.corp_id(), role), socket }
    }

    /// The corporation and active role.
    #[must_use]
    pub fn role(&self) -> (&CorpId, Role) {
        match &self.role {
            Recipient::Role(corp, role) => (corp, *role),
            // Made in one place, which makes it a role.
            Recipient::Person(_) => unreachable!("a reader's role is a role"),
        }
    }

    /// Whether a letter is for them.
    #[must_use]
    pub fn gets(&self, letter: &Letter) -> bool {
        self.is_on(letter) && letter.to.iter().any(|to| *to == self.person || *to == self.role)
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

    pub(super) fn append(&mut self, letter: Letter) -> Arc<Letter> {
        let letter = Arc::new(letter);
        self.newest = letter.id;
        self.bytes += letter.frame.len();
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
            self.bytes -= oldest.frame.len();
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

    /// Whoever was here before gets everything that came since and is still here, and is told whether that is all. One who
    /// has seen what has not come yet means another desk, and begins anew.
    pub(super) fn start(&self, reader: &Reader, last: Option<MessageId>) -> Start {
        let Some(seen) = last.filter(|last| *last <= self.newest) else {
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
        let whole: Vec<_> = pieces.iter().filter_map(|letter| letter.stream).filter(|(_, done)| *done).collect();
        let whole = |letter: &Letter| letter.stream.is_some_and(|(stream, _)| whole.contains(&(stream, true)));
        pieces.retain(|letter| !whole(letter));
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
        let next = |whom| self.unseen(seen, whom).find(|letter| reader.is_on(letter));
        let (person, role) = (next(&reader.person), next(&reader.role));
        person.into_iter().chain(role).min_by_key(|letter| letter.id).cloned()
    }

    pub(super) fn behind(&self, seen: MessageId, reader: &Reader) -> usize {
        let count = |whom| self.unseen(seen, whom).filter(|letter| reader.is_on(letter)).count();
        count(&reader.person) + count(&reader.role)
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
