//! Random histories of messages, connections that break and resume, role switches and sign-outs, some of them at once and on two
//! nodes: no client sees a message twice or a message for others, streams are in order and without a gap, a session receives
//! nothing after its end, and a client that reconnects misses nothing.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};

use crate::harness::{Client, Frame, StoreBackend, TestApp, TestSocket, until};

/// The owner of the clients, and another employee.
const WHO: &str = "agent01";
const OTHER: &str = "admin01";
const ROLES: [&str; 2] = ["agent", "user"];
const CLIENTS: usize = 3;

/// The recipients of a message.
#[derive(Clone, Copy, Debug)]
enum To {
    Person,
    Role(usize),
    Both(usize),
    Other,
}

#[derive(Clone, Debug)]
enum Step {
    /// A message, a piece of a stream or a card.
    Publish(To, Option<usize>),
    Connect(usize),
    Drop(usize),
    Switch(usize, usize),
    /// Signs out, and in again.
    Logout(usize),
}

/// Steps that run at once, each on a node.
type Round = Vec<(Step, usize)>;

fn step() -> impl Strategy<Value = Step> {
    let (client, role) = (0..CLIENTS, 0..ROLES.len());
    let to = prop_oneof![
        4 => Just(To::Person),
        2 => role.clone().prop_map(To::Role),
        1 => role.clone().prop_map(To::Both),
        1 => Just(To::Other),
    ];
    prop_oneof![
        8 => (to, proptest::option::of(0..2_usize)).prop_map(|(to, stream)| Step::Publish(to, stream)),
        4 => client.clone().prop_map(Step::Connect),
        3 => client.clone().prop_map(Step::Drop),
        2 => (client.clone(), role).prop_map(|(client, role)| Step::Switch(client, role)),
        1 => client.prop_map(Step::Logout),
    ]
}

fn history() -> impl Strategy<Value = Vec<Round>> {
    proptest::collection::vec(proptest::collection::vec((step(), 0..2_usize), 1..4), 5..40)
}

/// A message that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    to: To,
    round: usize,
}

/// What a connection received, shared with the task that listens.
#[derive(Debug, Default)]
struct Heard {
    numbers: Vec<usize>,
    /// The stream and the place in it.
    pieces: Vec<(String, u64)>,
    last: Option<String>,
    closed: Option<u16>,
}

/// The client of one session, with all it received on all of its connections.
struct Session {
    token: String,
    heard: Arc<Mutex<Heard>>,
    listening: Option<JoinHandle<()>>,
    /// The active role from each round on.
    roles: Vec<(usize, usize)>,
    /// The round of the first connection.
    connected: Option<usize>,
}

/// A session that has ended, and the last round in which it may have received anything.
struct Over {
    session: Session,
    round: usize,
}

struct World {
    nodes: Vec<TestApp>,
    key: String,
    sent: Vec<Sent>,
    streams: Vec<u64>,
    sessions: Vec<Session>,
    over: Vec<Over>,
}

impl Session {
    async fn begin(client: &mut Client) -> Self {
        let token = client.sign_in(WHO).await;
        Self { token, heard: Arc::default(), listening: None, roles: vec![(0, 0)], connected: None }
    }

    /// Breaks the connection off at any point.
    async fn cut(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
            let _ = listening.await;
        }
    }

    /// Connects from the last received message, and listens.
    async fn connect(&mut self, address: &str, round: usize) {
        self.cut().await;
        let last = self.heard.lock().unwrap().last.clone();
        let mut socket = TestSocket::resume(address, "employee", &self.token, last.as_deref()).await;
        let ready = socket.event("ready").await;
        assert_eq!(ready["content"]["resumed"], last.is_some(), "nothing was forgotten");
        self.connected.get_or_insert(round);
        let heard = Arc::clone(&self.heard);
        heard.lock().unwrap().last = ready["id"].as_str().map(str::to_owned);
        self.listening = Some(tokio::spawn(async move { listen(socket, &heard).await }));
    }

    /// Whether this role was active in the round of a message, or became active since.
    fn acted_as(&self, role: usize, round: usize) -> bool {
        let before = self.roles.iter().rev().find(|(since, _)| *since < round);
        let after = self.roles.iter().filter(|(since, _)| *since >= round);
        before.into_iter().chain(after).any(|(_, active)| *active == role)
    }
}

