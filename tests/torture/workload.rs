//! What a client does: sign-ins, switches, logouts, disabling, one-time passwords and messages, at random, on random nodes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deskpass_core::{Clock, TotpStep};
use fastrand::Rng;
use serde_json::json;
use tokio::time::sleep;

use super::call::{Reply, post, send};
use super::history::{Event, History, Op, Outcome, Seen, Timer};
use super::listener::Listener;
use super::nodes::{NODES, Nodes};
use crate::harness::{Device, Platform};

const ROLES: [&str; 2] = ["agent", "user"];
/// A client with this many sessions does not sign in again.
const SESSIONS: usize = 4;
/// The messages of all clients have different numbers: each client has this many.
const MESSAGES: usize = 1_000_000;
/// How long a client waits in the end for what must come by itself.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);

/// What all clients share.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) nodes: Arc<Nodes>,
    pub(super) platform: Platform,
    /// The service key that may send messages.
    pub(super) key: String,
    pub(super) timer: Timer,
}

/// A client, and the person who uses it.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) scene: Arc<Scene>,
    number: usize,
    pub(super) who: String,
    rng: Mutex<Rng>,
    history: History,
    /// The tokens of acknowledged sign-ins.
    tokens: BTreeMap<usize, String>,
    /// Those that may be valid.
    live: Vec<usize>,
    sign_ins: usize,
    posts: usize,
    device: Device,
    /// The time step of the last code that was tried.
    last_step: i64,
    clock: Clock,
    listener: Listener,
}

impl Worker {
    pub(super) fn new(scene: Arc<Scene>, number: usize, who: String, device: Device, clock: Clock, seed: u64) -> Self {
        Self {
            scene,
            number,
            who,
            rng: Mutex::new(Rng::with_seed(seed)),
            history: History::default(),
            tokens: BTreeMap::new(),
            live: Vec::new(),
            sign_ins: 0,
            posts: 0,
            device,
            last_step: 0,
            clock,
            listener: Listener::default(),
        }
    }

    /// Acts until the time is over.
    pub(super) async fn run(mut self, end: Instant) -> Self {
        while Instant::now() < end {
            self.act().await;
            sleep(Duration::from_millis(self.below(40) as u64)).await;
        }
        self
    }

    /// A random number.
    pub(super) fn below(&self, limit: usize) -> usize {
        self.rng.lock().unwrap().usize(..limit)
    }

    fn one_of(&self, tokens: &[usize]) -> Option<usize> {
        (!tokens.is_empty()).then(|| tokens[self.below(tokens.len())])
    }

    async fn act(&mut self) {
        let Some(token) = self.one_of(&self.live) else { return self.sign_in().await };
        let events = match self.below(64) {
            0..6 if self.live.len() < SESSIONS => return self.sign_in().await,
            6..12 => self.switch(token).await,
            12..15 => self.log_out(self.expendable(token)).await,
            15..17 => self.race(self.expendable(token)).await,
            17 if self.below(2) == 0 => return self.disable().await,
            17 => self.end_all(token).await,
            18..21 => self.show_code(token).await,
            21..36 => self.send_message().await,
            36..42 if self.listener.connected().is_none() => return self.listen(token).await,
            42..44 => return self.listener.disconnect().await,
            _ => self.verify_some().await,
        };
        self.record(events);
    }

    /// Usually another session than that of the socket, so that some sockets last.
    fn expendable(&self, token: usize) -> usize {
        let others: Vec<_> =
            self.live.iter().copied().filter(|live| Some(*live) != self.listener.last_session()).collect();
        if self.below(4) == 0 { token } else { self.one_of(&others).unwrap_or(token) }
    }

    /// Adds events to the history, and forgets which sessions have ended.
    fn record(&mut self, events: Vec<Event>) {
        for event in events {
            match event.op {
                Op::Logout { token } if event.outcome == Outcome::Done => self.live.retain(|live| *live != token),
                Op::Verify { token, seen: Seen::Invalid } => self.live.retain(|live| *live != token),
                Op::EndAll if event.outcome == Outcome::Done => self.live.clear(),
                _ => {}
            }
            self.history.events.push(event);
        }
    }

    /// The address of the client in the requests of one sign-in and its session, by which the audit log tells them apart.
    pub(super) fn address(&self, token: usize) -> String {
        format!("10.{}.{}.{}", self.number + 1, token / 256, token % 256)
    }

