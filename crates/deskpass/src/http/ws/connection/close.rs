//! How a socket ends, and what the client is told of it.

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

/// How long a client may take to say goodbye; and one that is behind, to hear of it.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const SLOW_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a socket ends.
#[derive(Debug)]
pub(super) enum SocketClose {
    /// It is over on our side.
    SessionEnded(CloseReason),
    /// This process is about to go.
    Restarting,
    /// Nothing was heard for too long.
    PingTimeout,
    /// The client says too much.
    TooManyMessages,
    /// The client sends what is no text.
    Binary,
    /// The client does not keep to the protocol, sends what is no UTF-8, or too much at once.
    Protocol,
    NotUtf8,
    TooBig,
    /// The client says goodbye.
    ClosedByClient,
    /// There is nobody.
    Disconnected,
}

impl SocketClose {
    /// What an error on the line comes to.
    pub(super) fn from_error(error: &Error) -> Self {
        match error {
            // Whoever goes without a word breaks no rule that matters any more.
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => Self::Disconnected,
            Error::Protocol(_) => Self::Protocol,
            Error::Utf8(_) => Self::NotUtf8,
            Error::Capacity(_) => Self::TooBig,
            Error::Io(error) if error.kind() == ErrorKind::QuotaExceeded => Self::TooManyMessages,
            _ => Self::Disconnected,
        }
    }

    /// The close code.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::SessionEnded(CloseReason::Refused(Refusal::Token(_))) => 4401,
            Self::SessionEnded(CloseReason::Refused(_)) => 4403,
            Self::SessionEnded(CloseReason::Replaced) => 4409,
            Self::SessionEnded(CloseReason::TooSlow) => 1013,
            Self::Restarting => 1012,
            Self::PingTimeout => 1001,
            Self::TooManyMessages => 1008,
            Self::Binary => 1003,
            Self::Protocol => 1002,
            Self::NotUtf8 => 1007,
            Self::TooBig => 1009,
            Self::ClosedByClient => 1000,
            Self::Disconnected => 1006,
        }
    }

    /// The word that goes with it.
    fn name(&self) -> &'static str {
        match self {
            Self::SessionEnded(CloseReason::Refused(refusal)) => refusal.name(),
            Self::SessionEnded(CloseReason::Replaced) => "replaced",
            Self::SessionEnded(CloseReason::TooSlow) => "too_slow",
            Self::Restarting => "restarting",
            Self::PingTimeout => "silent",
            Self::TooManyMessages => "too_many_messages",
            Self::Binary => "text_only",
            Self::Protocol => "protocol_error",
            Self::NotUtf8 => "not_utf8",
            Self::TooBig => "too_big",
            Self::ClosedByClient | Self::Disconnected => "",
        }
    }

    /// What is said before: that the session is what ends, or from where to go on.
    fn final_event(&self) -> Option<serde_json::Value> {
        match self {
            Self::SessionEnded(CloseReason::Refused(refusal)) => {
                Some(json!({ "event": "ending", "reason": refusal.name() }))
            }
            Self::Restarting => Some(json!({ "event": "restarting" })),
            _ => None,
        }
    }
}

impl SocketSession<'_> {
    /// Says goodbye, and waits a while for the client to do so.
    pub(super) async fn close(mut self, reason: SocketClose) {
        let limit = if let SocketClose::SessionEnded(CloseReason::TooSlow) = reason {
            SLOW_CLOSE_TIMEOUT
        } else {
            CLOSE_TIMEOUT
        };
        let goodbye = async {
            // Fails where the line is closed, which it is once both have said goodbye.
            let _ = self.close_handshake(&reason).await;
            if matches!(
                reason,
                SocketClose::Protocol | SocketClose::NotUtf8 | SocketClose::TooBig | SocketClose::ClosedByClient
            ) {
                self.drain().await;
            }
        };
        if matches!(reason, SocketClose::Disconnected) || timeout(limit, goodbye).await.is_ok() {
            return;
        }
        // What was not read would stay with the system for as long as the client likes.
        self.line.get_ref().reset_on_close();
    }

    async fn close_handshake(&mut self, reason: &SocketClose) -> Result<(), Error> {
        write_pending(&mut self.line, &mut self.pending, None).await?;
        if let Some(last) = reason.final_event() {
            self.pending = text_frame(self.session_frame(&last));
            write_pending(&mut self.line, &mut self.pending, None).await?;
        }
        let frame = CloseFrame { code: reason.code().into(), reason: reason.name().into() };
        self.line.close((!matches!(reason, SocketClose::ClosedByClient)).then_some(frame)).await?;
        while let Some(heard) = self.line.next().await {
            heard?;
        }
        Ok(())
    }

    /// Reads on what does not matter any more: a line that is closed over something unread is cut, and the client may lose
    /// the code that it was closed with.
    async fn drain(&mut self) {
        let stream = self.line.get_mut();
        let _ = stream.shutdown().await;
        // Not within this future, whose room every socket takes as long as it is open.
        let mut unread = vec![0; 2 * 1024];
        while let Ok(1..) = stream.read(&mut unread).await {}
    }
}
