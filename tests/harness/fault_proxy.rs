//! A TCP proxy in front of PostgreSQL or Redis that fails in chosen ways at chosen moments. Without TLS, on this machine.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How much of what a client sent is remembered.
const TRANSCRIPT_BYTES: usize = 64 * 1024;

/// What a client of PostgreSQL sends to commit.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

/// A request of Redis, and what its answer contains. Redis answers in order: then all requests before it have run.
const ECHO: &[u8] = b"*2\r\n$4\r\nECHO\r\n$18\r\nfault-proxy-marker\r\n";
const MARKER: &[u8] = b"fault-proxy-marker";

/// What goes wrong, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection ends before the server has the request.
    CloseBefore,
    /// The connection ends when the server has answered, without the answer.
    CloseAfter,
    /// The answer comes this much later.
    Delay(Duration),
    /// The server gets the request a second time, on a connection of its own.
    Duplicate,
    /// The server gets the request with another letter at the end of the bytes that trigger this.
    Misspell,
}

/// When it goes wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trigger {
    /// A request contains these bytes.
    Request(&'static [u8]),
    /// The same, on a connection on which the client has sent the first bytes before.
    RequestAfter(&'static [u8], &'static [u8]),
    /// A transaction of PostgreSQL, in which the client has sent these bytes, is being committed.
    CommitOf(&'static [u8]),
}

/// Whether connections pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passage {
    Open,
    /// Nothing passes in either direction, and no connection ends: a partition.
    Cut,
    /// Connections end, and new ones end at once.
    Refused,
}

/// What happens to the answers that come next.
#[derive(Clone, Copy, Debug)]
enum NextReply {
    /// The connection ends in place of the next one.
    Drop,
    /// The connection ends in place of all up to the marker: the next one may be of an earlier request.
    DropToMarker,
    Delay(Duration),
}

#[derive(Debug)]
struct Rule {
    fault: Fault,
    trigger: Trigger,
    fired: Fired,
}

#[derive(Debug)]
struct ProxyState {
    target: Mutex<String>,
    passage: watch::Sender<Passage>,
    /// Connections that began before a change of this number end.
    generation: watch::Sender<u64>,
    rules: Mutex<Vec<Rule>>,
}

/// The proxy. It ends with this value.
#[derive(Debug)]
pub(crate) struct FaultProxy {
    address: String,
    state: Arc<ProxyState>,
    _tasks: JoinSet<()>,
}

/// How often a fault has happened.
#[derive(Clone, Debug)]
pub(crate) struct Fired(Arc<(AtomicUsize, watch::Sender<usize>)>);

impl Fired {
    fn new() -> Self {
        Self(Arc::new((AtomicUsize::new(0), watch::channel(0).0)))
    }

    fn record(&self) {
        let count = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.send_replace(count);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.0.load(Ordering::SeqCst)
    }

    /// Waits until the fault has happened.
    pub(crate) async fn happened(&self) {
        let _ = self.0.1.subscribe().wait_for(|count| *count > 0).await;
    }
}

impl FaultProxy {
    /// A proxy that listens already; its target may come later.
    pub(crate) async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(ProxyState {
            target: Mutex::default(),
            passage: watch::channel(Passage::Open).0,
            generation: watch::channel(0).0,
            rules: Mutex::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&state)));
        Self { address, state, _tasks: tasks }
    }

    /// A proxy in front of `target`, a host and a port.
    pub(crate) async fn to(target: &str) -> Self {
        let proxy = Self::bind().await;
        proxy.lead_to(target);
        proxy
    }

    /// Leads new connections to another target; existing ones end.
    pub(crate) fn lead_to(&self, target: &str) {
        target.clone_into(&mut self.state.target.lock().unwrap_or_else(PoisonError::into_inner));
        self.close_all();
    }

    /// Host and port of the proxy.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Makes something go wrong, once, at the next moment of this kind.
    pub(crate) fn once(&self, fault: Fault, trigger: Trigger) -> Fired {
        let fired = Fired::new();
        let rule = Rule { fault, trigger, fired: fired.clone() };
        self.state.rules.lock().unwrap_or_else(PoisonError::into_inner).push(rule);
        fired
    }

    /// A partition: nothing passes, nothing ends.
    pub(crate) fn cut(&self) {
        self.state.passage.send_replace(Passage::Cut);
    }

    /// Ends all connections and refuses new ones.
    pub(crate) fn refuse(&self) {
        self.state.passage.send_replace(Passage::Refused);
        self.close_all();
    }

    /// Everything passes again; after a partition also what was held back.
    pub(crate) fn mend(&self) {
        self.state.passage.send_replace(Passage::Open);
    }

    /// Ends all connections.
    pub(crate) fn close_all(&self) {
        self.state.generation.send_modify(|generation| *generation += 1);
    }
}

async fn accept(listener: TcpListener, state: Arc<ProxyState>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(serve(client, Arc::clone(&state)));
        while connections.try_join_next().is_some() {}
    }
}

/// Serves a connection until one side ends it or all are closed.
async fn serve(client: TcpStream, state: Arc<ProxyState>) {
    let mut generation = state.generation.subscribe();
    let began = *generation.borrow_and_update();
    let mut passage = state.passage.subscribe();
    if *passage.borrow_and_update() == Passage::Refused {
        return;
    }
    tokio::select! {
        () = forward(client, &state) => {}
        _ = generation.wait_for(|now| *now != began) => {}
    }
}