/// Records everything received, until the connection ends.
async fn listen(mut socket: TestSocket, heard: &Mutex<Heard>) {
    loop {
        match socket.next().await {
            Frame::Text(frame) => note(&frame, &mut heard.lock().unwrap()),
            Frame::Close(code, _) => heard.lock().unwrap().closed = Some(code),
            Frame::End => return,
            Frame::Ping(_) | Frame::Pong(_) => {}
        }
    }
}

fn note(frame: &Value, heard: &mut Heard) {
    heard.last = frame["id"].as_str().map(str::to_owned);
    let content = &frame["content"];
    match frame["msg_type"].as_str().unwrap() {
        "session" => {}
        "typewriter" => {
            heard.pieces.push((content["stream_id"].as_str().unwrap().to_owned(), content["seq"].as_u64().unwrap()));
            heard.numbers.push(content["text"].as_str().unwrap().parse().unwrap());
        }
        _ => heard.numbers.push(usize::try_from(content.as_u64().unwrap()).unwrap()),
    }
}

impl World {
    async fn new(nodes: usize) -> Self {
        let app = TestApp::start().await;
        let (key, _) = app.service_key("messages").await;
        let mut nodes = if nodes > 1 { vec![app.second_node().await] } else { Vec::new() };
        nodes.push(app);
        let mut sessions = Vec::new();
        for _ in 0..CLIENTS {
            sessions.push(Session::begin(&mut nodes[0].client().await).await);
        }
        Self { nodes, key, sent: Vec::new(), streams: vec![0; 4 * ROLES.len() * 2], sessions, over: Vec::new() }
    }

    fn address(&self, node: usize) -> String {
        self.nodes[node % self.nodes.len()].address.clone()
    }

    /// The request body of the next message; advances the stream that it is a piece of.
    fn message(&mut self, to: To, stream: Option<usize>, round: usize) -> Value {
        let number = self.sent.len();
        self.sent.push(Sent { to, round });
        let (whom, kind) = match to {
            To::Person => (json!({ "employee_id": WHO }), 0),
            To::Other => (json!({ "employee_id": OTHER }), 1),
            To::Role(role) => (json!({ "role": ROLES[role] }), 2 + role),
            To::Both(role) => (json!([{ "employee_id": WHO }, { "role": ROLES[role] }]), 4 + role),
        };
        let Some(stream) = stream else {
            return json!({ "to": whom, "msg_type": "byod_card", "content": number });
        };
        let stream = kind * 2 + stream;
        let seq = self.streams[stream];
        self.streams[stream] += 1;
        let content =
            json!({ "stream_id": format!("s{stream}"), "seq": seq, "text": number.to_string(), "done": false });
        json!({ "to": whom, "msg_type": "typewriter", "content": content })
    }

    /// Runs the steps of a round: messages and sign-outs at once, the steps of one client in order.
    async fn take(&mut self, round: usize, steps: &Round) {
        let mut at_once = JoinSet::new();
        let mut streams = BTreeSet::new();
        for (step, node) in steps {
            let (address, node) = (self.address(*node), *node);
            match step {
                // Two pieces of a stream at once could arrive in either order.
                Step::Publish(to, stream) => {
                    let stream = stream.filter(|_| streams.insert(format!("{to:?}{stream:?}")));
                    let (body, key) = (self.message(*to, stream, round), self.key.clone());
                    at_once.spawn(async move {
                        Client::connect(&address).await.send_messages(&key, &body).await.data();
                    });
                }
                Step::Connect(client) => self.sessions[*client].connect(&address, round).await,
                Step::Drop(client) => self.sessions[*client].cut().await,
                Step::Switch(client, role) => {
                    let session = &mut self.sessions[*client];
                    session.roles.push((round, *role));
                    Client::connect(&address).await.switch(&session.token, ROLES[*role]).await.data();
                }
                Step::Logout(client) => {
                    let next = Session::begin(&mut self.nodes[node % self.nodes.len()].client().await).await;
                    let session = std::mem::replace(&mut self.sessions[*client], next);
                    let token = session.token.clone();
                    self.over.push(Over { session, round });
                    at_once.spawn(async move {
                        Client::connect(&address).await.logout(&token).await.data();
                    });
                }
            }
        }
        at_once.join_all().await;
    }