    /// Sends a request to a node and records what came of it.
    async fn call(&self, node: usize, op: Op, bytes: &[u8]) -> (Event, Reply) {
        let invoked = self.scene.timer.now();
        let reply = send(&self.scene.nodes.all[node].address, bytes).await;
        let (completed, outcome) = (self.scene.timer.now(), reply.outcome());
        (Event { op, node: Some(node), invoked, completed, outcome }, reply)
    }

    /// Sends a request to a random node.
    pub(super) async fn ask(&self, bytes: &[u8]) -> Reply {
        send(&self.scene.nodes.all[self.below(NODES)].address, bytes).await
    }

    async fn sign_in(&mut self) {
        let token = self.sign_ins;
        self.sign_ins += 1;
        let invoked = self.scene.timer.now();
        let (node, outcome, text) = self.enter(token).await;
        let completed = self.scene.timer.now();
        self.history.events.push(Event { op: Op::SignIn { token }, node, invoked, completed, outcome });
        if let Some(text) = text {
            self.tokens.insert(token, text);
            self.live.push(token);
        }
    }

    async fn verify_some(&self) -> Vec<Event> {
        let known: Vec<_> = self.tokens.keys().copied().collect();
        let recent = &known[known.len().saturating_sub(6)..];
        let token = self.one_of(if self.below(3) == 0 { &known[..] } else { recent });
        let Some(token) = token else { return Vec::new() };
        self.verify(token, self.below(NODES)).await.into_iter().collect()
    }

    async fn verify(&self, token: usize, node: usize) -> Option<Event> {
        let bytes = post("/api/auth/verify", &self.address(token), None, &json!({ "token": self.tokens[&token] }));
        let (event, reply) = self.call(node, Op::Verify { token, seen: Seen::Invalid }, &bytes).await;
        let answer = reply.data()?;
        let role = answer["current_role"].as_str().map(str::to_owned);
        let seen = if answer["valid"] == true { Seen::Valid(role) } else { Seen::Invalid };
        Some(Event { op: Op::Verify { token, seen }, ..event })
    }

    async fn switch(&self, token: usize) -> Vec<Event> {
        let role = ROLES[self.below(ROLES.len())];
        let body = json!({ "role": role });
        let bytes = post("/api/auth/switch-role", &self.address(token), Some(&self.tokens[&token]), &body);
        let op = Op::Switch { token, role: role.to_owned() };
        let (event, reply) = self.call(self.below(NODES), op, &bytes).await;
        let observed = observed(&event, token, &reply, Some(role));
        [event].into_iter().chain(observed).collect()
    }

    async fn log_out(&self, token: usize) -> Vec<Event> {
        self.end(Op::Logout { token }, "/api/auth/logout", token).await
    }

    async fn end_all(&self, token: usize) -> Vec<Event> {
        self.end(Op::EndAll, "/api/auth/logout-all", token).await
    }

    async fn end(&self, op: Op, path: &str, token: usize) -> Vec<Event> {
        let bytes = post(path, &self.address(token), Some(&self.tokens[&token]), &json!({}));
        let (mut event, reply) = self.call(self.below(NODES), op, &bytes).await;
        let observed = observed(&event, token, &reply, None);
        // A node that repeats what may have happened finds the session gone, perhaps by its own first attempt.
        if event.outcome == Outcome::Refused && reply.status().is_some() {
            event.outcome = Outcome::Unknown;
        }
        [event].into_iter().chain(observed).collect()
    }

    /// A switch and a logout at once.
    async fn race(&self, token: usize) -> Vec<Event> {
        let (switched, ended) = tokio::join!(self.switch(token), self.log_out(token));
        [switched, ended].concat()
    }

    /// Runs a command of the operator about the person; returns whether it succeeded.
    pub(super) async fn operate(&self, command: &'static str) -> bool {
        let (nodes, who) = (Arc::clone(&self.scene.nodes), self.who.clone());
        let ran = tokio::task::spawn_blocking(move || nodes.operate(&["employee", command, &who]));
        ran.await.unwrap().0
    }

