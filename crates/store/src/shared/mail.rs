//! Messages to those who are connected, in one order for all. What was sent lately is kept for a while, so that whoever lost
//! the line can go on where they were.

mod replays;
mod ring;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use deskpass_core::{
    Chunk, Digest, Message, MessageId, OpenFrame, OutOfStream, Recipient, SocketKind, StreamProgress, Timestamp,
};

use tokio::sync::watch;
use tokio::time::timeout;

use self::replays::{NotFresh, Replays};
use self::ring::Ring;
pub use self::ring::{Reader, Start};
use super::redis::{Arrived, Ask, Counting, MailInRedis, Round, Server};
use crate::StoreError;

/// How long a message is kept for those who come back. Twice what is promised.
pub(super) const KEPT: Duration = Duration::from_mins(2);

/// How long a reply that is being written may pause.
pub(super) const PAUSE: Duration = Duration::from_mins(10);

/// How long somebody waits for a node that has just begun.
const PATIENCE: Duration = Duration::from_secs(1);

/// The first place at a moment.
fn place_at(now: Timestamp) -> MessageId {
    MessageId { at: u64::try_from(now.millis()).unwrap_or_default(), step: 0 }
}

/// A message in its place.
#[derive(Debug)]
pub struct Letter {
    /// Its place among all.
    pub id: MessageId,
    /// Whom it is for.
    pub to: Vec<Recipient>,
    /// On which sockets; on both kinds where none is said.
    pub socket: Option<SocketKind>,
    /// The frame that goes out, which is text.
    pub frame: Bytes,
    /// When it was sent.
    pub(crate) at: Timestamp,
    /// Which reply it is a piece of, and whether it is the last one.
    pub(crate) stream: Option<(Digest, bool)>,
}

impl Letter {
    pub(super) fn new(id: MessageId, draft: Draft) -> Self {
        let Draft { to, socket, frame, at, stream } = draft;
        Self { id, to, socket, frame: frame.close(id).into(), at, stream }
    }
}

/// A message before its place is known.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) to: Vec<Recipient>,
    pub(super) socket: Option<SocketKind>,
    pub(super) frame: OpenFrame,
    pub(super) at: Timestamp,
    pub(super) stream: Option<(Digest, bool)>,
}

/// A message that does not follow the one before in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Which of those that were handed in.
    pub place: usize,
    /// What is wrong.
    pub why: OutOfStream,
}

/// What became of a message.
#[derive(Debug)]
pub enum Posted {
    /// It had been handed in before.
    Before,
    /// It is in its place, and whoever is connected to this process can be told.
    Here(Arc<Letter>),
    /// It is in its place, and every node counts whom it tells.
    Everywhere(MessageId, Counting),
}

/// Letters of other nodes that this node reads for the first time, and that were sent lately.
#[derive(Debug)]
pub struct Admitted(Arrived);

impl Admitted {
    /// Whether nothing could be read for so long that some may be gone.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.0.gap
    }
}

/// Takes messages and keeps them in order.
pub struct Mail {
    ring: Mutex<Ring>,
    /// Whether what was sent before this node began has been read.
    begun: watch::Sender<bool>,
    /// What was taken in from other nodes.
    replays: Mutex<Replays>,
    /// How many messages were found in Redis that are not fresh.
    dropped: AtomicU64,
    nodes: Option<MailInRedis>,
}

impl Mail {
    pub(super) fn new(server: Option<&Arc<Server>>) -> Self {
        let nodes = server.map(|server| MailInRedis::new(Arc::clone(server)));
        let (replays, dropped) = (Mutex::default(), AtomicU64::new(0));
        Self { ring: Mutex::new(Ring::new()), begun: watch::Sender::default(), replays, dropped, nodes }
    }

    /// Takes messages, all or none of them.
    ///
    /// # Errors
    /// When what nodes share does not answer.
    pub async fn post(&self, messages: Vec<Message>, now: Timestamp) -> Result<Result<Vec<Posted>, Unfit>, StoreError> {
        match &self.nodes {
            Some(nodes) => nodes.post(messages, now).await,
            None => Ok(self.post_here(&messages, now)),
        }
    }

    fn post_here(&self, messages: &[Message], now: Timestamp) -> Result<Vec<Posted>, Unfit> {
        let mut ring = self.ring();
        ring.begin(place_at(now).before());
        let (drafts, progress) = follow(messages, now, |stream| ring.progress(stream, now))?;
        for (stream, progress) in progress {
            ring.keep_progress(stream, progress, now);
        }
        let posted = drafts.into_iter().map(|draft| {
            draft.map_or(Posted::Before, |draft| {
                let id = ring.newest().next(place_at(now).at);
                Posted::Here(ring.append(Letter::new(id, draft)))
            })
        });
        let posted = posted.collect();
        ring.forget(now);
        Ok(posted)
    }

    /// The way in of what other nodes take, where there may be others.
    pub fn round(&self) -> Option<Round> {
        self.nodes.as_ref().map(MailInRedis::round)
    }

    /// Puts letters that came from other nodes into their places.
    pub fn take_in(&self, Admitted(arrived): Admitted, now: Timestamp) -> Vec<(Arc<Letter>, Ask)> {
        let mut ring = self.ring();
        if arrived.gap {
            let known = arrived.letters.first().map_or(ring.newest(), |(letter, _)| letter.id.before());
            ring.lose(known);
        }
        let fresh: Vec<_> = arrived.letters.into_iter().filter(|(letter, _)| letter.id > ring.newest()).collect();
        // From when it is here: clocks of other nodes may be wrong.
        let taken = fresh.into_iter().map(|(letter, ask)| (ring.append(Letter { at: now, ..letter }), ask)).collect();
        if let Some(since) = arrived.whole_since {
            ring.begin(since);
            self.begun.send_replace(true);
        }
        ring.forget(now);
        taken
    }

