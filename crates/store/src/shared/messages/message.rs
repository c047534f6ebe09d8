//! A message, before and after it gets its id.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use deskpass_core::{Digest, FrameDraft, MessageId, Recipient, SocketKind, Timestamp};

use super::delivery_count::DeliveryCount;

/// How long a message is kept for clients that reconnect. Twice the documented time.
pub(crate) const MESSAGE_RETENTION: Duration = Duration::from_mins(2);

/// The longest pause within a streamed reply.
pub(crate) const STREAM_IDLE_TIMEOUT: Duration = Duration::from_mins(10);

/// A message with its id.
#[derive(Debug)]
pub struct StoredMessage {
    /// The id, which defines its position among all messages.
    pub id: MessageId,
    /// The recipients.
    pub to: Vec<Recipient>,
    /// The kind of sockets that it is sent to; `None` for both kinds.
    pub socket: Option<SocketKind>,
    /// The outgoing text frame.
    pub frame: Bytes,
    /// When it was sent.
    pub(crate) at: Timestamp,
    /// The reply that it is a piece of, and whether it is the last piece.
    pub(crate) stream: Option<(Digest, bool)>,
}

impl StoredMessage {
    pub(crate) fn new(id: MessageId, draft: DraftMessage) -> Self {
        let DraftMessage { to, socket, frame, at, stream } = draft;
        Self { id, to, socket, frame: frame.with_id(id).into(), at, stream }
    }
}

/// A message without an id.
#[derive(Debug)]
pub(crate) struct DraftMessage {
    pub(crate) to: Vec<Recipient>,
    pub(crate) socket: Option<SocketKind>,
    pub(crate) frame: FrameDraft,
    pub(crate) at: Timestamp,
    pub(crate) stream: Option<(Digest, bool)>,
}

/// The outcome of posting a message.
#[derive(Debug)]
pub enum PostOutcome {
    /// The message was posted before.
    Duplicate,
    /// The message is stored, and this process delivers it to its clients.
    Local(Arc<StoredMessage>),
    /// The message is stored, and every node counts its deliveries.
    AllNodes(MessageId, DeliveryCount),
}

/// The node that requests a delivery count, and the number of its request.
pub type DeliveryQuery = (String, u64);

/// Messages that this node has not read before.
#[derive(Debug)]
pub struct IncomingMessages {
    /// The messages in order, each with the node that requests its count.
    pub messages: Vec<(StoredMessage, DeliveryQuery)>,
    /// Set when there are no more for now: everything after this id has been read since this node's start.
    pub whole_since: Option<MessageId>,
    /// Set when messages are lost, or may be: some up to this id are missing.
    pub gap: Option<MessageId>,
}
