//! The traffic on a socket, and its end.

mod close;
mod frame;
mod metered;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use deskpass_auth::{ActiveUser, CloseReason, Socket, SocketEvent};
use deskpass_core::{Debt, FrameDraft, MessageKind, Rate};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use self::close::SocketClose;
use self::metered::MeteredStream;
use crate::app::current::CurrentApp;
use crate::client_limiter::ClientSlot;
use crate::client_stream::ClientStream;
use crate::http::request::RequestTrace;
use crate::http::ws::connection::frame::{PendingFrame, SocketStream, text_frame, write_pending};
use crate::timestamp::rfc3339;

/// When to retry, for an address with too many sockets.
pub(super) const SOCKET_RETRY_AFTER: Duration = Duration::from_secs(5);

/// How long a client may take to read a frame.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The most messages of a client; the protocol needs none.
const MAX_CLIENT_MESSAGES_PER_MINUTE: u32 = 100;

/// The most consecutive sends before received frames and pings are handled.
const MAX_CONSECUTIVE_SENDS: usize = 32;

/// Small, since there are many sockets and most are idle: what clients send is mostly pongs, six bytes each.
const READ_BUFFER_BYTES: usize = 256;

/// A socket whose handshake was accepted.
pub(super) struct AcceptedSocket {
    socket: Socket,
    /// The first message.
    ready: Value,
    /// The request that opened it.
    trace: RequestTrace,
    _present: ClientSlot,
}

/// The socket that a connection becomes after its response.
#[derive(Clone)]
pub(crate) struct PendingUpgrade(Arc<Mutex<Option<AcceptedSocket>>>);

impl PendingUpgrade {
    pub(super) fn new(accepted: AcceptedSocket) -> Self {
        Self(Arc::new(Mutex::new(Some(accepted))))
    }

    /// Runs the socket until it ends or is asked to leave.
    pub(crate) async fn run(
        self,
        app: CurrentApp,
        stream: ClientStream,
        read: Vec<u8>,
        leave: &mut oneshot::Receiver<()>,
    ) {
        let accepted = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(accepted) = accepted {
            accepted.run(app, stream, read, leave).await;
        }
    }
}

/// An event of the loop.
enum LoopEvent {
    Outgoing(SocketEvent),
    Received(Option<Result<Message, Error>>),
    PingDue,
    Leave,
}

/// An open socket.
struct SocketSession<'a> {
    app: CurrentApp,
    line: SocketStream,
    socket: Socket,
    leave: &'a mut oneshot::Receiver<()>,
    /// The rest of the frame that is being sent.
    pending: PendingFrame,
    /// The pings since the client last sent something.
    missed_pongs: u8,
    message_debt: Debt,
}

impl AcceptedSocket {
    pub(super) fn new(
        socket: Socket,
        caller: &ActiveUser,
        resumed: bool,
        (present, trace): (ClientSlot, RequestTrace),
    ) -> Self {
        let (role, expires_in) = (caller.0.session().current_role.name(), caller.0.remaining.as_secs());
        let ready = json!({ "event": "ready", "resumed": resumed, "current_role": role, "expires_in": expires_in });
        Self { socket, ready, trace, _present: present }
    }

    async fn run(self, app: CurrentApp, stream: ClientStream, read: Vec<u8>, leave: &mut oneshot::Receiver<()>) {
        let Self { socket, ready, trace, _present } = self;
        let stream = MeteredStream::new(stream);
        let line = WebSocketStream::from_partially_read(stream, read, Role::Server, Some(config())).await;
        let mut session = SocketSession {
            app,
            line,
            socket,
            leave,
            pending: Bytes::new().chain(Bytes::new()),
            missed_pongs: 0,
            message_debt: Debt::NONE,
        };
        let reason = match session.send_event(&ready).await {
            Ok(()) => session.run_loop().await,
            Err(reason) => reason,
        };
        let (code, why) = reason.code_and_reason();
        let app = &session.app;
        app.metrics.count_socket_close(code);
        // A client learns why from the close frame; an operator finds the socket by the reference of its handshake.
        let is_ended = matches!(reason, SocketClose::SessionEnded(_));
        if is_ended && app.failure_log.admits_refusal_of_user(app.auth.clock.now()) {
            let employee = trace.employee().map(tracing::field::display);
            tracing::info!(code, reason = why, employee, reference = %trace.reference, "socket closed");
        }
        session.close(reason).await;
    }
}

