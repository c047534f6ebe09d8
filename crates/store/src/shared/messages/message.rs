//! A message, before it has its place and after.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use deskpass_core::{Digest, FrameDraft, MessageId, Recipient, SocketKind, Timestamp};

use super::delivery_count::DeliveryCount;

/// How long a message is kept for those who come back. Twice what is promised.
pub(crate) const MESSAGE_RETENTION: Duration = Duration::from_mins(2);

/// How long a reply that is being written may pause.
pub(crate) const STREAM_IDLE_TIMEOUT: Duration = Duration::from_mins(10);

/// A message in its place.
#[derive(Debug)]
pub struct StoredMessage {
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

impl StoredMessage {
    pub(crate) fn new(id: MessageId, draft: DraftMessage) -> Self {
        let DraftMessage { to, socket, frame, at, stream } = draft;
        Self { id, to, socket, frame: frame.with_id(id).into(), at, stream }
    }
}

/// A message before its place is known.
#[derive(Debug)]
pub(crate) struct DraftMessage {
    pub(crate) to: Vec<Recipient>,
    pub(crate) socket: Option<SocketKind>,
    pub(crate) frame: FrameDraft,
    pub(crate) at: Timestamp,
    pub(crate) stream: Option<(Digest, bool)>,
}

/// What became of a message.
#[derive(Debug)]
pub enum PostOutcome {
    /// It had been handed in before.
    Duplicate,
    /// It is in its place, and whoever is connected to this process can be told.
    Local(Arc<StoredMessage>),
    /// It is in its place, and every node counts whom it tells.
    AllNodes(MessageId, DeliveryCount),
}

/// A node that wants to know how many were told, and which question that is.
pub type DeliveryQuery = (String, u64);

/// Letters that this node had not read.
#[derive(Debug)]
pub struct IncomingMessages {
    /// In order, each with who asks about it.
    pub messages: Vec<(StoredMessage, DeliveryQuery)>,
    /// Where there are no more for now: everything after this place was read since this node began.
    pub whole_since: Option<MessageId>,
    /// Whether nothing could be read for so long that some may be gone.
    pub gap: bool,
}
