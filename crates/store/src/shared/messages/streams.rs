//! Checks the order of the messages in a stream.

use deskpass_core::{Chunk, ChunkOutOfOrder, Digest, Message, Recipient, SocketKind, StreamProgress, Timestamp};

use super::message::DraftMessage;

/// A message that does not follow the previous one in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectedMessage {
    /// Its index among the posted messages.
    pub place: usize,
    /// The reason.
    pub why: ChunkOutOfOrder,
}

/// The messages to store, with `None` for duplicates, and the progress of their streams.
type CheckedStreams = (Vec<Option<DraftMessage>>, Vec<(Digest, StreamProgress)>);

/// Checks that each message of a stream follows the previous one. `known` returns the progress of a stream.
pub(crate) fn check_streams(
    messages: &[Message],
    now: Timestamp,
    known: impl Fn(&Digest) -> Option<StreamProgress>,
) -> Result<CheckedStreams, RejectedMessage> {
    let mut progress: Vec<(Digest, StreamProgress)> = Vec::new();
    let mut drafts = Vec::with_capacity(messages.len());
    for (place, message) in messages.iter().enumerate() {
        let stream = stream_of(message);
        if let Some((stream, chunk)) = &stream {
            let begun = progress.iter_mut().find(|(other, _)| other == stream);
            let was = begun.as_ref().map(|(_, was)| *was).or_else(|| known(stream));
            let Some(next) = StreamProgress::advance(was, chunk).map_err(|why| RejectedMessage { place, why })? else {
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
        drafts.push(Some(DraftMessage { to, socket, frame, at: now, stream }));
    }
    Ok((drafts, progress))
}

/// Returns the digest that identifies the stream of a message among the streams of all recipients.
pub(crate) fn stream_of(message: &Message) -> Option<(Digest, Chunk)> {
    let chunk = message.chunk.clone()?;
    let mut recipients: Vec<_> = message.to.iter().map(name).collect();
    recipients.sort_unstable();
    let (recipients, socket) = (recipients.join("\n"), message.socket.map_or("", SocketKind::name));
    let parts = ["stream", &recipients, socket, chunk.stream.as_str()].map(str::as_bytes);
    Some((Digest::of(&parts), chunk))
}

/// Returns the name of a recipient. It must stay the same across versions, because nodes of two versions share streams.
fn name(to: &Recipient) -> String {
    match to {
        Recipient::Person(key) => format!("person {}/{}", key.corp(), key.id()),
        Recipient::Role(corp, role) => format!("role {}/{role}", corp.as_str()),
    }
}