    /// Admits what was read just now. What was read before, or was not sent lately, was put into Redis again: it is dropped and
    /// counted.
    pub fn admit(&self, mut arrived: Arrived, now: Timestamp) -> Admitted {
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut replayed, mut out_of_time) = (0_u64, 0_u64);
        arrived.letters.retain(|(letter, ask)| match replays.admit(ask, letter.at, now) {
            Ok(()) => true,
            Err(NotFresh::Replayed) => {
                replayed += 1;
                false
            }
            Err(NotFresh::OutOfTime) => {
                out_of_time += 1;
                false
            }
        });
        let dropped = replayed + out_of_time;
        let before = self.dropped.fetch_add(dropped, Ordering::Relaxed);
        // Whoever writes to Redis must not fill the log: one line when it begins, and one for every thousand.
        if dropped > 0 && (before == 0 || before / 1_000 != (before + dropped) / 1_000) {
            tracing::warn!(
                replayed,
                out_of_time,
                "messages in Redis were dropped: delivered before, or sent more than 3 minutes ago or in the future; \
                 check the clocks of all nodes, and who can write to Redis"
            );
        }
        Admitted(arrived)
    }

    /// How many messages were found in Redis and dropped since this node began, because they had been taken in before or were
    /// not sent lately.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits a while until this node has read what was sent before it began, without which nobody can be told where they are.
    ///
    /// # Errors
    /// When it has not.
    pub async fn begun(&self) -> Result<(), StoreError> {
        if self.nodes.is_none() {
            return Ok(());
        }
        match timeout(PATIENCE, self.begun.subscribe().wait_for(|begun| *begun)).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(StoreError::shared("messages have not been read yet".to_owned())),
        }
    }

    /// Where somebody begins who has seen everything up to `last`, or nothing.
    #[must_use]
    pub fn start(&self, reader: &Reader, last: Option<MessageId>, now: Timestamp) -> Start {
        let (mut ring, place) = (self.ring(), place_at(now));
        let latest = self.nodes.as_ref().map_or(place.at, MailInRedis::latest).max(ring.newest().at);
        if self.nodes.is_none() {
            ring.begin(place.before());
        }
        ring.forget(now);
        ring.start(reader, last.filter(|last| last.at <= latest))
    }

    /// The next letter after `seen` for this reader; where there is none, `seen` is moved up to the newest.
    #[must_use]
    pub fn after(&self, seen: &mut MessageId, reader: &Reader) -> Option<Arc<Letter>> {
        self.ring().after(seen, reader)
    }

    /// Whether this reader has not seen more letters than so many.
    #[must_use]
    pub fn is_behind(&self, seen: MessageId, reader: &Reader, most: usize) -> bool {
        self.ring().is_behind(seen, reader, most)
    }

    /// Whether a letter that was kept is not any more.
    #[must_use]
    pub fn is_gone(&self, id: MessageId) -> bool {
        self.ring().is_gone(id)
    }

    /// The newest place that is taken.
    #[must_use]
    pub fn newest(&self) -> MessageId {
        self.ring().newest()
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // Nothing that is done under the lock leaves it half done.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mail(up to {})", self.newest())
    }
}

/// The messages that are to be kept, `None` in the place of those that were there before, and how far streams are with them.
type Followed = (Vec<Option<Draft>>, Vec<(Digest, StreamProgress)>);

/// Sees that each message of a stream follows the one before; `known` says how far streams are.
pub(super) fn follow(
    messages: &[Message],
    now: Timestamp,
    known: impl Fn(&Digest) -> Option<StreamProgress>,
) -> Result<Followed, Unfit> {
    let mut progress: Vec<(Digest, StreamProgress)> = Vec::new();
    let mut drafts = Vec::with_capacity(messages.len());
    for (place, message) in messages.iter().enumerate() {
        let stream = stream_of(message);
        if let Some((stream, chunk)) = &stream {
            let begun = progress.iter_mut().find(|(other, _)| other == stream);
            let was = begun.as_ref().map(|(_, was)| *was).or_else(|| known(stream));
            let Some(next) = StreamProgress::with(was, chunk).map_err(|why| Unfit { place, why })? else {
                drafts.push(None);
                continue;
            };
            match begun {
                Some((_, was)) => *was = next,
                None => progress.push((*stream, next)),
            }
        }
        let stream = stream.map(|(stream, chunk)| (stream, chunk.done));
        let Message { to, socket, frame, .. } = message.clone();
        drafts.push(Some(Draft { to, socket, frame, at: now, stream }));
    }
    Ok((drafts, progress))
}

/// Names the stream of a message among those of all recipients.
pub(super) fn stream_of(message: &Message) -> Option<(Digest, Chunk)> {
    let chunk = message.chunk.clone()?;
    let mut whom: Vec<_> = message.to.iter().map(name).collect();
    whom.sort_unstable();
    let (whom, socket) = (whom.join("\n"), message.socket.map_or("", SocketKind::name));
    let parts = ["stream", &whom, socket, chunk.stream.as_str()].map(str::as_bytes);
    Some((Digest::of(&parts), chunk))
}

/// A recipient in one word. Nodes of the next version must mean the same by it.
fn name(to: &Recipient) -> String {
    match to {
        Recipient::Person(key) => format!("person {}/{}", key.corp(), key.id()),
        Recipient::Role(corp, role) => format!("role {}/{role}", corp.as_str()),
    }
}
