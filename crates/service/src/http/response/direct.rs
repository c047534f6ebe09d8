//! Replies that are written to the connection without the HTTP library.

use bytes::Bytes;

/// A successful reply, for which only the request id and the headers are missing.
#[derive(Debug)]
pub(crate) enum DirectReply {
    /// An envelope, open at its end for the request id.
    Envelope(Vec<u8>),
    /// The JSON of an OpenID Connect endpoint, which has no envelope.
    Oidc(Bytes),
}
