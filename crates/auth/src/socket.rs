//! Sockets: connections, the messages they get, and their end.
//!
//! A socket reads the message log, which all sockets share, from its last position. It takes the next message, then revalidates
//! its session, and only then sends the message: after a session has ended, no message that was posted later is sent to it.

mod connections;
mod delivery;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{EmployeeKey, MessageId, Role, SocketKind};
use deskpass_store::StoredMessage;

pub use self::connections::{CloseReason, LiveSockets};
use self::connections::{SocketConnection, SocketGuard};
pub use self::delivery::Delivery;
use crate::{ActiveUser, Auth, Error, Refusal, TokenError};

/// How long before the session's expiry the client is warned.
const EXPIRY_WARNING: Duration = Duration::from_mins(1);

/// The number of unread messages after which a client is disconnected.
const MAX_UNREAD_MESSAGES: usize = 256;

/// A connected socket. Dropping it removes the connection.
#[derive(Debug)]
pub struct Socket {
    guard: SocketGuard,
    /// Every message up to here was sent, or is not for this socket.
    seen: MessageId,
    /// Messages that are sent before all others, and the last of them that was sent.
    joined: VecDeque<Arc<StoredMessage>>,
    joining: Option<MessageId>,
    /// The active role that the client knows.
    role: Role,
    warned: bool,
    /// The backlog up to here, from before the connection, does not count as unread.
    connected_at: MessageId,
    /// A waiting message that must not be evicted before it is sent.
    pending_message: Option<MessageId>,
}

/// An event for the client.
#[derive(Debug)]
pub enum SocketEvent {
    /// A message.
    Message(Arc<StoredMessage>),
    /// The active role changed.
    RoleChanged(Role),
    /// The session expires soon.
    ExpiresSoon(Duration),
    /// The socket is closed.
    Closed(CloseReason),
}

impl Auth {
    /// Opens a socket, which gets the messages since `last`. Also returns whether none of them is missing. Refused if the
    /// active role may not open such a socket; fails until this node has loaded the messages.
    pub async fn open_socket(
        &self,
        caller: &ActiveUser,
        kind: SocketKind,
        from: IpAddr,
        last: Option<MessageId>,
    ) -> Result<(Socket, bool), Error> {
        let role = caller.0.session().current_role;
        if let Some(roles) = kind.roles().filter(|roles| !roles.holds(role)) {
            return Err(Refusal::RoleNeeded(roles).into());
        }
        self.shared.messages.wait_until_loaded().await?;
        let guard = self.sockets.take(SocketConnection::new(&caller.0, kind, from), self.policy.sockets_per_employee);
        let start = self.shared.messages.start_position(&guard.connection.reader(), last, self.clock.now());
        let (seen, joined) = (start.seen, start.joined.into());
        let (connected_at, joining, pending_message) = (self.shared.messages.newest(), None, None);
        Ok((Socket { guard, seen, joined, joining, role, warned: false, connected_at, pending_message }, start.resumed))
    }

    /// Revalidates a connection that is stale. After a failure it stays stale.
    async fn revalidate(&self, connection: &SocketConnection) -> Result<(), Error> {
        if connection.expires_at <= self.clock.now() {
            connection.end(CloseReason::Refused(Refusal::Token(TokenError::Expired)));
            return Ok(());
        }
        let Some(generation) = connection.stale_generation() else { return Ok(()) };
        // On the heap, since most connections are idle: the future of every socket would have room for a look-up, 1 KB.
        match Box::pin(self.reauthenticate_digest(connection.digest, Some(connection.from))).await {
            Ok(caller) => connection.mark_valid(caller.0.session().current_role, generation),
            Err(Error::Refused(refusal)) => connection.end(CloseReason::Refused(refusal)),
            Err(internal) => return Err(internal),
        }
        Ok(())
    }
}

impl Socket {
    /// The position up to which everything was sent: a client that resumes here misses nothing.
    #[must_use]
    pub fn seen(&self) -> MessageId {
        match self.joined.front() {
            Some(next) => self.joining.unwrap_or(next.id.before()),
            None => self.seen,
        }
    }

    /// The employee of the session.
    #[must_use]
    pub fn employee(&self) -> &EmployeeKey {
        &self.guard.connection.employee
    }

    /// Waits for the next event. Cancel-safe.
    pub async fn next(&mut self, auth: &Auth) -> SocketEvent {
        loop {
            let (message, seen) = self.peek(auth);
            match auth.revalidate(&self.guard.connection).await {
                Ok(()) => {
                    if let Some(event) = self.session_event(auth) {
                        return event;
                    }
                    // The role has not changed since the message was read.
                    self.seen = seen;
                    if let Some(message) = message {
                        self.mark_sent(&message);
                        return SocketEvent::Message(message);
                    }
                }
                // Nothing is sent in doubt. The connection is checked again when the store recovers, or by the next tick.
                Err(error) => tracing::debug!(%error, "could not revalidate a socket"),
            }
            self.guard.connection.wake.notified().await;
        }
    }

    /// Waits until the socket is closed or the client lags too far behind. For use while a write to the client is pending.
    pub async fn closed(&mut self, auth: &Auth) -> CloseReason {
        loop {
            let _ = auth.revalidate(&self.guard.connection).await;
            if let Some(end) = self.guard.connection.ended() {
                return end;
            }
            let reader = self.guard.connection.reader();
            if auth.shared.messages.is_lagging(self.seen.max(self.connected_at), &reader, MAX_UNREAD_MESSAGES) {
                return CloseReason::TooSlow;
            }
            let mut seen = self.seen;
            let waiting = auth.shared.messages.next_after(&mut seen, &reader);
            self.pending_message = self.pending_message.or(waiting.map(|message| message.id));
            self.guard.connection.wake.notified().await;
        }
    }

    /// The next message, and the position up to which there is no other.
    fn peek(&mut self, auth: &Auth) -> (Option<Arc<StoredMessage>>, MessageId) {
        let mut seen = self.seen;
        if let Some(message) = self.joined.front() {
            return (Some(Arc::clone(message)), seen);
        }
        let messages = &auth.shared.messages;
        if self.pending_message.take().is_some_and(|pending| pending > self.seen && messages.is_evicted(pending)) {
            self.guard.connection.end(CloseReason::TooSlow);
        }
        (messages.next_after(&mut seen, &self.guard.connection.reader()), seen)
    }

    fn mark_sent(&mut self, message: &StoredMessage) {
        match self.joined.pop_front() {
            Some(piece) => self.joining = Some(piece.id),
            None => self.seen = message.id,
        }
    }

    /// The next event of the session itself.
    fn session_event(&mut self, auth: &Auth) -> Option<SocketEvent> {
        let connection = &self.guard.connection;
        if let Some(end) = connection.ended() {
            return Some(SocketEvent::Closed(end));
        }
        let role = connection.role();
        if role != self.role {
            self.role = role;
            return Some(SocketEvent::RoleChanged(role));
        }
        let remaining = connection.expires_at.since(auth.clock.now());
        if remaining <= EXPIRY_WARNING && !self.warned {
            self.warned = true;
            return Some(SocketEvent::ExpiresSoon(remaining));
        }
        None
    }
}
