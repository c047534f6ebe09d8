//! The socket of a client: it connects, goes on where it was after a break, and records what comes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::history::{Chain, Moment, Timer};
use crate::harness::{Frame, TestSocket};

/// How long a node may take to send the first frame.
const READY_TIMEOUT: Duration = Duration::from_secs(6);

/// What came so far on the connections of a chain.
#[derive(Debug, Default)]
struct Heard {
    numbers: Vec<usize>,
    /// The id of the last frame.
    last: Option<String>,
}

/// The chain that is being listened to.
#[derive(Debug)]
struct Open {
    token: usize,
    began: Moment,
    heard: Arc<Mutex<Heard>>,
    task: JoinHandle<()>,
}

/// All sockets that a client has had, one after the other.
#[derive(Debug, Default)]
pub(super) struct Listener {
    open: Option<Open>,
    chains: Vec<Chain>,
}

impl Listener {
    /// The session whose socket is connected.
    pub(super) fn connected(&self) -> Option<usize> {
        self.open.as_ref().filter(|open| !open.task.is_finished()).map(|open| open.token)
    }

    /// The session whose socket was connected last.
    pub(super) fn last_session(&self) -> Option<usize> {
        self.open.as_ref().map(|open| open.token)
    }

    /// Whether a message has come on the last socket.
    pub(super) fn has_heard(&self, number: usize) -> bool {
        self.open.as_ref().is_some_and(|open| open.heard.lock().unwrap().numbers.contains(&number))
    }

    /// Connects the socket of a session at a node; goes on after the last frame of the same session.
    pub(super) async fn connect(&mut self, address: &str, token: usize, text: &str, timer: Timer) {
        self.disconnect().await;
        let same = self.open.as_ref().filter(|open| open.token == token);
        let last = same.and_then(|open| open.heard.lock().unwrap().last.clone());
        let Some(mut socket) = TestSocket::attempt(address, text, last.as_deref()).await else { return };
        let Ok(Frame::Text(ready)) = timeout(READY_TIMEOUT, socket.next_unhurried()).await else { return };
        let is_resumed = last.is_some() && ready["content"]["resumed"] == true;
        if !is_resumed {
            self.keep(false);
        }
        let (began, heard) = match self.open.take() {
            Some(open) => (open.began, open.heard),
            None => (timer.now(), Arc::default()),
        };
        heard.lock().unwrap().last = ready["id"].as_str().map(str::to_owned);
        let task = tokio::spawn(listen(socket, Arc::clone(&heard)));
        self.open = Some(Open { token, began, heard, task });
    }

    /// Breaks the connection, at any point.
    pub(super) async fn disconnect(&mut self) {
        if let Some(open) = self.open.as_mut().filter(|open| !open.task.is_finished()) {
            open.task.abort();
            let _ = (&mut open.task).await;
        }
    }

    /// Keeps what came on the last chain, which ends here.
    fn keep(&mut self, is_complete: bool) {
        let Some(open) = self.open.take() else { return };
        let heard = open.heard.lock().unwrap().numbers.clone();
        self.chains.push(Chain { token: open.token, began: open.began, heard, is_complete });
    }

    /// All chains. The last one is complete if its connection still stands.
    pub(super) async fn finish(&mut self) -> Vec<Chain> {
        let is_complete = self.connected().is_some();
        self.disconnect().await;
        self.keep(is_complete);
        std::mem::take(&mut self.chains)
    }
}

/// Records everything that comes, until the connection ends.
async fn listen(mut socket: TestSocket, heard: Arc<Mutex<Heard>>) {
    loop {
        match socket.next_unhurried().await {
            Frame::Text(frame) => note(&frame, &mut heard.lock().unwrap()),
            Frame::End | Frame::Close(..) => return,
            Frame::Ping(_) | Frame::Pong(_) => {}
        }
    }
}

fn note(frame: &Value, heard: &mut Heard) {
    heard.last = frame["id"].as_str().map(str::to_owned);
    if frame["msg_type"] != "session" {
        heard.numbers.push(usize::try_from(frame["content"].as_u64().unwrap()).unwrap());
    }
}
