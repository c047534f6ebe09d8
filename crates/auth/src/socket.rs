//! Sockets: who is connected, what they are told, and when it ends.
//!
//! A socket reads one order of messages that all have in common, from where it was. What it is about to say is looked at
//! first, then whether its session still stands, and only then it is said: whoever has ended a session knows that nothing is
//! said to it that was sent after that.

mod delivery;
mod seats;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{MessageId, Role, SocketKind};
use deskpass_store::Letter;

pub use self::delivery::Delivery;
pub use self::seats::{End, Sockets};
use self::seats::{Seat, Taken};
use crate::{Auth, Caller, Error, Refusal, TokenProblem};

/// How long before a session expires its holder is told.
const WARNING: Duration = Duration::from_mins(1);

/// How many messages a client may get behind.
const BEHIND: usize = 256;

/// Somebody is connected. Their place is free again once this is dropped.
#[derive(Debug)]
pub struct Socket {
    place: Taken,
    /// Everything up to here was said, or is not for them.
    seen: MessageId,
    /// What comes before everything else.
    joined: VecDeque<Arc<Letter>>,
    /// The active role they know of.
    role: Role,
    warned: bool,
    /// What waited when they came, up to here, is not held against them.
    came_at: MessageId,
    /// A message that waits for them, and must not be lost before it is said.
    owed: Option<MessageId>,
}

/// What a socket has to say.
#[derive(Debug)]
pub enum Word {
    /// A message.
    Letter(Arc<Letter>),
    /// Another role is active.
    RoleChanged(Role),
    /// The session expires soon.
    Ending(Duration),
    /// It is over.
    Over(End),
}

impl Auth {
    /// Gives a caller a place; they get what was sent since `last`. Also says whether that is all of it.
    ///
    /// # Errors
    /// When their active role may not have such a socket, or this node cannot tell yet what was sent.
    pub async fn open_socket(
        &self,
        caller: &Caller,
        kind: SocketKind,
        from: IpAddr,
        last: Option<MessageId>,
    ) -> Result<(Socket, bool), Error> {
        let role = caller.0.session().current_role;
        if let Some(roles) = kind.roles().filter(|roles| !roles.holds(role)) {
            return Err(Refusal::RoleNeeded(roles).into());
        }
        self.shared.mail.begun().await?;
        let place = self.sockets.take(Seat::new(&caller.0, kind, from), self.policy.sockets_per_employee);
        let start = self.shared.mail.start(&place.seat().reader(), last, self.clock.now());
        let (seen, joined) = (start.seen, start.joined.into());
        Ok((
            Socket { place, seen, joined, role, warned: false, came_at: self.shared.mail.newest(), owed: None },
            start.resumed,
        ))
    }

    /// Looks again whether somebody may stay connected, if there is a doubt. A failure leaves the doubt.
    async fn examine(&self, seat: &Seat) -> Result<(), Error> {
        if seat.expires_at() <= self.clock.now() {
            seat.end(End::Refused(Refusal::Token(TokenProblem::Expired)));
            return Ok(());
        }
        let Some(doubt) = seat.doubted() else { return Ok(()) };
        match self.stand(seat.digest(), Some(seat.from())).await.and_then(|holder| Ok(holder.into_caller()?)) {
            Ok(caller) => seat.stands_as(caller.0.session().current_role, doubt),
            Err(Error::Refused(refusal)) => seat.end(End::Refused(refusal)),
            Err(internal) => return Err(internal),
        }
        Ok(())
    }
}

impl Socket {
    /// Up to where everything was said: whoever comes back from here misses nothing.
    #[must_use]
    pub fn seen(&self) -> MessageId {
        self.joined.front().map_or(self.seen, |letter| letter.id.before())
    }

    /// The next thing to say, when there is one. May be dropped and asked again.
    pub async fn next(&mut self, auth: &Auth) -> Word {
        loop {
            let (letter, seen) = self.look(auth);
            match auth.examine(self.place.seat()).await {
                Ok(()) => {
                    if let Some(word) = self.standing(auth) {
                        return word;
                    }
                    // The role is the one that was read for.
                    self.seen = seen;
                    if let Some(letter) = letter {
                        self.said(&letter);
                        return Word::Letter(letter);
                    }
                }
                // Nothing is said on doubt. Somebody looks again when the store is heard of again, or in a while.
                Err(error) => tracing::debug!(%error, "whether a socket may stay cannot be told"),
            }
            self.place.seat().told().await;
        }
    }

    /// Completes when it is over, or the client is too far behind: for whoever waits for the client meanwhile.
    pub async fn over(&mut self, auth: &Auth) -> End {
        loop {
            let _ = auth.examine(self.place.seat()).await;
            if let Some(end) = self.place.seat().ended() {
                return end;
            }
            let reader = self.place.seat().reader();
            if auth.shared.mail.is_behind(self.seen.max(self.came_at), &reader, BEHIND) {
                return End::TooSlow;
            }
            let mut seen = self.seen;
            let waiting = auth.shared.mail.after(&mut seen, &reader);
            self.owed = self.owed.or(waiting.map(|letter| letter.id));
            self.place.seat().told().await;
        }
    }

    /// What could be said next, and up to where there is nothing else.
    fn look(&mut self, auth: &Auth) -> (Option<Arc<Letter>>, MessageId) {
        let mut seen = self.seen;
        if let Some(letter) = self.joined.front() {
            return (Some(Arc::clone(letter)), seen);
        }
        let mail = &auth.shared.mail;
        if self.owed.take().is_some_and(|owed| owed > self.seen && mail.is_gone(owed)) {
            self.place.seat().end(End::TooSlow);
        }
        (mail.after(&mut seen, &self.place.seat().reader()), seen)
    }

    fn said(&mut self, letter: &Letter) {
        if self.joined.pop_front().is_none() {
            self.seen = letter.id;
        }
    }

    /// What is to be said of the session itself.
    fn standing(&mut self, auth: &Auth) -> Option<Word> {
        let seat = self.place.seat();
        if let Some(end) = seat.ended() {
            return Some(Word::Over(end));
        }
        let role = seat.role();
        if role != self.role {
            self.role = role;
            return Some(Word::RoleChanged(role));
        }
        let remaining = seat.expires_at().since(auth.clock.now());
        if remaining <= WARNING && !self.warned {
            self.warned = true;
            return Some(Word::Ending(remaining));
        }
        None
    }
}
