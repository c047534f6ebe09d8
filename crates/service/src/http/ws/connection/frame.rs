//! Frames on their way to the client.

use bytes::buf::Chain;
use bytes::{Buf as _, Bytes};
use futures_util::SinkExt as _;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error;

use crate::http::ws::connection::metered::MeteredStream;

/// The WebSocket of a connection.
pub(super) type SocketStream = WebSocketStream<MeteredStream>;

/// The head and the text of a frame. They bypass the stream's write buffer, which would keep the size of the longest frame.
pub(super) type PendingFrame = Chain<Bytes, Bytes>;

/// A text as one unmasked frame, as servers send it.
pub(super) fn text_frame(text: Bytes) -> PendingFrame {
    const TEXT: u8 = 0x81;
    let head = match (u8::try_from(text.len()), u16::try_from(text.len())) {
        (Ok(length @ ..126), _) => Bytes::copy_from_slice(&[TEXT, length]),
        (_, Ok(length)) => Bytes::from([&[TEXT, 126], length.to_be_bytes().as_slice()].concat()),
        _ => Bytes::from([&[TEXT, 127], (text.len() as u64).to_be_bytes().as_slice()].concat()),
    };
    head.chain(text)
}

/// A ping without a payload.
pub(super) fn ping_frame() -> PendingFrame {
    const PING: &[u8] = &[0x89, 0];
    Bytes::from_static(PING).chain(Bytes::new())
}

/// Nothing to send.
pub(super) fn no_frame() -> PendingFrame {
    Bytes::new().chain(Bytes::new())
}

/// Writes the pending frame, after what the protocol itself has to send. The future may be dropped; the next call resumes.
pub(super) async fn write_pending(line: &mut SocketStream, pending: &mut PendingFrame) -> Result<(), Error> {
    line.flush().await?;
    line.get_mut().write_all_buf(pending).await?;
    // With TLS, written bytes may still wait in a buffer.
    Ok(AsyncWriteExt::flush(line.get_mut()).await?)
}
