//! How a socket ends, and what the client is told of it.

use std::io::ErrorKind;
use std::time::Duration;

use deskpass_auth::{End, Refusal};
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::{Talk, framed, push};

/// How long a client may take to say goodbye; and one that is behind, to hear of it.
const GOODBYE: Duration = Duration::from_secs(1);
const CATCHING_UP: Duration = Duration::from_secs(5);

/// Why a socket ends.
#[derive(Debug)]
pub(super) enum Parting {
    /// It is over on our side.
    Over(End),
    /// This process is about to go.
    Restarting,
    /// Nothing was heard for too long.
    Silent,
    /// The client says too much.
    TooManyMessages,
    /// The client sends what is no text.
    Binary,
    /// The client does not keep to the protocol, sends what is no UTF-8, or too much at once.
    Protocol,
    NotUtf8,
    TooBig,
    /// The client says goodbye.
    Theirs,
    /// There is nobody.
    Gone,
}

impl Parting {
    /// What an error on the line comes to.
    pub(super) fn after(error: &Error) -> Self {
        match error {
            // Whoever goes without a word breaks no rule that matters any more.
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => Self::Gone,
            Error::Protocol(_) => Self::Protocol,
            Error::Utf8(_) => Self::NotUtf8,
            Error::Capacity(_) => Self::TooBig,
            Error::Io(error) if error.kind() == ErrorKind::QuotaExceeded => Self::TooManyMessages,
            _ => Self::Gone,
        }
    }

    /// The close code.
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Over(End::Refused(Refusal::Token(_))) => 4401,
            Self::Over(End::Refused(_)) => 4403,
            Self::Over(End::Replaced) => 4409,
            Self::Over(End::TooSlow) => 1013,
            Self::Restarting => 1012,
            Self::Silent => 1001,
            Self::TooManyMessages => 1008,
            Self::Binary => 1003,
            Self::Protocol => 1002,
            Self::NotUtf8 => 1007,
            Self::TooBig => 1009,
            Self::Theirs => 1000,
            Self::Gone => 1006,
        }
    }

    /// The word that goes with it.
    fn word(&self) -> &'static str {
        match self {
            Self::Over(End::Refused(refusal)) => refusal.word(),
            Self::Over(End::Replaced) => "replaced",
            Self::Over(End::TooSlow) => "too_slow",
            Self::Restarting => "restarting",
            Self::Silent => "silent",
            Self::TooManyMessages => "too_many_messages",
            Self::Binary => "text_only",
            Self::Protocol => "protocol_error",
            Self::NotUtf8 => "not_utf8",
            Self::TooBig => "too_big",
            Self::Theirs | Self::Gone => "",
        }
    }

    /// What is said before: that the session is what ends, or from where to go on.
    fn last_word(&self) -> Option<serde_json::Value> {
        match self {
            Self::Over(End::Refused(refusal)) => Some(json!({ "event": "ending", "reason": refusal.word() })),
            Self::Restarting => Some(json!({ "event": "restarting" })),
            _ => None,
        }
    }
}

impl Talk<'_> {
    /// Says goodbye, and waits a while for the client to do so.
    pub(super) async fn part(mut self, parting: Parting) {
        let patience = if let Parting::Over(End::TooSlow) = parting { CATCHING_UP } else { GOODBYE };
        let goodbye = async {
            // Fails where the line is closed, which it is once both have said goodbye.
            let _ = self.say_goodbye(&parting).await;
            if matches!(parting, Parting::Protocol | Parting::NotUtf8 | Parting::TooBig | Parting::Theirs) {
                self.drain().await;
            }
        };
        if matches!(parting, Parting::Gone) || timeout(patience, goodbye).await.is_ok() {
            return;
        }
        // What was not read would stay with the system for as long as the client likes.
        self.line.get_ref().cut();
    }

    async fn say_goodbye(&mut self, parting: &Parting) -> Result<(), Error> {
        push(&mut self.line, &mut self.unsent, None).await?;
        if let Some(last) = parting.last_word() {
            self.unsent = framed(self.about_session(&last));
            push(&mut self.line, &mut self.unsent, None).await?;
        }
        let frame = CloseFrame { code: parting.code().into(), reason: parting.word().into() };
        self.line.close((!matches!(parting, Parting::Theirs)).then_some(frame)).await?;
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
