//! A socket from its accepted handshake until its connection is ready for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deskpass_auth::{ActiveUser, Socket};
use deskpass_core::{Debt, FrameDraft, Reference};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::SocketSession;
use super::frame::{no_frame, text_frame};
use super::metered::MeteredStream;
use crate::app::current::CurrentApp;
use crate::client_limiter::ClientSlot;
use crate::server_tls::ClientStream;

/// Small, since there are many sockets and most are idle: what clients send is mostly pongs, six bytes each.
const READ_BUFFER_BYTES: usize = 256;

/// A socket whose handshake was accepted.
pub(crate) struct AcceptedSocket {
    socket: Socket,
    /// The first message.
    ready: Value,
    /// The reference of the request that opened it.
    reference: Reference,
    present: ClientSlot,
}

/// The socket that a connection becomes after its response.
#[derive(Clone)]
pub(crate) struct PendingUpgrade(Arc<Mutex<Option<AcceptedSocket>>>);

impl PendingUpgrade {
    pub(crate) fn new(accepted: AcceptedSocket) -> Self {
        Self(Arc::new(Mutex::new(Some(accepted))))
    }

    /// Opens the socket on its connection, unless that was done before. It closes when `leave` completes.
    pub(crate) async fn open(
        self,
        app: CurrentApp,
        stream: ClientStream,
        read: Vec<u8>,
        leave: oneshot::Receiver<()>,
    ) -> Option<Box<SocketSession>> {
        let accepted = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(accepted.open(app, stream, read, leave).await)
    }
}

impl AcceptedSocket {
    pub(crate) fn new(
        socket: Socket,
        caller: &ActiveUser,
        resumed: bool,
        (present, reference): (ClientSlot, Reference),
    ) -> Self {
        let (role, expires_in) = (caller.0.session().current_role.name(), caller.0.remaining.as_secs());
        let ready = json!({ "event": "ready", "resumed": resumed, "current_role": role, "expires_in": expires_in });
        Self { socket, ready, reference, present }
    }

    async fn open(
        self,
        app: CurrentApp,
        stream: ClientStream,
        read: Vec<u8>,
        leave: oneshot::Receiver<()>,
    ) -> Box<SocketSession> {
        let Self { socket, ready, reference, present } = self;
        let stream = MeteredStream::new(stream);
        let line = WebSocketStream::from_partially_read(stream, read, Role::Server, Some(config())).await;
        let mut session = Box::new(SocketSession {
            ticks: ticks(app.settings.sockets.ping),
            app,
            line,
            socket,
            leave,
            pending: no_frame(),
            consecutive_sends: 0,
            missed_pongs: 0,
            message_debt: Debt::NONE,
            reference,
            _present: present,
        });
        session.pending = text_frame(session.session_frame(&ready));
        session
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
