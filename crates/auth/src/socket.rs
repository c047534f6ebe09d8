//! Sockets: who is connected, what they are told, and when it ends.
//!
//! A socket reads one order of messages that all have in common, from where it was. What it is about to say is looked at
//! first, then whether its session still stands, and only then it is said: whoever has ended a session knows that nothing is
//! said to it that was sent after that.

mod connections;
mod delivery;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{MessageId, Role, SocketKind};
use deskpass_store::StoredMessage;

pub use self::connections::{CloseReason, LiveSockets};
use self::connections::{Connection, ConnectionGuard};
pub use self::delivery::Delivery;
use crate::{ActiveUser, Auth, Error, Refusal, TokenError};

/// How long before a session expires its holder is told.
const EXPIRY_WARNING: Duration = Duration::from_mins(1);

/// How many messages a client may get behind.
const MAX_UNREAD_MESSAGES: usize = 256;

/// Somebody is connected. Their place is free again once this is dropped.
#[derive(Debug)]
pub struct Socket {
    guard: ConnectionGuard,
    /// Everything up to here was said, or is not for them.
    seen: MessageId,
    /// What comes before everything else, and the last of it that was said.
    joined: VecDeque<Arc<StoredMessage>>,
    joining: Option<MessageId>,
    /// The active role they know of.
    role: Role,
    warned: bool,
    /// What waited when they came, up to here, is not held against them.
    connected_at: MessageId,
    /// A message that waits for them, and must not be lost before it is said.
    pending_message: Option<MessageId>,
}

/// What a socket has to say.
#[derive(Debug)]
pub enum SocketEvent {
    /// A message.
    Message(Arc<StoredMessage>),
    /// Another role is active.
    RoleChanged(Role),
    /// The session expires soon.
    ExpiresSoon(Duration),
    /// It is over.
    Closed(CloseReason),
}

impl Auth {
    /// Gives a caller a place; they get what was sent since `last`. Also says whether that is all of it.
    ///
    /// # Errors
    /// When their active role may not have such a socket, or this node cannot tell yet what was sent.
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
        let guard = self.sockets.take(Connection::new(&caller.0, kind, from), self.policy.sockets_per_employee);
        let start = self.shared.messages.start_position(&guard.connection().reader(), last, self.clock.now());
        let (seen, joined) = (start.seen, start.joined.into());
        let (connected_at, joining, pending_message) = (self.shared.messages.newest(), None, None);
        Ok((Socket { guard, seen, joined, joining, role, warned: false, connected_at, pending_message }, start.resumed))
    }

    /// Looks again whether somebody may stay connected, if there is a doubt. A failure leaves the doubt.
    async fn revalidate(&self, connection: &Connection) -> Result<(), Error> {
        if connection.expires_at() <= self.clock.now() {
            connection.end(CloseReason::Refused(Refusal::Token(TokenError::Expired)));
            return Ok(());
        }
        let Some(generation) = connection.stale_generation() else { return Ok(()) };
        match self.reauthenticate_digest(connection.digest(), Some(connection.from())).await {
            Ok(caller) => connection.mark_valid(caller.0.session().current_role, generation),
            Err(Error::Refused(refusal)) => connection.end(CloseReason::Refused(refusal)),
            Err(internal) => return Err(internal),
        }
        Ok(())
    }
}

impl Socket {
    /// Up to where everything was said: whoever comes back from here misses nothing.
    #[must_use]
    pub fn seen(&self) -> MessageId {
        match self.joined.front() {
            Some(next) => self.joining.unwrap_or(next.id.before()),
            None => self.seen,
        }
    }

    /// The next thing to say, when there is one. May be dropped and asked again.
    pub async fn next(&mut self, auth: &Auth) -> SocketEvent {
        loop {
            let (message, seen) = self.peek(auth);
            match auth.revalidate(self.guard.connection()).await {
                Ok(()) => {
                    if let Some(event) = self.session_event(auth) {
                        return event;
                    }
                    // The role is the one that was read for.
                    self.seen = seen;
                    if let Some(message) = message {
                        self.mark_sent(&message);
                        return SocketEvent::Message(message);
                    }
                }
                // Nothing is said on doubt. Somebody looks again when the store is heard of again, or in a while.
                Err(error) => tracing::debug!(%error, "whether a socket may stay cannot be told"),
            }
            self.guard.connection().woken().await;
        }
    }

    /// Completes when it is over, or the client is too far behind: for whoever waits for the client meanwhile.
    pub async fn closed(&mut self, auth: &Auth) -> CloseReason {
        loop {
            let _ = auth.revalidate(self.guard.connection()).await;
            if let Some(end) = self.guard.connection().ended() {
                return end;
            }
            let reader = self.guard.connection().reader();
            if auth.shared.messages.is_lagging(self.seen.max(self.connected_at), &reader, MAX_UNREAD_MESSAGES) {
                return CloseReason::TooSlow;
            }
            let mut seen = self.seen;
            let waiting = auth.shared.messages.next_after(&mut seen, &reader);
            self.pending_message = self.pending_message.or(waiting.map(|message| message.id));
            self.guard.connection().woken().await;
        }
    }

    /// What could be said next, and up to where there is nothing else.
    fn peek(&mut self, auth: &Auth) -> (Option<Arc<StoredMessage>>, MessageId) {
        let mut seen = self.seen;
        if let Some(message) = self.joined.front() {
            return (Some(Arc::clone(message)), seen);
        }
        let messages = &auth.shared.messages;
        if self
            .pending_message
            .take()
            .is_some_and(|pending_message| pending_message > self.seen && messages.is_evicted(pending_message))
        {
            self.guard.connection().end(CloseReason::TooSlow);
        }
        (messages.next_after(&mut seen, &self.guard.connection().reader()), seen)
    }

    fn mark_sent(&mut self, message: &StoredMessage) {
        match self.joined.pop_front() {
            Some(piece) => self.joining = Some(piece.id),
            None => self.seen = message.id,
        }
    }

    /// What is to be said of the session itself.
    fn session_event(&mut self, auth: &Auth) -> Option<SocketEvent> {
        let connection = self.guard.connection();
        if let Some(end) = connection.ended() {
            return Some(SocketEvent::Closed(end));
        }
        let role = connection.role();
        if role != self.role {
            self.role = role;
            return Some(SocketEvent::RoleChanged(role));
        }
        let remaining = connection.expires_at().since(auth.clock.now());
        if remaining <= EXPIRY_WARNING && !self.warned {
            self.warned = true;
            return Some(SocketEvent::ExpiresSoon(remaining));
        }
        None
    }
}