impl SocketSession<'_> {
    /// Handles events until there is a reason to close.
    async fn run_loop(&mut self) -> SocketClose {
        let mut ticks = ticks(self.app.settings.sockets.ping);
        let mut consecutive_sends = 0;
        loop {
            self.app.refresh();
            let event = self.next_event(&mut ticks, &mut consecutive_sends).await;
            let done = match event {
                LoopEvent::Outgoing(event) => self.handle_event(event).await,
                LoopEvent::Received(received) => self.handle_received(received),
                LoopEvent::PingDue => self.ping().await,
                LoopEvent::Leave => Err(SocketClose::Restarting),
            };
            if let Err(reason) = done {
                return reason;
            }
        }
    }

    /// Waits for the next event. Outgoing messages come first, but a client with many of them is still read and pinged.
    async fn next_event(&mut self, ticks: &mut Interval, consecutive_sends: &mut usize) -> LoopEvent {
        if *consecutive_sends >= MAX_CONSECUTIVE_SENDS {
            *consecutive_sends = 0;
            let received = self.line.next().now_or_never().map(LoopEvent::Received);
            if let Some(event) = received.or_else(|| ticks.tick().now_or_never().map(|_| LoopEvent::PingDue)) {
                return event;
            }
        }
        tokio::select! {
            biased;
            _ = &mut *self.leave => LoopEvent::Leave,
            event = self.socket.next(&self.app.auth) => {
                *consecutive_sends += 1;
                LoopEvent::Outgoing(event)
            }
            received = self.line.next() => LoopEvent::Received(received),
            _ = ticks.tick() => LoopEvent::PingDue,
        }
    }

    async fn handle_event(&mut self, event: SocketEvent) -> Result<(), SocketClose> {
        match event {
            SocketEvent::Message(message) => {
                self.app.metrics.socket_messages.increment(1);
                self.send(message.frame.clone()).await
            }
            SocketEvent::RoleChanged(role) => {
                self.send_event(&json!({ "event": "role_changed", "current_role": role.name() })).await
            }
            SocketEvent::ExpiresSoon(left) => {
                self.send_event(&json!({ "event": "ending", "reason": "expired", "expires_in": left.as_secs() })).await
            }
            SocketEvent::Closed(end) => Err(SocketClose::SessionEnded(end)),
        }
    }

    /// Sends an event of the session itself.
    async fn send_event(&mut self, content: &Value) -> Result<(), SocketClose> {
        self.send(self.session_frame(content)).await
    }

    fn session_frame(&self, content: &Value) -> Bytes {
        let (content, ts) = (content.to_string(), rfc3339(self.app.auth.clock.now()));
        // Session events are always shorter than the limit.
        let frame = FrameDraft::new(MessageKind::Session, Some(&content), None, &ts);
        frame.map(|frame| frame.with_id(self.socket.seen())).unwrap_or_default().into()
    }

    /// Sends a text, unless the client is too slow or the session ends before it is sent.
    async fn send(&mut self, text: Bytes) -> Result<(), SocketClose> {
        self.pending = text_frame(text);
        self.flush_pending(None).await
    }

    /// Sends the pending frame, and then a ping if there is one.
    async fn flush_pending(&mut self, question: Option<Message>) -> Result<(), SocketClose> {
        tokio::select! {
            biased;
            sent = write_pending(&mut self.line, &mut self.pending, question) => sent.map_err(|error| SocketClose::from_error(&error)),
            end = self.socket.closed(&self.app.auth) => Err(SocketClose::SessionEnded(end)),
            _ = &mut *self.leave => Err(SocketClose::Restarting),
            () = sleep(SEND_TIMEOUT) => Err(SocketClose::SessionEnded(CloseReason::TooSlow)),
        }
    }

    /// Pings the client.
    async fn ping(&mut self) -> Result<(), SocketClose> {
        if self.missed_pongs >= 2 {
            return Err(SocketClose::PingTimeout);
        }
        self.missed_pongs += 1;
        self.flush_pending(Some(Message::Ping(Bytes::new()))).await
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
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(2 * FrameDraft::MAX_BYTES)
        .max_message_size(Some(FrameDraft::MAX_BYTES))
        .max_frame_size(Some(FrameDraft::MAX_BYTES))
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
