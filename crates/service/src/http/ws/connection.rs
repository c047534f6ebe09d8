//! The traffic on a socket, and its end.
//!
//! There may be tens of thousands of sockets, and most are idle. What only a slow client or the end of a socket needs is on the heap
//! while it is needed: a future has room for whatever it may ever wait for. So an idle socket has a state of 768 bytes and a task of
//! 512, where both together had 6 656.

mod accepted;
mod close;
mod frame;
mod metered;

use std::time::Duration;

use bytes::{Buf as _, Bytes};
use deskpass_auth::{CloseReason, Socket, SocketEvent};
use deskpass_core::{Debt, FrameDraft, MessageKind, Rate, Reference};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Interval, sleep};
use tokio_tungstenite::tungstenite::{Error, Message};

pub(super) use self::accepted::AcceptedSocket;
pub(crate) use self::accepted::PendingUpgrade;

use self::close::SocketClose;
use self::frame::{PendingFrame, SocketStream, no_frame, ping_frame, text_frame, write_pending};
use crate::app::current::CurrentApp;
use crate::client_limiter::ClientSlot;
use crate::timestamp::rfc3339;

/// When to retry, for an address with too many sockets.
pub(super) const SOCKET_RETRY_AFTER: Duration = Duration::from_secs(5);

/// How long a client may take to read a frame.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The most messages of a client; the protocol needs none.
const MAX_CLIENT_MESSAGES_PER_MINUTE: u32 = 100;

/// The most consecutive sends before received frames and pings are handled.
const MAX_CONSECUTIVE_SENDS: usize = 32;

/// An event of the loop.
enum LoopEvent {
    Outgoing(SocketEvent),
    Received(Option<Result<Message, Error>>),
    PingDue,
    Leave,
}

/// An open socket. In a box, because a future has room for a value once more whenever it is passed on.
pub(crate) struct SocketSession {
    app: CurrentApp,
    line: SocketStream,
    socket: Socket,
    leave: oneshot::Receiver<()>,
    /// The rest of the frame that is being sent.
    pending: PendingFrame,
    ticks: Interval,
    consecutive_sends: usize,
    /// The pings since the client last sent something.
    missed_pongs: u8,
    message_debt: Debt,
    reference: Reference,
    _present: ClientSlot,
}

impl SocketSession {
    /// Runs the socket until it ends or is asked to leave.
    pub(crate) async fn run(mut self: Box<Self>) {
        let reason = self.run_loop().await;
        self.record_close(&reason);
        Box::pin(self.close(&reason)).await;
    }

    /// Sends what is pending, at first the first message, and handles events until there is a reason to close.
    async fn run_loop(&mut self) -> SocketClose {
        loop {
            if let Err(reason) = self.flush_pending().await {
                return reason;
            }
            self.app.refresh();
            let event = self.next_event().await;
            if let Err(reason) = self.handle(event) {
                return reason;
            }
        }
    }

    /// Waits for the next event. Outgoing messages come first, but a client with many of them is still read and pinged.
    async fn next_event(&mut self) -> LoopEvent {
        if self.consecutive_sends >= MAX_CONSECUTIVE_SENDS {
            self.consecutive_sends = 0;
            let received = self.line.next().now_or_never().map(LoopEvent::Received);
            if let Some(event) = received.or_else(|| self.ticks.tick().now_or_never().map(|_| LoopEvent::PingDue)) {
                return event;
            }
        }
        tokio::select! {
            biased;
            _ = &mut self.leave => LoopEvent::Leave,
            event = self.socket.next(&self.app.auth) => {
                self.consecutive_sends += 1;
                LoopEvent::Outgoing(event)
            }
            received = self.line.next() => LoopEvent::Received(received),
            _ = self.ticks.tick() => LoopEvent::PingDue,
        }
    }

    /// Handles an event. What is to be sent is pending afterwards.
    fn handle(&mut self, event: LoopEvent) -> Result<(), SocketClose> {
        match event {
            LoopEvent::Outgoing(event) => self.handle_outgoing(event),
            LoopEvent::Received(received) => self.handle_received(received),
            LoopEvent::PingDue => self.ping(),
            LoopEvent::Leave => Err(SocketClose::Restarting),
        }
    }

