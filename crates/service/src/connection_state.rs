//! What a connection waits for. The connection keeps it, the accept loop reads it when it needs a place, and the reader of bodies
//! says when it waits for the client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// For its client, since then.
    Client { what: Wait, since: Instant },
    /// For the service, which is answering a request.
    Answering,
    /// For nothing: it is a socket, which has deadlines of its own.
    Socket,
}

/// What a client has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// To begin a request.
    Request,
    /// To send the rest of a head.
    Head,
    /// To send the rest of a body.
    Body,
    /// To take what was written.
    Reader { then: Then },
}

/// What a connection does when its client has taken what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It waits for the next request.
    Request,
    /// It goes on with an answer.
    Answering,
    /// It goes on to wait for the body of a request.
    Body,
}

/// The state of one connection. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionState(Arc<Mutex<State>>);

impl ConnectionState {
    /// The state of a new connection. Clients open one to send a request, so its head is awaited from the beginning.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State::Client { what: Wait::Head, since: Instant::now() })))
    }

    /// Records that the connection is open: a handshake of TLS may have come before.
    pub(crate) fn open(&self) {
        *self.lock() = State::Client { what: Wait::Head, since: Instant::now() };
    }

    pub(crate) fn get(&self) -> State {
        *self.lock()
    }

    /// Since when the connection waits for its client, if it does.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        match self.get() {
            State::Client { since, .. } => Some(since),
            State::Answering | State::Socket => None,
        }
    }

    /// Records that bytes have arrived.
    pub(crate) fn received(&self) {
        let mut state = self.lock();
        if let State::Client { what: Wait::Request, .. } = *state {
            *state = State::Client { what: Wait::Head, since: Instant::now() };
        }
    }

    /// Records that the service has a request; returns whether the client has taken the earlier answers.
    pub(crate) fn begin_answer(&self) -> bool {
        let mut state = self.lock();
        if let State::Client { what: Wait::Reader { .. }, since } = *state {
            *state = State::Client { what: Wait::Reader { then: Then::Answering }, since };
            return false;
        }
        *state = State::Answering;
        true
    }

    /// Records that all of an answer is written, or waits only to be.
    pub(crate) fn end_answer(&self) {
        let mut state = self.lock();
        *state = match *state {
            State::Socket => State::Socket,
            State::Client { what: Wait::Reader { .. }, since } => {
                State::Client { what: Wait::Reader { then: Then::Request }, since }
            }
            _ => State::Client { what: Wait::Request, since: Instant::now() },
        };
    }

    /// Records that the connection becomes a socket.
    pub(crate) fn become_socket(&self) {
        *self.lock() = State::Socket;
    }

    /// Records that a request waits for its body, until the result is dropped. The time counts from now on: a client that sends a body
    /// byte by byte has waited as long as one that sends nothing.
    pub(crate) fn wait_for_body(&self) -> BodyWait {
        let mut state = self.lock();
        match &mut *state {
            State::Answering => *state = State::Client { what: Wait::Body, since: Instant::now() },
            // The client has not taken the earlier answer yet.
            State::Client { what: Wait::Reader { then: then @ Then::Answering }, .. } => *then = Then::Body,
            _ => {}
        }
        BodyWait(self.clone())
    }

    /// Records that the client takes no more bytes.
    pub(crate) fn block(&self) {
        let mut state = self.lock();
        let then = match *state {
            State::Client { what: Wait::Reader { .. }, .. } => return,
            State::Client { what: Wait::Request | Wait::Head, .. } => Then::Request,
            State::Client { what: Wait::Body, .. } => Then::Body,
            State::Answering | State::Socket => Then::Answering,
        };
        *state = State::Client { what: Wait::Reader { then }, since: Instant::now() };
    }

    /// Records that the client takes bytes.
    pub(crate) fn unblock(&self) {
        let mut state = self.lock();
        let State::Client { what: Wait::Reader { then }, .. } = *state else { return };
        let what = match then {
            Then::Request => Wait::Request,
            Then::Body => Wait::Body,
            Then::Answering => {
                *state = State::Answering;
                return;
            }
        };
        *state = State::Client { what, since: Instant::now() };
    }

    /// Sets a state for a test.
    #[cfg(test)]
    pub(crate) fn set(&self, state: State) {
        *self.lock() = state;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request's wait for its body.
#[derive(Debug)]
pub(crate) struct BodyWait(ConnectionState);

impl Drop for BodyWait {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        match &mut *state {
            State::Client { what: Wait::Body, .. } => *state = State::Answering,
            State::Client { what: Wait::Reader { then: then @ Then::Body }, .. } => *then = Then::Answering,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a connection waits for; `None` if not for its client.
    fn wait(state: &ConnectionState) -> Option<Wait> {
        match state.get() {
            State::Client { what, .. } => Some(what),
            State::Answering | State::Socket => None,
        }
    }

    #[test]
    fn a_request_goes_from_its_head_to_its_answer() {
        let state = ConnectionState::new();
        assert_eq!(wait(&state), Some(Wait::Head));
        assert!(state.begin_answer());
        assert_eq!(state.get(), State::Answering);
        let body = state.wait_for_body();
        // More of the body changes nothing.
        state.received();
        assert_eq!(wait(&state), Some(Wait::Body));
        drop(body);
        assert_eq!(state.get(), State::Answering);
        state.end_answer();
        assert_eq!(wait(&state), Some(Wait::Request));
        state.received();
        assert_eq!(wait(&state), Some(Wait::Head));
    }

    #[test]
    fn a_client_that_takes_nothing_is_waited_for_until_it_does() {
        let state = ConnectionState::new();
        state.begin_answer();
        state.block();
        assert_eq!(wait(&state), Some(Wait::Reader { then: Then::Answering }));
        let since = state.waiting_since();
        state.block();
        assert_eq!(state.waiting_since(), since, "from the first byte that it did not take");
        state.unblock();
        assert_eq!(state.get(), State::Answering, "the answer goes on");
        state.block();
        state.end_answer();
        assert_eq!(wait(&state), Some(Wait::Reader { then: Then::Request }));
        assert!(!state.begin_answer());
        assert_eq!(wait(&state), Some(Wait::Reader { then: Then::Answering }), "the next answer is behind it");
        state.end_answer();
        state.unblock();
        assert_eq!(wait(&state), Some(Wait::Request));
    }

    #[test]
    fn a_body_is_waited_for_behind_an_answer_that_was_not_taken() {
        let state = ConnectionState::new();
        state.begin_answer();
        state.block();
        state.end_answer();
        state.begin_answer();
        let body = state.wait_for_body();
        assert_eq!(wait(&state), Some(Wait::Reader { then: Then::Body }));
        state.unblock();
        assert_eq!(wait(&state), Some(Wait::Body), "the client still has to send it");
        state.block();
        drop(body);
        state.unblock();
        assert_eq!(state.get(), State::Answering);
    }

    #[test]
    fn a_socket_is_not_waited_for() {
        let state = ConnectionState::new();
        state.begin_answer();
        state.become_socket();
        state.end_answer();
        assert_eq!(state.waiting_since(), None);
    }
}