    /// Disables the person, which ends all of their sessions, and enables them again.
    async fn disable(&mut self) {
        let invoked = self.scene.timer.now();
        let outcome = if self.operate("disable").await { Outcome::Done } else { Outcome::Unknown };
        let completed = self.scene.timer.now();
        self.record(vec![Event { op: Op::EndAll, node: None, invoked, completed, outcome }]);
        let seen = self.verify_some().await;
        self.record(seen);
        self.enable().await;
    }

    async fn enable(&self) {
        for _ in 0..20 {
            if self.operate("enable").await {
                return;
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Shows the code of the current time step to two nodes at once, or a code that was shown before to one.
    async fn show_code(&mut self, token: usize) -> Vec<Event> {
        let step = TotpStep::at(self.clock.now()).number();
        let is_new = step > self.last_step;
        self.last_step = step;
        let code = self.device.seed.code_at(TotpStep::from_number(step));
        let body = json!({ "code": code });
        let bytes = post("/api/auth/otp-verify", &self.address(token), Some(&self.tokens[&token]), &body);
        let node = self.below(NODES);
        let first = self.call(node, Op::Code { step }, &bytes);
        if !is_new {
            return vec![first.await.0];
        }
        let second = self.call((node + 1) % NODES, Op::Code { step }, &bytes);
        let ((first, _), (second, _)) = tokio::join!(first, second);
        vec![first, second]
    }

    async fn send_message(&mut self) -> Vec<Event> {
        let number = self.number * MESSAGES + self.posts;
        self.posts += 1;
        let body = json!({ "to": { "employee_id": self.who }, "msg_type": "byod_card", "content": number });
        let bytes = post("/api/messages", "127.0.0.1", Some(&self.scene.key), &body);
        vec![self.call(self.below(NODES), Op::Post { number }, &bytes).await.0]
    }

    async fn listen(&mut self, token: usize) {
        let address = self.scene.nodes.all[self.below(NODES)].address.clone();
        // The socket stays with its session as long as that lasts.
        let token = self.listener.last_session().filter(|last| self.live.contains(last)).unwrap_or(token);
        let text = self.tokens[&token].clone();
        self.listener.connect(&address, token, &text, self.scene.timer).await;
    }

    /// When everything is healed: asks every node about every token, and waits for the messages.
    pub(super) async fn settle(mut self) -> History {
        for token in self.tokens.keys().copied().collect::<Vec<_>>() {
            for node in 0..NODES {
                let seen = self.until_verified(token, node).await;
                self.record(vec![seen]);
            }
        }
        self.receive_all().await;
        self.history.chains = self.listener.finish().await;
        self.history
    }

    async fn until_verified(&self, token: usize, node: usize) -> Event {
        let began = Instant::now();
        loop {
            if let Some(event) = self.verify(token, node).await {
                return event;
            }
            assert!(began.elapsed() < SETTLE_TIMEOUT, "node {node} does not recover");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Sends a last message and waits until it comes, or for so long that it does not come any more.
    async fn receive_all(&mut self) {
        self.enable().await;
        let began = Instant::now();
        while began.elapsed() < SETTLE_TIMEOUT {
            sleep(Duration::from_millis(20)).await;
            match self.one_of(&self.live) {
                Some(token) if self.listener.connected().is_none() => self.listen(token).await,
                Some(_) => {}
                None => self.sign_in().await,
            }
            let sent = self.send_message().await;
            let done = sent.iter().find(|event| event.outcome == Outcome::Done).map(|event| event.op.clone());
            self.record(sent);
            if let Some(Op::Post { number }) = done
                && self.hears(number).await
            {
                return;
            }
        }
    }

    /// Waits for a message while the socket is connected.
    async fn hears(&self, number: usize) -> bool {
        let began = Instant::now();
        while self.listener.connected().is_some() && began.elapsed() < SETTLE_TIMEOUT {
            if self.listener.has_heard(number) {
                return true;
            }
            sleep(Duration::from_millis(20)).await;
        }
        false
    }
}

/// What another answer than the one to `verify` says about a token.
fn observed(event: &Event, token: usize, reply: &Reply, role: Option<&str>) -> Option<Event> {
    let seen = match reply.status() {
        Some(200) => Seen::Valid(role.map(str::to_owned)),
        Some(401) => Seen::Invalid,
        _ => return None,
    };
    Some(Event { op: Op::Verify { token, seen }, outcome: Outcome::Done, ..event.clone() })
}
