//! The end of a socket: its close code, and the close handshake.

use std::io::ErrorKind;
use std::time::Duration;

use deskpass_auth::{CloseReason, Refusal};
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::SocketSession;
use super::frame::{text_frame, write_pending};

/// How long a client may take for the close handshake, normally and when it is behind.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const SLOW_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a socket is closed.
#[derive(Debug)]
pub(super) enum SocketClose {
    /// The session or the connection ended on the server.
    SessionEnded(CloseReason),
    /// This process is shutting down.
    Restarting,
    /// The client did not respond to pings.
    PingTimeout,
    /// The client sends too many messages.
    TooManyMessages,
    /// The client sends binary messages.
    Binary,
    /// The client violates the protocol, sends invalid UTF-8, or sends a message that is too large.
    Protocol,
    NotUtf8,
    TooBig,
    /// The client closes the socket.
    ClosedByClient,
    /// The connection is broken.
    Disconnected,
}

impl SocketClose {
    /// The close reason for an error on the connection.
    pub(super) fn from_error(error: &Error) -> Self {
        match error {
            // A client that disconnects without a close frame is gone, and needs no error.
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => Self::Disconnected,
            Error::Protocol(_) => Self::Protocol,
            Error::Utf8(_) => Self::NotUtf8,
            Error::Capacity(_) => Self::TooBig,
            Error::Io(error) if error.kind() == ErrorKind::QuotaExceeded => Self::TooManyMessages,
            _ => Self::Disconnected,
        }
    }

    /// The close code, and the reason in the close frame.
    pub(super) fn code_and_reason(&self) -> (u16, &'static str) {
        match self {
            Self::SessionEnded(CloseReason::Refused(refusal @ Refusal::Token(_))) => (4401, refusal.reason()),
            Self::SessionEnded(CloseReason::Refused(refusal)) => (4403, refusal.reason()),
            Self::SessionEnded(CloseReason::Replaced) => (4409, "replaced"),
            Self::SessionEnded(CloseReason::TooSlow) => (1013, "too_slow"),
            Self::Restarting => (1012, "restarting"),
            Self::PingTimeout => (1001, "silent"),
            Self::TooManyMessages => (1008, "too_many_messages"),
            Self::Binary => (1003, "text_only"),
            Self::Protocol => (1002, "protocol_error"),
            Self::NotUtf8 => (1007, "not_utf8"),
            Self::TooBig => (1009, "too_big"),
            Self::ClosedByClient => (1000, ""),
            Self::Disconnected => (1006, ""),
        }
    }

    /// The last event before the close frame: that the session ends, or where to resume.
    fn final_event(&self) -> Option<serde_json::Value> {
        match self {
            Self::SessionEnded(CloseReason::Refused(refusal)) => {
                Some(json!({ "event": "ending", "reason": refusal.reason() }))
            }
            Self::Restarting => Some(json!({ "event": "restarting" })),
            _ => None,
        }
    }
}

impl SocketSession {
    /// Sends a close frame, and waits for the client's.
    pub(super) async fn close(&mut self, reason: &SocketClose) {
        let limit = if let SocketClose::SessionEnded(CloseReason::TooSlow) = reason {
            SLOW_CLOSE_TIMEOUT
        } else {
            CLOSE_TIMEOUT
        };
        let goodbye = async {
            // Fails once the connection is closed, which it is after both close frames.
            let _ = self.close_handshake(reason).await;
            if matches!(
                reason,
                SocketClose::Protocol | SocketClose::NotUtf8 | SocketClose::TooBig | SocketClose::ClosedByClient
            ) {
                self.drain().await;
            }
        };
        if !matches!(reason, SocketClose::Disconnected) {
            let _ = timeout(limit, goodbye).await;
        }
    }

    async fn close_handshake(&mut self, reason: &SocketClose) -> Result<(), Error> {
        write_pending(&mut self.line, &mut self.pending).await?;
        if let Some(last) = reason.final_event() {
            self.pending = text_frame(self.session_frame(&last));
            write_pending(&mut self.line, &mut self.pending).await?;
        }
        let (code, text) = reason.code_and_reason();
        let frame = CloseFrame { code: code.into(), reason: text.into() };
        self.line.close((!matches!(reason, SocketClose::ClosedByClient)).then_some(frame)).await?;
        while let Some(received) = self.line.next().await {
            received?;
        }
        Ok(())
    }

    /// Discards what the client still sends: unread data would reset the connection, and the client may lose the close code.
    async fn drain(&mut self) {
        let stream = self.line.get_mut();
        let _ = stream.shutdown().await;
        // On the heap: otherwise the future would contain the buffer.
        let mut unread = vec![0; 2 * 1024];
        while let Ok(1..) = stream.read(&mut unread).await {}
    }
}