    fn handle_outgoing(&mut self, event: SocketEvent) -> Result<(), SocketClose> {
        let text = match event {
            SocketEvent::Message(message) => {
                self.app.metrics.socket_messages.inc();
                message.frame.clone()
            }
            SocketEvent::RoleChanged(role) => {
                self.session_frame(&json!({ "event": "role_changed", "current_role": role.name() }))
            }
            SocketEvent::ExpiresSoon(left) => {
                self.session_frame(&json!({ "event": "ending", "reason": "expired", "expires_in": left.as_secs() }))
            }
            SocketEvent::Closed(end) => return Err(SocketClose::SessionEnded(end)),
        };
        self.pending = text_frame(text);
        Ok(())
    }

    /// The frame of an event of the session itself.
    fn session_frame(&self, content: &Value) -> Bytes {
        let (content, ts) = (content.to_string(), rfc3339(self.app.auth.clock.now()));
        // Session events are always shorter than the limit.
        let frame = FrameDraft::new(MessageKind::Session, Some(&content), None, &ts);
        frame.map(|frame| frame.with_id(self.socket.seen())).unwrap_or_default().into()
    }

    /// Sends the pending frame, unless the client is too slow or the session ends before it is sent.
    async fn flush_pending(&mut self) -> Result<(), SocketClose> {
        if !self.pending.has_remaining() {
            return Ok(());
        }
        // Most clients accept a frame at once.
        if let Some(sent) = write_pending(&mut self.line, &mut self.pending).now_or_never() {
            sent.map_err(|error| SocketClose::from_error(&error))?;
        } else {
            Box::pin(self.wait_for_client()).await?;
        }
        // Otherwise the text would stay until the next one is sent.
        self.pending = no_frame();
        Ok(())
    }

    /// Waits until a slow client has accepted the pending frame.
    async fn wait_for_client(&mut self) -> Result<(), SocketClose> {
        tokio::select! {
            biased;
            sent = write_pending(&mut self.line, &mut self.pending) => sent.map_err(|error| SocketClose::from_error(&error)),
            end = self.socket.closed(&self.app.auth) => Err(SocketClose::SessionEnded(end)),
            _ = &mut self.leave => Err(SocketClose::Restarting),
            () = sleep(SEND_TIMEOUT) => Err(SocketClose::SessionEnded(CloseReason::TooSlow)),
        }
    }

    /// Pings the client, unless it did not respond to the last pings.
    fn ping(&mut self) -> Result<(), SocketClose> {
        if self.missed_pongs >= 2 {
            return Err(SocketClose::PingTimeout);
        }
        self.missed_pongs += 1;
        self.pending = ping_frame();
        Ok(())
    }

    /// Handles a frame of the client, which need not send any.
    fn handle_received(&mut self, received: Option<Result<Message, Error>>) -> Result<(), SocketClose> {
        let awaits_pong = std::mem::take(&mut self.missed_pongs) > 0;
        match received {
            None => Err(SocketClose::Disconnected),
            Some(Err(error)) => Err(SocketClose::from_error(&error)),
            Some(Ok(Message::Close(_))) => Err(SocketClose::ClosedByClient),
            Some(Ok(Message::Binary(_))) => Err(SocketClose::Binary),
            Some(Ok(Message::Pong(_))) if awaits_pong => Ok(()),
            Some(Ok(_)) => self.count_message(),
        }
    }

    fn count_message(&mut self) -> Result<(), SocketClose> {
        let Some(rate) = Rate::new(MAX_CLIENT_MESSAGES_PER_MINUTE, Duration::from_mins(1)) else { return Ok(()) };
        let admitted = rate.admit(self.message_debt, self.app.auth.clock.now());
        self.message_debt = admitted.map_err(|_| SocketClose::TooManyMessages)?;
        Ok(())
    }

    /// Counts the end of the socket, and logs the end of its session: a client learns why from the close frame, an operator finds
    /// the socket by the reference of its handshake.
    fn record_close(&self, reason: &SocketClose) {
        let ((code, why), app) = (reason.code_and_reason(), &self.app);
        app.metrics.count_socket_close(code);
        let is_ended = matches!(reason, SocketClose::SessionEnded(_));
        if is_ended && app.failure_log.admits_refusal_of_user(app.auth.clock.now()) {
            let (employee, reference) = (self.socket.employee(), self.reference);
            tracing::info!(code, reason = why, %employee, %reference, "socket closed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of the future that a function returns.
    fn future_size<F: Future>(_: impl FnOnce(Box<SocketSession>) -> F) -> usize {
        size_of::<F>()
    }

    /// The allocator rounds up to 768 and, with what the runtime adds to a task, to 512 bytes.
    #[test]
    fn an_idle_socket_takes_little_memory() {
        let (state, future) = (size_of::<SocketSession>(), future_size(SocketSession::run));
        assert!(state <= 768 && future <= 336, "{state} and {future} bytes");
    }
}