async fn forward(client: TcpStream, state: &ProxyState) {
    wait_open(state).await;
    let target = state.target.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Ok(server) = TcpStream::connect(&target).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    // What to do with the next answer.
    let next_reply = Mutex::new(None);
    tokio::select! {
        () = pass_requests(from_client, to_server, state, &next_reply, &target) => {}
        () = pass_replies(from_server, to_client, state, &next_reply) => {}
    }
}

/// Waits while there is a partition.
async fn wait_open(state: &ProxyState) {
    let _ = state.passage.subscribe().wait_for(|passage| *passage != Passage::Cut).await;
}

async fn pass_requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &ProxyState,
    next_reply: &Mutex<Option<NextReply>>,
    target: &str,
) {
    let (mut transcript, mut piece) = (Vec::new(), vec![0; 16 * 1024]);
    loop {
        let Ok(read @ 1..) = from.read(&mut piece).await else { return };
        wait_open(state).await;
        transcript.extend_from_slice(&piece[..read]);
        let surplus = transcript.len().saturating_sub(TRANSCRIPT_BYTES);
        transcript.drain(..surplus);
        let rule = due_rule(state, &transcript, read);
        let fault = rule.as_ref().map(|rule| rule.fault);
        if let (Some(Fault::Misspell), Some(Trigger::Request(needle))) = (fault, rule.as_ref().map(|rule| rule.trigger))
        {
            misspell(&mut piece[..read], needle);
        }
        let sent = &piece[..read];
        let is_marked = fault == Some(Fault::CloseAfter) && is_of_redis(sent);
        match fault {
            Some(Fault::CloseBefore) => {
                record(rule.as_ref());
                return;
            }
            Some(Fault::Duplicate) => send_alone(target, sent).await,
            Some(Fault::CloseAfter) => {
                arrange(next_reply, if is_marked { NextReply::DropToMarker } else { NextReply::Drop });
            }
            Some(Fault::Delay(by)) => arrange(next_reply, NextReply::Delay(by)),
            Some(Fault::Misspell) | None => {}
        }
        if to.write_all(sent).await.is_err() || is_marked && to.write_all(ECHO).await.is_err() {
            return;
        }
        record(rule.as_ref());
    }
}

fn record(rule: Option<&Rule>) {
    if let Some(rule) = rule {
        rule.fired.record();
    }
}

fn arrange(next_reply: &Mutex<Option<NextReply>>, what: NextReply) {
    *next_reply.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
}

/// Whether these are whole requests of Redis, after which another one can follow.
fn is_of_redis(sent: &[u8]) -> bool {
    sent.starts_with(b"*") && sent.ends_with(b"\r\n")
}

/// Takes the rule that these bytes trigger, of which the last `fresh` have just come.
fn due_rule(state: &ProxyState, transcript: &[u8], fresh: usize) -> Option<Rule> {
    let mut rules = state.rules.lock().unwrap_or_else(PoisonError::into_inner);
    let at = rules.iter().position(|rule| is_triggered(rule.trigger, transcript, fresh))?;
    Some(rules.remove(at))
}

fn is_triggered(trigger: Trigger, transcript: &[u8], fresh: usize) -> bool {
    let ends_now = |needle: &[u8]| {
        // Also where the piece came in two reads.
        let start = transcript.len().saturating_sub(fresh + needle.len().saturating_sub(1));
        last_position(&transcript[start..], needle).is_some()
    };
    match trigger {
        Trigger::Request(needle) => ends_now(needle),
        Trigger::RequestAfter(before, needle) => ends_now(needle) && last_position(transcript, before).is_some(),
        Trigger::CommitOf(needle) => {
            let began = last_position(transcript, b"BEGIN").unwrap_or(0);
            ends_now(COMMIT) && last_position(&transcript[began..], needle).is_some()
        }
    }
}

/// Changes the last letter of the needle. The length stays, which the protocol says before the text.
fn misspell(bytes: &mut [u8], needle: &[u8]) {
    let at = last_position(bytes, needle).expect("the request came in one piece");
    bytes[at + needle.len() - 1] = b'x';
}

fn last_position(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).rposition(|window| window == needle)
}

/// Sends a request on a connection of its own, and waits for the answer.
async fn send_alone(target: &str, request: &[u8]) {
    let Ok(mut server) = TcpStream::connect(target).await else { return };
    if server.write_all(request).await.is_ok() {
        let _ = server.read(&mut [0; 4096]).await;
    }
}

async fn pass_replies(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    state: &ProxyState,
    next_reply: &Mutex<Option<NextReply>>,
) {
    let mut piece = vec![0; 16 * 1024];
    loop {
        let Ok(read @ 1..) = from.read(&mut piece).await else { return };
        wait_open(state).await;
        let next = next_reply.lock().unwrap_or_else(PoisonError::into_inner).take();
        match next {
            Some(NextReply::Drop) => return,
            Some(NextReply::DropToMarker) => return read_to_marker(piece[..read].to_vec(), from).await,
            Some(NextReply::Delay(by)) => tokio::time::sleep(by).await,
            None => {}
        }
        if to.write_all(&piece[..read]).await.is_err() {
            return;
        }
    }
}

/// Reads on until the marker has come, or nothing more.
async fn read_to_marker(mut seen: Vec<u8>, mut from: OwnedReadHalf) {
    while last_position(&seen, MARKER).is_none() {
        let Ok(1..) = from.read_buf(&mut seen).await else { return };
    }
}

#[cfg(test)]
#[path = "fault_proxy_tests.rs"]
mod tests;