    /// Has all clients catch up: the last message arrives after all others.
    async fn settle(&mut self, rounds: usize) {
        for at in 0..CLIENTS {
            let address = self.address(at);
            self.sessions[at].connect(&address, rounds).await;
        }
        let last = self.sent.len();
        let body = self.message(To::Person, None, rounds);
        self.nodes[0].client().await.send_messages(&self.key.clone(), &body).await.data();
        for session in &self.sessions {
            until("everything has come", async || session.heard.lock().unwrap().numbers.contains(&last)).await;
        }
        for over in &self.over {
            let waited = over.session.listening.as_ref().is_none_or(JoinHandle::is_finished);
            let heard = Arc::clone(&over.session.heard);
            if !waited {
                until("a session that is over", async || heard.lock().unwrap().closed == Some(4401)).await;
            }
        }
    }

    fn judge(&self) {
        for session in &self.sessions {
            self.judge_one(session);
            self.misses_nothing(session);
        }
        for Over { session, round } in &self.over {
            self.judge_one(session);
            for number in &session.heard.lock().unwrap().numbers {
                assert!(self.sent[*number].round <= *round, "message {number} was said to a session that had ended");
            }
        }
    }

    fn judge_one(&self, session: &Session) {
        let heard = session.heard.lock().unwrap();
        let once: BTreeSet<_> = heard.numbers.iter().collect();
        assert_eq!(once.len(), heard.numbers.len(), "twice: {heard:?}");
        for number in &heard.numbers {
            let Sent { to, round } = self.sent[*number];
            let theirs = match to {
                To::Person | To::Both(_) => true,
                To::Role(role) => session.acted_as(role, round),
                To::Other => false,
            };
            assert!(theirs, "message {number} to {to:?} was not for them: {:?}", session.roles);
        }
        for stream in 0..self.streams.len() {
            let name = format!("s{stream}");
            let pieces: Vec<_> = heard.pieces.iter().filter(|(other, _)| *other == name).map(|(_, seq)| *seq).collect();
            assert!(pieces.is_sorted(), "{name} out of order: {pieces:?}");
            // Streams to the person, or to them and a role, do not depend on the active role.
            if !(4..8).contains(&stream) {
                let whole = pieces.windows(2).all(|two| two[1] == two[0] + 1);
                assert!(whole, "{name} has a gap: {pieces:?}");
            }
        }
    }

    /// Asserts that a client received everything to the person since its first connection, and everything to its role since its
    /// last switch.
    fn misses_nothing(&self, session: &Session) {
        let (heard, Some(since)) = (session.heard.lock().unwrap(), session.connected) else { return };
        let (switched, active) = session.roles.last().copied().unwrap();
        for (number, sent) in self.sent.iter().enumerate().filter(|(_, sent)| sent.round > since) {
            let theirs = match sent.to {
                To::Person | To::Both(_) => true,
                To::Role(role) => role == active && sent.round > switched,
                To::Other => false,
            };
            assert!(!theirs || heard.numbers.contains(&number), "message {number} is missing: {heard:?}");
        }
    }
}

async fn play(nodes: usize, history: &[Round]) {
    let mut world = World::new(nodes).await;
    for (round, steps) in history.iter().enumerate() {
        world.take(round, steps).await;
    }
    world.settle(history.len()).await;
    world.judge();
}

fn on(stage: StoreBackend, nodes: usize, cases: u32) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = ProptestConfig { cases, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() };
    let ran = TestRunner::new(config).run(&history(), |history| {
        runtime.block_on(stage.run(play(nodes, &history)));
        Ok(())
    });
    ran.unwrap();
}

mod messages_come_once_in_order_and_never_after_the_end {
    use super::*;

    #[test]
    fn embedded() {
        on(StoreBackend::Embedded, 1, 40);
    }

    #[test]
    fn scaled_out() {
        on(StoreBackend::ScaledOut, 2, 12);
    }
}
